//! Compiles the rules on items: the payload's root, `select`, `exclude`, `omit`, `max_items` and the drops.
//!
//! Compilation depends on rules and paths, not on a document.

use std::sync::Arc;

use tamis_json::error::Error;
use tamis_json::path::Path;
use tamis_json::path::trie::{Cursor, Trie};
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::conditions::ItemConditions;
use super::member_tests::MemberTests;
use super::rule_paths::{one_place, read, refuse_in, steps};
use super::select::SelectRules;
use crate::spec::{DuplicateKeys, OnKind, Root, Siblings, Spec};

/// The compiled rules on items.
#[derive(Clone, Debug)]
pub(in crate::filter) struct ItemRules {
    /// No rule changes an item.
    pub(in crate::filter) idle: bool,
    pub(in crate::filter) root: RootRule,
    pub(in crate::filter) keep_siblings: bool,
    pub(in crate::filter) conditions: Option<ItemConditions>,
    /// The conditions among the names of the select, if the machine can test them.
    pub(in crate::filter) member_tests: Option<MemberTests>,
    /// `u64::MAX` means no limit.
    pub(in crate::filter) max_items: u64,
    pub(in crate::filter) stop_early: bool,
    pub(in crate::filter) select: Option<SelectRules>,
    pub(in crate::filter) exclude: Trie,
    /// The paths of `exclude`, then those of `omit`. `None` without `omit`.
    pub(in crate::filter) with_omit: Option<Trie>,
    /// The number of the first path of `omit` in that trie.
    pub(in crate::filter) omits_from: u32,
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
    At(Arc<Path>),
}

impl ItemRules {
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let Spec {
            select,
            on_kind,
            exclude: excluded,
            omit,
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
                RootRule::At(Arc::new(one_place("root", "the payload", text, false, allowance)?))
            }
        };
        let sources = select.iter().flat_map(|select| &select.0);
        let keeps = |own: Option<OnKind>| own.unwrap_or(*on_kind) == OnKind::Keep;
        if let Some(entry) = sources.clone().position(|source| keeps(source.on_kind))
            && spec.is_closed()
        {
            let text = sources.clone().nth(entry).map_or("", |source| &source.path);
            let message = format!(
                "select: {text}: `on_kind: keep` lets other values pass than a path names; it cannot be combined with `on_error: closed`"
            );
            return refuse_in("select", entry, false, message);
        }
        if *stop_early && *max_items == 0 {
            let message = "`stop_early` requires `max_items`".into();
            return refuse_in("stop_early", 0, false, message);
        }
        let exclude = excluded_trie(excluded, *envelope, allowance)?;
        let omits_from = excluded.len() as u32;
        let with_omit = match omit.as_slice() {
            [] => None,
            omit => Some(omitting_trie(excluded, omit, *envelope, allowance)?),
        };
        let conditions = ItemConditions::compile(conditions, *envelope, allowance)?;
        let select = match select {
            None => None,
            Some(select) => {
                let removed = with_omit.as_ref().unwrap_or(&exclude);
                Some(SelectRules::compile(&select.0, *on_kind, *envelope, removed, allowance)?)
            }
        };
        let member_tests = conditions
            .as_ref()
            .zip(select.as_ref())
            .and_then(|(conditions, select)| MemberTests::compile(conditions, select));
        let idle = !spec.has_item_rules() && !*wrap && !matches!(root, RootRule::At(_));
        Ok(Self {
            idle,
            root,
            keep_siblings: *siblings == Siblings::Keep,
            conditions,
            member_tests,
            max_items: if *max_items == 0 { u64::MAX } else { *max_items },
            stop_early: *stop_early,
            select,
            exclude,
            with_omit,
            omits_from,
            drop_nulls: *drop_nulls,
            drop_empty: *drop_empty,
            closed: spec.is_closed(),
            judges: true,
            refuses: false,
            duplicates: *duplicate_keys,
        })
    }

    /// Returns the paths at which values are removed. After a total miss nothing is removed that only saves.
    #[inline]
    pub(in crate::filter) fn removed(&self, has_missed: bool) -> &Trie {
        self.with_omit.as_ref().filter(|_| !has_missed).unwrap_or(&self.exclude)
    }

    /// Returns the place of an element. `place` is the place of the array. If the array is removed, so is every element.
    pub(in crate::filter) fn element_place(&self, place: &Cursor, index: u64) -> Cursor {
        match place.is_hit() {
            true => Cursor::inside_hit(),
            false => place.element(self.removed(false), index),
        }
    }

    /// Returns whether a value that is removed is counted as omitted.
    #[inline]
    pub(in crate::filter) fn is_omitted(&self, place: &Cursor) -> bool {
        place.rule().is_some_and(|path| path >= self.omits_from)
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
            member_tests: None,
            max_items: u64::MAX,
            stop_early: false,
            select: None,
            exclude: Trie::new([]),
            with_omit: None,
            omits_from: u32::MAX,
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
            member_tests: _,
            max_items: _,
            stop_early: _,
            select,
            exclude,
            with_omit: _,
            omits_from: _,
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

/// Compiles the paths of `exclude` and those of `omit` into one trie.
fn omitting_trie(
    exclude: &[String],
    omit: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut paths = paths_of("exclude", exclude, envelope, allowance)?;
    let first = paths.len() as u32;
    paths.extend(paths_of("omit", omit, envelope, allowance)?);
    let mut trie = Trie::new(&paths);
    trie.sharpen(allowance);
    trie.act_on_each_end(|path| if path < first { Action::Skip } else { Action::Omit });
    Ok(trie)
}

/// Compiles the paths of a rule that reads the item as it is written.
pub(in crate::filter) fn trie_of(
    rule: &'static str,
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut trie = Trie::new(&paths_of(rule, list, envelope, allowance)?);
    trie.sharpen(allowance);
    Ok(trie)
}

fn paths_of(
    rule: &'static str,
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Vec<Path>, Error> {
    let paths = list.iter().enumerate();
    let paths =
        paths.map(|(entry, text)| steps(read(text, envelope), rule, entry, text, allowance));
    paths.collect()
}

/// The place from which bytes wait for the first hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum WaitFrom {
    Document,
    Payload,
}
