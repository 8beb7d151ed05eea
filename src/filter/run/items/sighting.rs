//! How much of a selected source the items had.
//!
//! A source without wildcards is found with its value. One with wildcards is found with a value below them, and also if its
//! containers were all empty: then there was nothing to find. A container with elements of which none has the rest of the
//! path is a sign of a wrong name, so it does not count.
//!
//! | `a[].b` on the items | |
//! |---|---|
//! | `{}`, `{"a":1}` | not found |
//! | `{"a":[]}` | found |
//! | `{"a":[]}`, `{"a":[{"c":1}]}` | not found |
//! | `{"a":[{"c":1}]}`, `{"a":[{"b":1}]}` | found |

use tamis_json::nearest::ComparisonBudget;
use tamis_json::path::PathToken;
use tamis_json::test_work::{WorkKind, count};

use super::{ContainerRole, Cx, ItemsStage, ItemsState};
use crate::filter::compile::items::ItemRules;
use crate::filter::compile::select_source::SelectSource;

/// How much was seen of a source. Later ones replace earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sighting {
    /// Nothing.
    None,
    /// The containers of its wildcards, all of which were empty.
    Empty,
    /// Elements in these containers, none of which had the rest of the path.
    Elements,
    /// A value.
    Value,
}

impl Sighting {
    /// Returns whether a source counts as found at the end of what is considered.
    pub(super) fn is_found(self) -> bool {
        matches!(self, Self::Empty | Self::Value)
    }
}

impl SelectSource {
    /// Returns whether the source is missed as a whole. A projection is missed by its leaves.
    pub(super) fn may_be_missed(&self) -> bool {
        !self.passing && self.projection.is_none()
    }
}

impl ItemsStage {
    /// Returns whether it is known which selected paths the items have.
    pub(in crate::filter::run) fn is_judged(&self) -> bool {
        self.program.items.select.is_some()
            && self.state.objects
            && self.state.counts.error.is_none()
    }

    /// Returns the probable correction of a selected path that was not found.
    pub(in crate::filter::run) fn correction(
        &self,
        path: &str,
        pairs: &mut ComparisonBudget,
    ) -> Option<String> {
        let (select, seen) = (self.program.items.select.as_ref()?, self.state.seen.as_ref()?);
        let mut sources = select.sources.iter().inspect(|_| count(WorkKind::Names, 1));
        let root = self.state.counts.root.as_deref();
        seen.correction(select, sources.find(|source| source.text == path)?, root, pairs)
    }

    /// Returns the selected paths that no item has.
    pub(in crate::filter::run) fn partial_miss(&self) -> Vec<String> {
        let Some(select) = &self.program.items.select else { return Vec::new() };
        if !self.is_judged() {
            return Vec::new();
        }
        let sources = select.sources.iter().zip(&self.state.found);
        let missed = sources.filter(|(source, found)| !found.is_found() && source.may_be_missed());
        missed.map(|(source, _)| source.text.clone()).collect()
    }
}

impl ItemsState {
    /// Records what was seen of a source other than a value.
    pub(super) fn see(&mut self, number: u32, sighting: Sighting) {
        if let Some(found) = self.found.get_mut(number as usize) {
            *found = sighting.max(*found);
        }
    }

    /// Records the end of a container in which the name that comes next on a source's path was looked for.
    pub(super) fn end_gather(&mut self, rules: &ItemRules, role: &ContainerRole) {
        let ContainerRole::Gather { source: number, token, met: false, each: false, .. } = role
        else {
            return;
        };
        let source = rules.select.as_ref().and_then(|select| select.sources.get(*number as usize));
        if let Some(PathToken::Name(_)) = source.and_then(|source| source.path.0.get(*token)) {
            self.see(*number, Sighting::Elements);
        }
    }

    /// Returns whether a source was found, although there was no value: all its containers were empty.
    pub(super) fn has_empty_source(&self, cx: &Cx<'_>) -> bool {
        let sources = cx.rules.select.iter().flat_map(|select| &select.sources);
        let mut seen = sources.zip(&self.found);
        seen.any(|(source, found)| source.may_be_missed() && found.is_found())
    }
}
