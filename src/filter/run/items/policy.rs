//! States the rules for the members of the innermost container as a [`Policy`], so that the machine need not ask the
//! stage about each.
//!
//! | role of the container | policy |
//! |---|---|
//! | `Select`, something is left to select | the names of the node, each with its action; all others are dropped |
//! | `Select`, everything was found | the rest of the object is dropped |
//! | `Project` | the same with the fields of the projection; ask if a path of `exclude` leads below |
//! | `Emit`, an object | excluded names are dropped, all others kept, except for dropped kinds |
//! | `Emit`, an array below which no path leads | all elements are kept; the machine asks about containers |
//! | all others | ask |
//!
//! A policy may only say what [`ItemsState::value`] would do. If in doubt, it is [`Policy::ASK`].
//!
//! Example: `select: id` and the item `{"a":1,"id":2,"b":3}`. In the first item the machine asks about `id`, because
//! the action of its node is still `Ask`. The value is a hit, so its action becomes `Keep`. In all later items the
//! machine may skip `a`, write `"id":2` and skip the rest of the item without a call of `value`.

use tamis_json::path::PathToken;
use tamis_json::path::trie::Cursor;
use tamis_json::policy::{Action, KindSet, Once, Output, Policy, WantedNames};
use tamis_json::sink::Sink;

use super::{ContainerRole, ItemsState, PayloadTarget};
use crate::filter::compile::items::ItemRules;
use crate::spec::DuplicateKeys;

/// Returns the policy for a container that is emitted at `cursor` of the removed paths, without its output. `object`: it
/// is an object. Inlined, so that its fields are written where the caller needs them.
#[inline(always)]
pub(super) fn emit_policy<'a>(
    rules: &'a ItemRules,
    cursor: &Cursor,
    object: bool,
    has_missed: bool,
) -> Policy<'a> {
    let removed = rules.removed(has_missed);
    // A cursor at several places, or at a wildcard, has no single table of names.
    let names = match (cursor.is_dead(), object) {
        (true, _) => None,
        (false, true) => match cursor.names(removed) {
            Some(names) => Some((names, removed.actions())),
            None => return Policy::ASK,
        },
        // Elements have indices, which may be excluded.
        (false, false) => return Policy::ASK,
    };
    let drop = if object && !has_missed {
        KindSet::new(rules.drop_nulls, rules.drop_empty)
    } else {
        KindSet::EMPTY
    };
    Policy { names, drop, ..Policy::all(Action::Keep) }
}

impl ItemsState {
    /// Returns the policy for the innermost container. Valid until the next event.
    #[inline]
    pub(super) fn policy<'a>(
        &'a mut self,
        rules: &'a ItemRules,
        sink: &'a mut dyn Sink,
    ) -> Policy<'a> {
        // Every rule is named: the machine must not pass a member by a rule that is not part of the policy.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings: _,
            conditions: _,
            member_tests: _,
            max_items: _,
            stop_early: _,
            select,
            exclude: _,
            with_omit: _,
            omits_from: _,
            drop_nulls,
            drop_empty,
            closed: _,
            judges: _,
            refuses: _,
            duplicates,
        } = rules;
        let has_missed = self.has_missed();
        let Self { roles, met, actions, fields, writer, counts, .. } = self;
        let output = Some(Output { writer, sink });
        // With `duplicate_keys: reject` the rest of an object is searched for duplicates.
        let then_skips = *duplicates == DuplicateKeys::First;
        match roles.last_mut() {
            Some(
                ContainerRole::Select { wanted: WantedNames { left: 0, .. }, .. }
                | ContainerRole::Project { wanted: WantedNames { left: 0, .. }, .. },
            ) if then_skips => {
                // Everything that could be selected was found.
                Policy::all(Action::SkipRest)
            }
            // Names that are kept for suggestions come through `value`. The actions of nodes without a hit are `Ask`, so that
            // `value` sees the first hit of each source.
            Some(ContainerRole::Select { node, wanted, names: false, .. }) => {
                let Some(select) = select else { return Policy::ASK };
                let Some(names) = select.trie.names(*node) else { return Policy::ASK };
                Policy {
                    names: Some((names, actions)),
                    drop: KindSet::new(*drop_nulls, *drop_empty),
                    once: Some(Once { met, wanted }),
                    then_skips,
                    keys: &select.keys,
                    output,
                    ..Policy::SKIP
                }
            }
            Some(ContainerRole::Project { node, wanted, names: false, cursor, .. })
                if cursor.is_dead() && !cursor.is_hit() =>
            {
                let projections = select.as_ref().map(|select| &select.projections);
                let Some(projections) = projections else { return Policy::ASK };
                let Some(names) = projections.trie.names(*node) else { return Policy::ASK };
                Policy {
                    names: Some((names, &fields.actions)),
                    drop: KindSet::new(*drop_nulls, *drop_empty),
                    once: Some(Once { met: &mut fields.met, wanted }),
                    then_skips,
                    keys: &projections.keys,
                    output,
                    ..Policy::SKIP
                }
            }
            Some(ContainerRole::Emit { cursor, object, .. }) => {
                let policy = emit_policy(rules, cursor, *object, has_missed);
                Policy { omitted: Some(&mut counts.omitted), output, ..policy }
            }
            _ => Policy::ASK,
        }
    }

    /// Returns the length of the longest name that the rules look for in the innermost container, or `None` if its members
    /// may be kept, and so are needed with their keys.
    pub(super) fn longest_name(&self, rules: &ItemRules) -> Option<usize> {
        // Every rule is named: a key that is too long to compare must not pass a rule that would have matched it.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings,
            conditions: _,
            member_tests: _,
            max_items: _,
            stop_early: _,
            select,
            exclude: _,
            with_omit: _,
            omits_from: _,
            drop_nulls: _,
            drop_empty: _,
            closed: _,
            judges: _,
            refuses: _,
            duplicates: _,
        } = rules;
        Some(match self.roles.last() {
            // A kept value is kept with its key.
            Some(ContainerRole::Emit { .. } | ContainerRole::Members { .. }) => return None,
            Some(ContainerRole::OnPath { .. }) => match &self.target {
                PayloadTarget::At(path) if !*keep_siblings => {
                    path.0.iter().map(PathToken::len).max().unwrap_or(0)
                }
                // Siblings are kept with their keys. The payload is found by its position or kind.
                _ => return None,
            },
            // A key that is longer than every selected name cannot be selected.
            _ => select.as_ref().map_or(0, |select| {
                select.trie.longest_name().max(select.projections.trie.longest_name())
            }),
        })
    }
}
