//! Keeps values of another kind than a path needs (`on_kind: keep`).
//!
//! | the path needs | there is | what is kept |
//! |---|---|---|
//! | an object | an array | the rest of the path applies to each element; the output is an array |
//! | an array (`[]`) | an object | it is the only element; the output is an array |
//! | either | a scalar or null | the value itself |
//!
//! A path with a name between wildcards has its matches in one array, so these rules apply to each element on the way, and no
//! further array is opened. Example: `labels[].name` on `{"labels":["bug",{"name":"ui"}]}` is `["bug","ui"]`.

use tamis_json::error::Raise;
use tamis_json::path::PathToken;
use tamis_json::path::trie::{Cursor, NodeId};
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::label::Label;
use super::sighting::Sighting;
use super::{ContainerRole, Cx, ItemsState};
use crate::filter::compile::select::SelectNode;
use crate::filter::compile::select_source::SelectSource;

/// The use of a value of another kind for the rest of a path.
enum OtherKind {
    /// The value itself.
    Itself,
    /// An array where the name at this token needs an object.
    Each(usize),
    /// An object where `[]` needs an array. The token after it is the next one.
    OnlyElement(usize),
}

impl SelectSource {
    /// Returns what a value is for the token at `token` of the path, if it is of another kind than that needs.
    fn other_kind(&self, token: usize, kind: ValueKind) -> Option<OtherKind> {
        let brackets = self.keeps_kinds.as_ref()?;
        let next = self.path.0.get(token)?;
        match (next, kind) {
            (PathToken::Name(_), ValueKind::Array) if next.index().is_none() => {
                Some(OtherKind::Each(token))
            }
            (PathToken::Any, ValueKind::Object) if brackets.contains(&token) => {
                let rest = (token + 1..).find(|token| !brackets.contains(token));
                Some(OtherKind::OnlyElement(rest.unwrap_or(token + 1)))
            }
            (_, ValueKind::Array | ValueKind::Object) => None,
            _ => Some(OtherKind::Itself),
        }
    }
}

impl ItemsState {
    /// Handles a value that contains values of sources that keep other kinds, and is not an object itself.
    pub(super) fn inside_other_kind(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        at: &SelectNode,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        match at.kept.as_slice() {
            // No other source needs the value.
            [source] if at.elements == 0 || !kind.is_container() => {
                Ok(self.keep(cx, *source, at.depth, Some(slot), kind).unwrap_or(Interest::Skip))
            }
            _ => {
                self.capture(node, false);
                Ok(Interest::Copy)
            }
        }
    }

    /// Keeps a value at which the token at `token` of a source's path comes next, if the value is of another kind than that
    /// needs. `slot`: that of a value that becomes a member of the item; `None` for an element of the source's array.
    pub(super) fn keep(
        &mut self,
        cx: &mut Cx<'_>,
        number: u32,
        token: usize,
        slot: Option<ValueSlot<'_>>,
        kind: ValueKind,
    ) -> Option<Interest> {
        let select = cx.rules.select.as_ref()?;
        let source = select.sources.get(number as usize)?;
        let other = source.other_kind(token, kind)?;
        let is_itself = matches!(other, OtherKind::Itself);
        let end = source.path.0.len();
        let is_value = is_itself || matches!(other, OtherKind::OnlyElement(next) if next == end);
        if is_value && let Some(stopped) = self.find_kept(cx, source, number, is_itself) {
            return Some(stopped);
        }
        self.see(number, Sighting::Empty);
        self.counts.other_kinds += 1;
        // The key of the value is that of a step on the way.
        let (label, cursor) = match slot {
            Some(_) => (Label::Given(select.key(number)), source.exclude.clone()),
            None => (Label::None, self.of_element(cx, source)),
        };
        // Nothing of a removed source is written, but the rest of its path is followed.
        let is_removed = source.exclude.is_hit();
        if is_itself || (is_removed && is_value && source.projection.is_none()) {
            self.gathered += u64::from(slot.is_none());
            return Some(self.emit(cx, label, kind, &cursor));
        }
        if is_removed {
            self.count_removed(cx.rules, &cursor);
        }
        let outer = slot.is_some() && !is_removed;
        if outer {
            self.open_labelled(cx, label, ValueKind::Array, cx.rules.drop_empty);
            self.gathered = 0;
        }
        let (token, each) = match other {
            OtherKind::OnlyElement(next) if next == end => {
                let cursor = self.of_element(cx, source);
                self.gathered += 1;
                return Some(self.only_element(cx, source.projection, kind, &cursor, outer));
            }
            OtherKind::OnlyElement(token) => (token, false),
            OtherKind::Each(token) => (token, true),
            // Written above.
            OtherKind::Itself => return None,
        };
        let met = false;
        self.roles.push(ContainerRole::Gather { source: number, token, met, outer, each });
        Some(Interest::Inspect)
    }

    /// Marks a source as found by a value of another kind. Returns `Stop` if the probe has decided by that.
    fn find_kept(
        &mut self,
        cx: &Cx<'_>,
        source: &SelectSource,
        number: u32,
        is_itself: bool,
    ) -> Option<Interest> {
        let select = cx.rules.select.as_ref()?;
        match source.projection {
            Some(node) if is_itself => self.find_all(cx, select, node),
            // The fields of its objects are found.
            Some(_) => None,
            None => (!source.passing && self.find(cx, number as usize)).then_some(Interest::Stop),
        }
    }

    /// Writes an object as the only element of an array that was opened for it, unless it is excluded. `wrapped`: its end
    /// closes the array, too.
    fn only_element(
        &mut self,
        cx: &mut Cx<'_>,
        projection: Option<NodeId>,
        kind: ValueKind,
        cursor: &Cursor,
        wrapped: bool,
    ) -> Interest {
        let begun = self.roles.len();
        let interest = match projection {
            Some(node) => {
                self.project(cx, node, Label::None, kind, cursor).unwrap_or(Interest::Skip)
            }
            None if cursor.is_hit() => {
                let interest = self.emit(cx, Label::None, kind, cursor);
                if wrapped {
                    self.writer.close(cx.sink, b']');
                }
                return interest;
            }
            None => {
                let cursor = cursor.clone();
                self.open_labelled(cx, Label::None, kind, false);
                self.roles.push(ContainerRole::Emit {
                    cursor,
                    object: true,
                    item: false,
                    wrapped: false,
                });
                Interest::Inspect
            }
        };
        if let Some(
            ContainerRole::Emit { wrapped: ends, .. }
            | ContainerRole::Project { wrapped: ends, .. },
        ) = self.roles.get_mut(begun)
        {
            *ends = wrapped;
        }
        interest
    }

    /// Handles an element of a source's array that is an array, where fields of an object are kept. Its elements take its place:
    /// they are counted with those around it.
    #[cold]
    pub(super) fn gather_each(&mut self, source: u32, token: usize) -> Interest {
        self.counts.other_kinds += 1;
        let (met, outer, each) = (false, false, true);
        self.roles.push(ContainerRole::Gather { source, token, met, outer, each });
        Interest::Inspect
    }

    /// Keeps a value other than an object where a projection needs one. An array is always the value of a member here.
    pub(super) fn keep_projected(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Interest {
        let Some(select) = &cx.rules.select else { return Interest::Skip };
        self.counts.other_kinds += 1;
        if kind != ValueKind::Array {
            let stopped = self.find_all(cx, select, node);
            return stopped.unwrap_or_else(|| self.emit(cx, label, kind, cursor));
        }
        let outer = !cursor.is_hit();
        if outer {
            self.open_labelled(cx, label, kind, cx.rules.drop_empty);
        }
        let level = select.projections.node(node).map_or(0, |field| field.levels);
        let cursor = self.place_inside(cx.rules, cursor);
        self.roles.push(ContainerRole::ProjectLevel { node, level, index: 0, cursor, outer });
        Interest::Inspect
    }

    /// Keeps a value other than an array where a field with `[]` needs one: an object as the only element, a scalar as it is.
    pub(super) fn keep_in_place_of_array(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Interest {
        let Some(select) = &cx.rules.select else { return Interest::Skip };
        let Some(field) = select.projections.node(node) else { return Interest::Skip };
        self.counts.other_kinds += 1;
        if (kind != ValueKind::Object || !field.is_object)
            && let Some(stopped) = self.find_all(cx, select, node)
        {
            return stopped;
        }
        let is_removed = cursor.is_hit();
        if kind != ValueKind::Object || (is_removed && !field.is_object) {
            return self.emit(cx, label, kind, cursor);
        }
        let cursor = cx.rules.element_place(&self.place_inside(cx.rules, cursor), 0);
        if !is_removed {
            self.open_labelled(cx, label, ValueKind::Array, cx.rules.drop_empty);
        }
        self.only_element(cx, field.is_object.then_some(node), kind, &cursor, !is_removed)
    }
}
