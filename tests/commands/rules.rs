//! Rules as data: what is read, what is refused and where, and what each operation does.

use serde::Deserialize;
use tamis::{CommandRules, Limits, OutputFilterRegistry};

use crate::drivers::{Subject, agree};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    rules: String,
    /// What reading them says, each with `line:column: `.
    #[serde(default)]
    errors: Vec<String>,
    /// What has no effect, in the same form.
    #[serde(default)]
    warnings: Vec<String>,
    /// What their examples say.
    #[serde(default)]
    wrong: Vec<String>,
    command: Option<String>,
    exit_code: Option<i32>,
    held: Option<u64>,
    input: Option<String>,
    /// How often the input comes.
    times: Option<usize>,
    output: Option<String>,
    filter: Option<String>,
}

fn expect<T: std::fmt::Debug + PartialEq>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}:\n  expected {expected:?}\n  found    {found:?}"))
}

fn places(problems: &[tamis::Problem]) -> Vec<String> {
    let told = |problem: &tamis::Problem| {
        format!("{}:{}: {}", problem.line(), problem.column(), problem.message())
    };
    problems.iter().map(told).collect()
}

impl Case {
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
            output: input.as_bytes(),
        };
        let (out, report) = agree(&self.name, subject);
        let expected = self.output.as_deref().unwrap_or(&input);
        expect("output", &String::from_utf8(out).unwrap().as_str(), &expected)?;
        expect("filter", &report.filter, &self.filter)
    }
}

#[test]
fn cases() {
    let file: File = toml::from_str(include_str!("rules.toml")).unwrap();
    let wrong = |case: &Case| case.run().err().map(|why| format!("{}: {why}", case.name));
    let wrong: Vec<String> = file.case.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_files_are_no_trouble() {
    for text in ["", "# nothing\n", "\u{feff}rules = []\n"] {
        assert_eq!(CommandRules::parse("x", text).unwrap().names().len(), 0, "{text:?}");
    }
    let error = CommandRules::parse_bytes("x.toml", b"a = 1\n\xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.toml: the file is not UTF-8: byte 6 in line 2; save it as UTF-8"
    );
    let deep = format!("rules = {}", "[".repeat(100_000));
    assert!(CommandRules::parse("x", &deep).is_err());
    let many = "[[rules]]\n".repeat(5000);
    let error = CommandRules::parse("x", &many).unwrap_err();
    assert!(error.problems().len() <= 20 && error.more() > 0);
}
