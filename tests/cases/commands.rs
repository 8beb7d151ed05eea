//! Rules for the output of commands, their errors and their effect: `tests/cases/commands/*.toml`.

use serde::Deserialize;
use tamis::Limits;
use tamis_command::{CommandRules, OutputCap, OutputFilterRegistry};
use tamis_testkit::cases::{self, CaseTest, expect};
use tamis_testkit::commands::drivers::{Subject, agree};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesCase {
    name: String,
    rules: String,
    /// The errors of the rules, each with `line:column: `.
    #[serde(default)]
    errors: Vec<String>,
    /// The warnings, in the same form.
    #[serde(default)]
    warnings: Vec<String>,
    /// The failures of the examples.
    #[serde(default)]
    wrong: Vec<String>,
    command: Option<String>,
    exit_code: Option<i32>,
    held: Option<u64>,
    /// The limits of the call.
    #[serde(default)]
    max_lines: u64,
    #[serde(default)]
    max_tokens: u64,
    input: Option<String>,
    /// The number of times that the input is repeated.
    times: Option<usize>,
    output: Option<String>,
    filter: Option<String>,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("commands", |case: &cases::Case<RulesCase>| case.data.run())
}

fn places(problems: &[tamis_manifest::Diagnostic]) -> Vec<String> {
    let described = |problem: &tamis_manifest::Diagnostic| {
        format!("{}:{}: {}", problem.line(), problem.column(), problem.message())
    };
    problems.iter().map(described).collect()
}

impl RulesCase {
    fn run(&self) -> Result<(), String> {
        let rules = match CommandRules::parse("rules.toml", &self.rules) {
            Ok(rules) => rules,
            Err(error) => return expect("errors", &places(error.problems()), &self.errors),
        };
        expect("errors", &Vec::new(), &self.errors)?;
        expect("warnings", &places(rules.warnings()), &self.warnings)?;
        expect("examples", &places(&rules.run_examples()), &self.wrong)?;
        let Some(command) = &self.command else { return Ok(()) };
        let registry = OutputFilterRegistry::new()
            .register_rules(rules)
            .register_rules(CommandRules::builtin());
        let mut limits = Limits::new();
        if let Some(held) = self.held {
            limits = limits.with_held(held);
        }
        let input = self.input.as_deref().unwrap_or_default().repeat(self.times.unwrap_or(1));
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command,
            exit_code: self.exit_code,
            quiet: true,
            full_output: "full.log",
            cap: OutputCap::new().with_max_lines(self.max_lines).with_max_tokens(self.max_tokens),
            output: input.as_bytes(),
        };
        let (out, report) = agree(&self.name, subject);
        let expected = self.output.as_deref().unwrap_or(&input);
        expect("output", &String::from_utf8(out).unwrap().as_str(), &expected)?;
        expect("filter", &report.filter, &self.filter)
    }
}
