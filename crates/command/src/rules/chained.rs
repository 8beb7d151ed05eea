//! Combines the rules in zeph's syntax for one command into one rule, whose engine applies all of them in order.

use std::sync::{Arc, OnceLock};

use regex::bytes::RegexSet;
use tamis_json::regex_budget::RegexBudget;
use tamis_text::lines::rule_ops::RuleOperations;

use super::matcher::CommandMatcher;
use super::rule::{CommandRule, ExitCondition};
use crate::rule_chain;
use tamis::text::TextProgram;
use tamis::text::TextSpec;

/// Combines rules into one, which keeps security lines unless `security` is `None`. Returns `None` if one of the
/// rules cannot be compiled, which reading its file reports.
pub(super) fn combine(
    rules: &[Arc<CommandRule>],
    security: Option<&[Arc<RegexSet>]>,
) -> Option<Arc<CommandRule>> {
    let security: Vec<_> = security
        .map(|extra| rule_chain::security().into_iter().chain(extra.iter().cloned()))
        .into_iter()
        .flatten()
        .collect();
    let programs: Option<Vec<_>> = rules.iter().map(|rule| rule.programs()).collect();
    let programs = programs?;
    // The exit conditions that any of the rules has: single codes first, `Any` last.
    let mut exits: Vec<ExitCondition> = Vec::new();
    for (exit, _) in programs.iter().copied().flatten() {
        if !exits.contains(exit) {
            exits.push(*exit);
        }
    }
    exits.sort_by_key(|exit| match exit {
        ExitCondition::Code(_) => 0,
        ExitCondition::Ok | ExitCondition::Failed => 1,
        ExitCondition::Any => 2,
    });
    let mut chains = Vec::with_capacity(exits.len());
    for exit in exits {
        let links: Option<Vec<_>> =
            programs.iter().map(|programs| program(programs, exit)).collect();
        chains.push((exit, compile(links?, &security)?));
    }
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    Some(Arc::new(CommandRule {
        prefixes: false,
        steps: None,
        machine_format: false,
        begins: rules.first().map_or(Vec::new(), |rule| rule.begins.clone()),
        beginnings: OnceLock::new(),
        name: names.join("+"),
        matcher: CommandMatcher::default(),
        order: 0,
        is_piped: true,
        enabled: true,
        operations: Vec::new(),
        examples: Vec::new(),
        at: 0,
        programs: OnceLock::from(Some(chains)),
    }))
}

/// Returns the program of a rule for an exit condition.
fn program(programs: &[(ExitCondition, TextProgram)], exit: ExitCondition) -> Option<TextProgram> {
    let is = |other: &ExitCondition| match exit {
        ExitCondition::Any => false,
        ExitCondition::Ok => other.is(Some(0)),
        ExitCondition::Failed => *other == ExitCondition::Failed,
        ExitCondition::Code(code) => other.is(Some(code)),
    };
    let found = programs.iter().find(|(other, _)| is(other));
    let found = found.or_else(|| programs.iter().find(|(other, _)| *other == ExitCondition::Any));
    found.map(|(_, program)| program.clone())
}

fn compile(links: Vec<TextProgram>, security: &[Arc<RegexSet>]) -> Option<TextProgram> {
    let strip_ansi = links.iter().all(|program| program.spec().strip_ansi);
    let filter = TextSpec::new().strip_ansi(strip_ansi);
    let engine = Some(rule_chain::engine(links, security.to_vec()));
    let more =
        RuleOperations { engine, marks: true, keeps_doubtful: true, ..RuleOperations::default() };
    TextProgram::compile_with(&filter, &more, &mut RegexBudget::new()).ok()
}
