//! A text filter, a text and the output: `tests/cases/text/*.toml`. Each case runs whole, in single bytes, at every cut, and as
//! the inside of a JSON string.

use serde::Deserialize;
use serde_json::Value as Json;
use tamis::text::{TextProgram, TextSpec};
use tamis::{ErrorKind, Limits};
use tamis_testkit::cases::{self, CaseTest, expect};
use tamis_testkit::prng::Prng;
use tamis_testkit::text::drivers::{Form, Subject, agree};
use tamis_testkit::text::spelling::{read, spell, units};

/// An input and its expected output.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextCase {
    name: String,
    #[serde(default)]
    filter: TextSpec,
    /// The limit `line`.
    line: Option<usize>,
    /// A text, its output, and the number of times that the text is repeated.
    input: Option<String>,
    output: Option<String>,
    times: Option<usize>,
    /// Whether the output is the input.
    #[serde(default)]
    unchanged: bool,
    /// Input and output that are not UTF-8.
    bytes: Option<Vec<u8>>,
    output_bytes: Option<Vec<u8>>,
    /// The inside of a JSON string, and its output.
    string: Option<String>,
    spelled: Option<String>,
    /// Some keys of the report.
    #[serde(default)]
    report: serde_json::Map<String, Json>,
    /// The error of compiling, and its excerpt.
    error: Option<String>,
    excerpt: Option<String>,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("text", |case: &cases::Case<TextCase>| case.data.run())
}

impl TextCase {
    fn run(&self) -> Result<(), String> {
        let program = match (TextProgram::compile(&self.filter), &self.error) {
            (Ok(program), None) => program,
            (Ok(_), Some(_)) => return Err("compiles".into()),
            (Err(error), None) => return Err(error.to_string()),
            (Err(error), Some(expected)) => {
                expect("the error", &error.to_string(), expected)?;
                expect("the excerpt", &error.excerpt(), &self.excerpt.as_deref())?;
                return expect("the kind", &error.kind(), &ErrorKind::Spec);
            }
        };
        let mut checks = 0;
        if let Some(input) = &self.input {
            let input = input.repeat(self.times.unwrap_or(1));
            let output = match (&self.output, self.unchanged) {
                (Some(output), false) => output,
                (None, true) => &input,
                _ => return Err("a case has an output, or it is unchanged".into()),
            };
            self.plain(&program, input.as_bytes(), output.as_bytes())?;
            self.in_strings(&program, &input, output)?;
            checks += 1;
        }
        if let (Some(input), Some(output)) = (&self.bytes, &self.output_bytes) {
            self.plain(&program, input, output)?;
            checks += 1;
        }
        if let (Some(input), Some(output)) = (&self.string, &self.spelled) {
            let report =
                self.through(&program, Form::Quoted, input.as_bytes(), output.as_bytes())?;
            self.compare(&report)?;
            checks += 1;
        }
        if checks == 1 { Ok(()) } else { Err("a case has one input and its output".into()) }
    }

    fn plain(&self, program: &TextProgram, input: &[u8], output: &[u8]) -> Result<(), String> {
        let report = self.through(program, Form::Plain, input, output)?;
        self.compare(&report)
    }

    /// The output does not depend on the spelling of the text in a string.
    fn in_strings(&self, program: &TextProgram, input: &str, output: &str) -> Result<(), String> {
        let limits = self.limits();
        let mut prng = Prng::named(&self.name);
        for _ in 0..4 {
            let text = spell(&units(input), &mut prng);
            let subject = Subject { program, limits: &limits, form: Form::Quoted, text: &text };
            let (found, _) = agree(subject, 1)?;
            let Some(found) = read(&found) else {
                return Err(format!("no inside of a string: {}", found.escape_ascii()));
            };
            expect("in a string: the output", &found, &units(output))?;
        }
        Ok(())
    }

    fn through(
        &self,
        program: &TextProgram,
        form: Form,
        text: &[u8],
        output: &[u8],
    ) -> Result<Json, String> {
        let limits = self.limits();
        let (found, report) = agree(Subject { program, limits: &limits, form, text }, 1)?;
        let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
        expect("the output", &show(&found), &show(output))?;
        Ok(serde_json::to_value(report).expect("a report is JSON"))
    }

    fn compare(&self, report: &Json) -> Result<(), String> {
        for (key, expected) in &self.report {
            expect(&format!("`{key}`"), &report.get(key), &Some(expected))?;
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        self.line.map_or_else(Limits::new, |bytes| Limits::new().with_line(bytes))
    }
}
