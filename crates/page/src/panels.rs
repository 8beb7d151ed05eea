//! Remembers which hidden parts of a page a reader can open: panels of tabs and of accordions.
//!
//! Such a panel has the attribute `hidden` until its control is used, and belongs to the content like that of closed
//! `details`. Seen in `@docusaurus/theme-classic` 3.9.2 (`role="tabpanel"`), and in the patterns of the ARIA Authoring
//! Practices Guide (`aria-controls` with `aria-expanded`). A part that is hidden by a style, or that has no control, stays
//! hidden.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::tags::Tag;

/// The maximum number of panels of a page.
const PANELS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Panels {
    hasher: RandomState,
    /// The hashes of the identifiers of controlled elements.
    controlled: HashSet<u64>,
    /// The page shows a tab.
    has_tab: bool,
}

impl Panels {
    /// Remembers the panel of an element that is shown, if it is a control.
    pub(super) fn control(&mut self, tag: &Tag<'_>) {
        let is_tab = has_role(tag, "tab");
        self.has_tab |= is_tab;
        let panels = tag.get("aria-controls").filter(|_| is_tab || is_disclosure(tag));
        for panel in panels.iter().flat_map(|panels| panels.split_ascii_whitespace()) {
            if self.controlled.len() < PANELS {
                self.controlled.insert(self.hasher.hash_one(panel));
            }
        }
    }

    /// Whether a reader can open a hidden element.
    pub(super) fn can_be_opened(&self, tag: &Tag<'_>) -> bool {
        (self.has_tab && has_role(tag, "tabpanel"))
            || (!self.controlled.is_empty()
                && tag
                    .get("id")
                    .is_some_and(|id| self.controlled.contains(&self.hasher.hash_one(id.trim()))))
    }
}

/// Whether an element shows and hides another one, such as the question of an accordion.
pub(super) fn is_disclosure(tag: &Tag<'_>) -> bool {
    tag.get("aria-expanded").is_some()
}

fn has_role(tag: &Tag<'_>, role: &str) -> bool {
    tag.get("role").is_some_and(|found| found.trim().eq_ignore_ascii_case(role))
}
