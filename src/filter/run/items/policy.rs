//! States what the machine may do with the members of the innermost container without asking the stage.

use super::{ContainerRole, ItemsState};
use crate::filter::compile::items::ItemRules;
use crate::json::policy::{Action, KindSet, Once, Output, Policy};
use crate::sink::Sink;
use crate::spec::DuplicateKeys;

impl ItemsState {
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
            max_items: _,
            stop_early: _,
            select,
            exclude,
            drop_nulls,
            drop_empty,
            closed: _,
            judges: _,
            refuses: _,
            duplicates,
        } = rules;
        let Self { roles, met, actions, writer, .. } = self;
        let output = Some(Output { writer, sink });
        match roles.last_mut() {
            Some(ContainerRole::Select { left: 0, .. }) if *duplicates == DuplicateKeys::First => {
                // Everything that could be selected was found.
                Policy::all(Action::SkipRest)
            }
            // Names that are kept for suggestions come through `value`.
            Some(ContainerRole::Select { node, serial, left, names: false, .. }) => {
                let names = select.as_ref().and_then(|select| select.trie.names(*node));
                let Some(names) = names else { return Policy::ASK };
                Policy {
                    names: Some((names, actions)),
                    others: Action::Skip,
                    drop: KindSet::new(*drop_nulls, *drop_empty),
                    once: Some(Once { met, serial: *serial, left }),
                    keys: select.as_ref().map_or(&[], |select| &select.keys),
                    output,
                }
            }
            Some(ContainerRole::Emit { cursor, object, .. }) => {
                let names = match (cursor.is_dead(), *object) {
                    (true, _) => None,
                    (false, true) => match cursor.names(exclude) {
                        Some(names) => Some((names, exclude.actions())),
                        None => return Policy::ASK,
                    },
                    // Elements have indices, which may be excluded.
                    (false, false) => return Policy::ASK,
                };
                let drop =
                    if *object { KindSet::new(*drop_nulls, *drop_empty) } else { KindSet::EMPTY };
                Policy { names, drop, output, ..Policy::all(Action::Keep) }
            }
            _ => Policy::ASK,
        }
    }
}
