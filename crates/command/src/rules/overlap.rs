//! Finds rules that match the same command without an `order` that says which one is applied. Rules in zeph's syntax
//! are all applied, so two of them never conflict.
//!
//! Whether two patterns match a common command is undecidable in general. Therefore each rule is tried on the
//! commands that other rules name: in exact texts, prefixes, derived commands and examples.

use super::matcher::CommandPattern;
use super::rule::CommandRule;
use tamis_manifest::error::{Problems, Text};

/// Maximum number of commands tried for all rules together. Conflicts beyond it are not found; the first matching
/// rule is applied.
const TRIED: usize = 200_000;

/// Reports all conflicts.
pub(super) fn check(rules: &[CommandRule], text: &Text<'_>, problems: &mut Problems) {
    let witnesses: Vec<Vec<String>> = rules.iter().map(witnesses).collect();
    let mut tried = 0;
    for (place, rule) in rules.iter().enumerate() {
        let earlier = rules.iter().zip(&witnesses).take(place);
        let own = witnesses.get(place).map_or([].as_slice(), Vec::as_slice);
        for (other, others) in earlier {
            let ordered = rule.order != other.order || rule.is_piped && other.is_piped;
            if ordered || !rule.enabled || !other.enabled {
                continue;
            }
            tried += own.len() + others.len();
            if tried > TRIED {
                return;
            }
            let both = |command: &&String| fits(rule, command) && fits(other, command);
            if let Some(command) = own.iter().chain(others).find(both) {
                problems.push(|| {
                    text.problem(
                        rule.at,
                        format!(
                            "`{}` and `{}` both match `{command}`; give one of them an `order` (the lowest is applied)",
                            rule.name, other.name
                        ),
                    )
                });
            }
        }
    }
}

fn fits(rule: &CommandRule, command: &str) -> bool {
    rule.matcher.matches(command, command.split(' ').skip(1))
}

fn witnesses(rule: &CommandRule) -> Vec<String> {
    let examples = rule.examples.iter().filter_map(|example| example.command.clone());
    rule.matcher.patterns.iter().filter_map(CommandPattern::witness).chain(examples).collect()
}
