//! Two rules for the same command are an error unless their `order` says which is first; in zeph's spelling both are applied.
//!
//! Exact texts, prefixes and what they fit are compared as they are. Whether two patterns have a command in common cannot be
//! told in general: they are tried on the commands that the rules name, in their matches and in their examples.

use super::Rule;
use crate::manifest::error::{Problems, Text};

/// Commands that are tried, all rules together. Beyond that the first rule that fits is taken, as always.
const TRIED: usize = 200_000;

/// Finds them.
pub(super) fn check(rules: &[Rule], text: &Text<'_>, problems: &mut Problems) {
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
                            "`{}` and `{}` are both for `{command}`; give one of them an `order` (lower is first)",
                            rule.name, other.name
                        ),
                    )
                });
            }
        }
    }
}

fn fits(rule: &Rule, command: &str) -> bool {
    rule.matcher.fits(command, command.split(' ').skip(1))
}

fn witnesses(rule: &Rule) -> Vec<String> {
    let examples = rule.examples.iter().filter_map(|example| example.command.clone());
    rule.matcher.forms.iter().filter_map(super::matcher::Form::witness).chain(examples).collect()
}
