//! Remembers which hidden parts of a page a reader can open: panels of tabs and of accordions.
//!
//! Such a panel has the attribute `hidden` until its control is used, and belongs to the content like that of closed
//! `details`. Seen in `@docusaurus/theme-classic` 3.9.2 (`role="tabpanel"` below the parent of the `tablist`), and in the
//! patterns of the ARIA Authoring Practices Guide (`aria-controls` with `aria-expanded`, `aria-labelledby`). The control is
//! shown, and has text or a label. A part that is hidden by a style, or that has no control, stays hidden.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::elements::has_letters;
use super::tags::Tag;

/// The maximum number of panels of a page, and of open lists of tabs.
const PANELS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Panels {
    hasher: RandomState,
    /// The hashes of the identifiers of controlled elements, and of the tabs that may label them.
    opened: HashSet<u64>,
    /// The open lists of tabs, and their levels.
    lists: Vec<usize>,
    /// The levels of the open elements around lists of tabs, and for how many more panels they have tabs.
    regions: Vec<(usize, usize)>,
    /// The control that is open.
    control: Option<Control>,
}

#[derive(Debug)]
struct Control {
    level: usize,
    is_tab: bool,
    names: Vec<u64>,
}

impl Panels {
    /// An element begins that is shown, at a level.
    pub(super) fn start(&mut self, tag: &Tag<'_>, level: usize) {
        if !tag.has_content {
            return;
        }
        let role = role(tag);
        match role.as_str() {
            "tablist" if self.lists.len() < PANELS => self.lists.push(level),
            "tabpanel" => {
                if let Some((_, tabs)) = self.regions.last_mut() {
                    *tabs = tabs.saturating_sub(1);
                }
            }
            _ => {}
        }
        let is_tab = role == "tab";
        let may_be = is_tab
            || role == "button"
            || matches!(tag.name, "button" | "a" | "li" | "div" | "summary" | "label");
        if !may_be || !(is_tab || is_disclosure(tag)) || self.opened.len() >= PANELS {
            return;
        }
        let controls = tag.get("aria-controls").unwrap_or_default();
        let controls = controls.split_ascii_whitespace().take(8);
        let mut names: Vec<u64> = controls.map(|id| self.hasher.hash_one((false, id))).collect();
        if let Some(id) = tag.get("id").filter(|_| is_tab) {
            names.push(self.hasher.hash_one((true, id.trim())));
        }
        self.control = Some(Control { level, is_tab, names });
        if tag.get("aria-label").is_some_and(|label| has_letters(&label)) {
            self.labelled();
        }
    }

    /// The open control, if there is one, has text that is shown.
    pub(super) fn labelled(&mut self) {
        let Some(control) = self.control.take() else { return };
        self.opened.extend(control.names);
        let (Some(list), true) = (self.lists.last(), control.is_tab) else { return };
        let region = list.saturating_sub(1);
        match self.regions.last_mut() {
            Some((level, tabs)) if *level == region => *tabs += 1,
            _ => self.regions.push((region, 1)),
        }
    }

    /// An element at a level ended.
    pub(super) fn end(&mut self, level: usize) {
        self.control.take_if(|control| control.level >= level);
        self.lists.pop_if(|list| *list >= level);
        self.regions.pop_if(|(region, _)| *region >= level);
    }

    /// Whether a reader can open a hidden element.
    pub(super) fn can_be_opened(&self, tag: &Tag<'_>) -> bool {
        if self.opened.is_empty() && self.regions.is_empty() {
            return false;
        }
        let role = role(tag);
        if is_popup(&role) {
            return false;
        }
        let has = |name: &str, is_label: bool| {
            let ids = tag.get(name).unwrap_or_default();
            let mut ids = ids.split_ascii_whitespace().take(8);
            ids.any(|id| self.opened.contains(&self.hasher.hash_one((is_label, id))))
        };
        let is_panel = role == "tabpanel";
        has("id", false)
            || (is_panel && has("aria-labelledby", true))
            || (is_panel && self.regions.last().is_some_and(|(_, tabs)| *tabs > 0))
    }
}

/// Whether an element shows and hides another one that is a part of the page, such as the question of an accordion.
pub(super) fn is_disclosure(tag: &Tag<'_>) -> bool {
    tag.get("aria-expanded").is_some()
        && tag.get("aria-haspopup").is_none_or(|popup| popup == "false")
        && role(tag) != "combobox"
}

/// Whether an element is one of several that show one of several panels.
pub(super) fn is_tab(tag: &Tag<'_>) -> bool {
    role(tag) == "tab"
}

/// Whether a role is that of a list or a window that is shown above the page.
fn is_popup(role: &str) -> bool {
    matches!(role, "listbox" | "menu" | "menubar" | "dialog" | "alertdialog" | "tree" | "grid")
}

fn role(tag: &Tag<'_>) -> String {
    tag.get("role").unwrap_or_default().trim().to_ascii_lowercase()
}
