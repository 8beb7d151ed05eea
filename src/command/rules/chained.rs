//! The rules of zeph's spelling for one command, as one rule: an engine that applies all of them in their order.

use std::sync::{Arc, OnceLock};

use regex::bytes::RegexSet;

use super::matcher::Matcher;
use super::{Exit, Rule};
use crate::command::chain;
use crate::regex_budget::RegexBudget;
use crate::spec::TextSpec;
use crate::text::TextProgram;
use crate::text::more::More;

/// Makes one rule of several, which keeps lines of security unless `security` is `None`. `None` if one of them cannot be compiled, which is reported when its file is read.
pub(super) fn rule(rules: &[Arc<Rule>], security: Option<&[Arc<RegexSet>]>) -> Option<Arc<Rule>> {
    let security: Vec<_> = security
        .map(|extra| chain::security().into_iter().chain(extra.iter().cloned()))
        .into_iter()
        .flatten()
        .collect();
    let programs: Option<Vec<_>> = rules.iter().map(|rule| rule.programs()).collect();
    let programs = programs?;
    // Each way to end that one of them knows; single codes first, whatever is left last.
    let mut exits: Vec<Exit> = Vec::new();
    for (exit, _) in programs.iter().copied().flatten() {
        if !exits.contains(exit) {
            exits.push(*exit);
        }
    }
    exits.sort_by_key(|exit| match exit {
        Exit::Code(_) => 0,
        Exit::Ok | Exit::Failed => 1,
        Exit::Any => 2,
    });
    let mut chains = Vec::with_capacity(exits.len());
    for exit in exits {
        let links: Option<Vec<_>> =
            programs.iter().map(|programs| program(programs, exit)).collect();
        chains.push((exit, compile(links?, &security)?));
    }
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    Some(Arc::new(Rule {
        name: names.join("+"),
        matcher: Matcher::default(),
        order: 0,
        is_piped: true,
        enabled: true,
        operations: Vec::new(),
        examples: Vec::new(),
        at: 0,
        programs: OnceLock::from(Some(chains)),
    }))
}

/// The program of a rule for commands that end so.
fn program(programs: &[(Exit, TextProgram)], exit: Exit) -> Option<TextProgram> {
    let is = |other: &Exit| match exit {
        Exit::Any => false,
        Exit::Ok => other.is(Some(0)),
        Exit::Failed => *other == Exit::Failed,
        Exit::Code(code) => other.is(Some(code)),
    };
    let found = programs.iter().find(|(other, _)| is(other));
    let found = found.or_else(|| programs.iter().find(|(other, _)| *other == Exit::Any));
    found.map(|(_, program)| program.clone())
}

fn compile(links: Vec<TextProgram>, security: &[Arc<RegexSet>]) -> Option<TextProgram> {
    let strip_ansi = links.iter().all(|program| program.filter().strip_ansi);
    let filter = TextSpec::new().strip_ansi(strip_ansi);
    let engine = Some(chain::engine(links, security.to_vec()));
    let more = More { engine, marks: true, keeps_doubtful: true, ..More::default() };
    TextProgram::compile_with(&filter, &more, &mut RegexBudget::new()).ok()
}
