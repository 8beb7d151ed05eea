//! Compiles the rules on items: the payload's root, `select`, `exclude`, `max_items` and the drops.
//!
//! Compilation depends on rules and paths, not on a document.

use tamis_json::error::Error;
use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::conditions::ItemConditions;
use super::rule_paths::{one_place, read, refuse_in, steps};
use super::select::SelectRules;
use crate::spec::{DuplicateKeys, Root, Siblings, Spec};

/// The compiled rules on items.
#[derive(Clone, Debug)]
pub(in crate::filter) struct ItemRules {
    /// No rule changes an item.
    pub(in crate::filter) idle: bool,
    pub(in crate::filter) root: RootRule,
    pub(in crate::filter) keep_siblings: bool,
    pub(in crate::filter) conditions: Option<ItemConditions>,
    /// `u64::MAX` means no limit.
    pub(in crate::filter) max_items: u64,
    pub(in crate::filter) stop_early: bool,
    pub(in crate::filter) select: Option<SelectRules>,
    pub(in crate::filter) exclude: Trie,
    pub(in crate::filter) drop_nulls: bool,
    pub(in crate::filter) drop_empty: bool,
    pub(in crate::filter) closed: bool,
    /// Whether misses are reported. In the response of a failed call nothing is a miss.
    pub(in crate::filter) judges: bool,
    /// Every document is an error: the response of a failed call, of which only selected values may be emitted.
    pub(in crate::filter) refuses: bool,
    pub(in crate::filter) duplicates: DuplicateKeys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::filter) enum RootRule {
    Auto,
    First,
    Document,
    /// kimbap's `type: object` with a select: the document if it contains a selected value, otherwise the array that
    /// `Auto` would use.
    DocumentOrArray,
    At(Path),
}

impl ItemRules {
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let Spec {
            select,
            exclude,
            root,
            siblings,
            conditions,
            max_items,
            stop_early,
            drop_nulls,
            drop_empty,
            duplicate_keys,
            envelope,
            wrap,
            ..
        } = spec;
        let root = match root {
            Root::Auto => RootRule::Auto,
            Root::First => RootRule::First,
            Root::Object if *envelope && select.is_some() => RootRule::DocumentOrArray,
            Root::Object => RootRule::Document,
            Root::At(text) => {
                RootRule::At(one_place("root", "the payload", text, false, allowance)?)
            }
        };
        if *stop_early && *max_items == 0 {
            let message = "`stop_early` requires `max_items`".into();
            return refuse_in("stop_early", 0, false, message);
        }
        let exclude = excluded_trie(exclude, *envelope, allowance)?;
        let conditions = ItemConditions::compile(conditions, *envelope, allowance)?;
        let select = match select {
            None => None,
            Some(select) => Some(SelectRules::compile(&select.0, *envelope, &exclude, allowance)?),
        };
        let idle = !spec.has_item_rules() && !*wrap && !matches!(root, RootRule::At(_));
        Ok(Self {
            idle,
            root,
            keep_siblings: *siblings == Siblings::Keep,
            conditions,
            max_items: if *max_items == 0 { u64::MAX } else { *max_items },
            stop_early: *stop_early,
            select,
            exclude,
            drop_nulls: *drop_nulls,
            drop_empty: *drop_empty,
            closed: spec.is_closed(),
            judges: true,
            refuses: false,
            duplicates: *duplicate_keys,
        })
    }

    /// Returns whether the payload has to be located before the rules run.
    pub(in crate::filter) fn looks(&self) -> bool {
        matches!(self.root, RootRule::Auto | RootRule::DocumentOrArray)
    }

    /// Returns from where on the run may have to wait for the first hit, if at all.
    pub(in crate::filter) fn waits(&self) -> Option<WaitFrom> {
        let may_lack_root = matches!(self.root, RootRule::At(_) | RootRule::First);
        if self.judges && self.closed && (self.select.is_some() || may_lack_root) {
            Some(WaitFrom::Document)
        } else if self.select.is_some() && self.root == RootRule::DocumentOrArray {
            // If the array has no hit either, the document is the payload, and it missed.
            Some(WaitFrom::Document)
        } else if self.select.is_some() {
            Some(WaitFrom::Payload)
        } else {
            None
        }
    }

    /// Returns rules that change nothing.
    pub(super) fn none() -> Self {
        Self {
            idle: true,
            root: RootRule::Document,
            keep_siblings: true,
            conditions: None,
            max_items: u64::MAX,
            stop_early: false,
            select: None,
            exclude: Trie::new([]),
            drop_nulls: false,
            drop_empty: false,
            closed: false,
            judges: false,
            refuses: false,
            duplicates: DuplicateKeys::First,
        }
    }

    /// Returns the rules that apply to the response of a failed call. `excluded`: the paths of `exclude`, also
    /// translated to the names of the source; `None` if these are too many, so that every document is an error.
    pub(super) fn failed(&self, excluded: Option<&[String]>, envelope: bool) -> Self {
        // Every rule is named: a new one does not compile until this says whether it applies to a failed call.
        let Self {
            idle: _,
            root,
            keep_siblings: _,
            conditions: _,
            max_items: _,
            stop_early: _,
            select,
            exclude,
            drop_nulls: _,
            drop_empty: _,
            closed,
            judges: _,
            refuses: _,
            duplicates,
        } = self;
        let exclude = match select {
            None => Some(exclude.clone()),
            Some(_) => excluded
                .and_then(|list| excluded_trie(list, envelope, &mut RegexBudget::new()).ok()),
        };
        let refuses = exclude.is_none() || (*closed && select.is_some());
        let exclude = exclude.unwrap_or_else(|| Trie::new([]));
        Self {
            idle: exclude.is_empty() && !refuses,
            root: match root {
                _ if refuses => RootRule::Document,
                RootRule::DocumentOrArray => RootRule::Document,
                root => root.clone(),
            },
            exclude,
            closed: *closed,
            refuses,
            duplicates: *duplicates,
            ..Self::none()
        }
    }
}

/// Compiles the paths of `exclude`.
fn excluded_trie(
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut trie = trie_of("exclude", list, envelope, allowance)?;
    trie.act_on_ends(Action::Skip);
    Ok(trie)
}

/// Compiles the paths of a rule that reads the item as it is written.
pub(super) fn trie_of(
    rule: &'static str,
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut paths = Vec::with_capacity(list.len());
    for (entry, text) in list.iter().enumerate() {
        paths.push(steps(read(text, envelope), rule, entry, text, allowance)?);
    }
    let mut trie = Trie::new(&paths);
    trie.sharpen(allowance);
    Ok(trie)
}

/// The place from which bytes wait for the first hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum WaitFrom {
    Document,
    Payload,
}
