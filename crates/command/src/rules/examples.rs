//! Runs the examples in rules: an output, and the expected filtered output.
//!
//! The line that reports what was cut is not part of an example, because examples are about the operations.

use tamis_json::limits::Limits;

use super::rule::{CommandRule, ExitCondition, RuleExample, RuleFile};
use crate::command_line::CommandLine;
use tamis::text::TextProgram;
use tamis_manifest::Diagnostic;
use tamis_manifest::error::Text;

/// Runs all examples. Returns a problem for each that fails.
pub(super) fn run(rules: &RuleFile) -> Vec<Diagnostic> {
    let text = Text::new(&rules.file, &rules.text);
    let mut problems = Vec::new();
    for rule in &rules.rules {
        for example in &rule.examples {
            let wrong = fits(rule, example).or_else(|| comes_out(rule, example));
            problems.extend(
                wrong.map(|wrong| text.problem(example.at, format!("{}: {wrong}", rule.name))),
            );
        }
    }
    problems
}

fn fits(rule: &CommandRule, example: &RuleExample) -> Option<String> {
    let typed = example.command.as_deref()?;
    let line = CommandLine::parse(typed);
    let fits =
        line.command().is_some_and(|command| rule.matcher.matches(command, line.arguments()));
    (!fits).then(|| format!("the rule does not match the example's command `{typed}`"))
}

fn comes_out(rule: &CommandRule, example: &RuleExample) -> Option<String> {
    let programs = rule.programs()?;
    let (_, program) = programs
        .iter()
        .find(|(exit, _)| exit.is(example.exit_code))
        .or_else(|| programs.iter().find(|(exit, _)| *exit == ExitCondition::Any))?;
    let found = output(program, &example.input);
    if found == example.output.as_bytes() {
        return None;
    }
    let found = String::from_utf8_lossy(&found).into_owned();
    Some(difference(&found, &example.output))
}

fn output(program: &TextProgram, input: &str) -> Vec<u8> {
    let mut engine = tamis_text::lines::pipeline::TextPipeline::new(program, &Limits::new());
    let mut out = Vec::new();
    engine.write(input.as_bytes(), &mut out);
    engine.end(&mut out);
    engine.settle(&mut out);
    out
}

/// Describes the first line in which two texts differ.
fn difference(found: &str, expected: &str) -> String {
    let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (found, expected) = (lines(found), lines(expected));
    let same = found.iter().zip(&expected).take_while(|(a, b)| a == b).count();
    let show = |lines: &[String]| match lines.get(same) {
        Some(line) if same + 1 == lines.len() && line.is_empty() => "the end".to_owned(),
        Some(line) => format!("`{line}`"),
        None => "the end".to_owned(),
    };
    format!(
        "line {} of the example's output is {}, expected {}",
        same + 1,
        show(&found),
        show(&expected)
    )
}
