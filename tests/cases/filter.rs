//! A document, a spec and the output: `tests/cases/filter/*.toml`.
//!
//! Each case runs through every driver with every kind of split. All of them must agree on the expected result.

use serde::Deserialize;
use serde_json::Value as Json;
use tamis::{CallOptions, ErrorKind, ExecutionMode, Limits, Program, Spec};
use tamis_testkit::adapters::agree_adapters;
use tamis_testkit::cases::{self, CaseTest};
use tamis_testkit::drivers::{self, Effort, Run, Tight, agree, agree_reader, agree_tight};
use tamis_testkit::options::Options;
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterCase {
    name: String,
    /// The document: as text, as a file of the corpus, as bytes in hexadecimal, or as `repeat`.
    input: Option<String>,
    input_file: Option<String>,
    input_hex: Option<String>,
    repeat: Option<Repeat>,
    #[serde(default)]
    spec: toml::Table,
    options: Option<Options>,
    /// The exact output. After an error: the output before it, in any split.
    output: Option<String>,
    output_hex: Option<String>,
    /// The number of bytes of a long output.
    output_bytes: Option<usize>,
    /// The output without the white space between its tokens, for cases in which `whitespace: keep` leaves some of it open.
    minified: Option<String>,
    /// A text that begins with the output before an error.
    prefix_of: Option<String>,
    error: Option<Fault>,
    /// Keys of the report with their values; keys that it must have with any value; keys that it must not have.
    #[serde(default)]
    report: toml::Table,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
    /// Texts that the plan of the program must have, and texts that it must not have.
    #[serde(default)]
    plan: Vec<String>,
    #[serde(default)]
    plan_without: Vec<String>,
    /// The spec must be refused, when it is read or when it is compiled, with this text in the message.
    spec_error: Option<String>,
    compile_error: Option<String>,
}

/// A document of repeated parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    #[serde(default)]
    before: String,
    text: String,
    count: usize,
    #[serde(default)]
    after: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    kind: String,
    offset: Option<u64>,
    path: Option<String>,
    message: Option<String>,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("filter", |case: &cases::Case<FilterCase>| case.data.run())
}

/// The run of a case.
pub(crate) struct Subject {
    pub(crate) place: String,
    pub(crate) program: Program,
    pub(crate) options: CallOptions,
    pub(crate) document: Vec<u8>,
}

/// The runs of the cases of a file whose specs compile.
pub(crate) fn subjects(file: &str) -> Vec<Subject> {
    let cases: Vec<cases::Case<FilterCase>> = cases::read(file, "case");
    let subject = |case: cases::Case<FilterCase>| {
        let spec: Spec = case.data.spec.clone().try_into().ok()?;
        let (program, place) = (Program::compile(&spec).ok()?, case.place);
        let (options, _) = case.data.options();
        Some(Subject { place, program, options, document: case.data.document() })
    };
    cases.into_iter().filter_map(subject).collect()
}

impl FilterCase {
    fn document(&self) -> Vec<u8> {
        let given = [
            self.input.as_ref().map(|text| text.clone().into_bytes()),
            self.input_file.as_ref().map(|name| paths::read(&format!("corpus/{name}"))),
            self.input_hex.as_ref().map(|digits| bytes(digits)),
            self.repeat.as_ref().map(|repeat| {
                let Repeat { before, text, count, after } = repeat;
                format!("{before}{}{after}", text.repeat(*count)).into_bytes()
            }),
        ];
        let mut given = given.into_iter().flatten();
        let document = given.next().expect("the case says no document");
        assert!(given.next().is_none(), "the case says two documents");
        document
    }

    fn run(&self) -> Result<(), String> {
        let spec: Spec = match (self.spec.clone().try_into(), &self.spec_error) {
            (Ok(spec), None) => spec,
            (Ok(_), Some(_)) => return Err("the spec can be read".to_owned()),
            (Err(error), Some(wanted)) if error.to_string().contains(wanted) => return Ok(()),
            (Err(error), _) => return Err(format!("the spec cannot be read: {error}")),
        };
        let program = match (Program::compile(&spec), &self.compile_error) {
            (Ok(program), None) => program,
            (Ok(_), Some(_)) => return Err("the spec compiles".to_owned()),
            (Err(error), Some(wanted)) => {
                if error.kind() == ErrorKind::Spec && error.to_string().contains(wanted) {
                    return Ok(());
                }
                return Err(format!("the spec is refused with another message: {error:?}"));
            }
            (Err(error), None) => return Err(format!("the spec does not compile: {error}")),
        };
        let plan: Vec<String> = program.plan().iter().map(ToString::to_string).collect();
        let plan = plan.join("\n");
        for wanted in &self.plan {
            if !plan.contains(wanted) {
                return Err(format!("{wanted:?} is not in the plan:\n{plan}"));
            }
        }
        for unwanted in &self.plan_without {
            if plan.contains(unwanted) {
                return Err(format!("{unwanted:?} is in the plan:\n{plan}"));
            }
        }

        let (options, limits) = self.options();
        let document = self.document();
        let subject =
            drivers::Subject { program: &program, options: &options, document: &document };
        self.judge(&subject.push([]))?;
        streams_as_explained(subject)?;

        let seed = Prng::named(&self.name).next_u64();
        let run = agree(subject, seed, Effort::Full)?;
        if self.options.is_none() {
            agree_reader(subject, seed, &run)?;
        }
        agree_adapters(subject, seed, &run, &limits)?;
        let plain = Program::compile(&spec.factor(false))
            .map_err(|error| format!("the spec does not compile without `factor`: {error}"))?;
        agree_tight(subject, seed, &run, Some(&plain), &limits, Tight::Held)?;
        // A name that is too long to be held matches nothing, or is an error. It is never overlooked.
        agree_tight(subject, seed, &run, Some(&plain), &limits, Tight::Keys)
    }

    fn options(&self) -> (CallOptions, Limits) {
        self.options.as_ref().map_or_else(
            || (tamis_testkit::call_options(), Limits::new()),
            |options| (options.call(), options.limits()),
        )
    }

    /// Compares a run with the expected result.
    fn judge(&self, run: &Run) -> Result<(), String> {
        let got = run.output.as_deref().unwrap_or_default();
        let shown = String::from_utf8_lossy(got);
        match (&self.error, &run.fault) {
            (None, None) => {}
            (None, Some(fault)) => return Err(format!("expected no error, got {fault:?}")),
            (Some(_), None) => return Err(format!("expected an error, got {shown}")),
            (Some(wanted), Some(fault)) => {
                let same = wanted.kind == fault.kind.as_str()
                    && wanted.offset.is_none_or(|offset| fault.offset == Some(offset))
                    && wanted.path.as_ref().is_none_or(|path| *path == fault.path)
                    && wanted.message.as_ref().is_none_or(|text| fault.message.contains(text));
                if !same {
                    return Err(format!("expected {wanted:?}\n  got      {fault:?}"));
                }
            }
        }
        let wanted = match (&self.output, &self.output_hex) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(digits)) => Some(bytes(digits)),
            (None, None) => None,
            (Some(_), Some(_)) => panic!("the case says two outputs"),
        };
        let says = wanted.is_some()
            || self.output_bytes.is_some()
            || self.minified.is_some()
            || self.error.is_some();
        assert!(says, "the case says neither an output nor an error");
        if let Some(wanted) = wanted
            && wanted != got
        {
            let wanted = String::from_utf8_lossy(&wanted);
            return Err(format!("the output\n  expected {wanted}\n  got      {shown}"));
        }
        if let Some(wanted) = &self.minified
            && without_white(got) != wanted.as_bytes()
        {
            return Err(format!("the output\n  expected {wanted}\n  got      {shown}"));
        }
        if let Some(whole) = &self.prefix_of
            && !whole.as_bytes().starts_with(got)
        {
            return Err(format!("emitted\n  {shown}\n  which does not begin {whole}"));
        }
        if self.output_bytes.is_some_and(|bytes| bytes != got.len()) {
            return Err(format!("{} bytes of output", got.len()));
        }
        let report = run.report.as_ref();
        let remained_json = report
            .is_none_or(|report| report.encode_skipped.is_some() || report.fallback.is_some());
        let is_encoded = self.spec.get("encode").is_some_and(|form| form.as_str() != Some("json"));
        if self.error.is_none() && (!is_encoded || remained_json) {
            let lines = self.options().0.lines();
            for text in
                got.split(|byte| lines && *byte == b'\n').filter(|_| !lines || !got.is_empty())
            {
                serde_json::from_slice::<&serde_json::value::RawValue>(text)
                    .map_err(|error| format!("the output is no JSON text: {error}: {shown}"))?;
            }
        }
        self.judge_report(run)
    }

    fn judge_report(&self, run: &Run) -> Result<(), String> {
        let report = serde_json::to_value(&run.report).expect("a report is JSON");
        let wanted = serde_json::to_value(&self.report).expect("a table is JSON");
        for (key, value) in wanted.as_object().into_iter().flatten() {
            if report.get(key) != Some(value) {
                let got = report.get(key).unwrap_or(&Json::Null);
                return Err(format!("report: {key}: expected {value}, got {got}"));
            }
        }
        for key in &self.needs {
            if report.get(key).is_none() {
                return Err(format!("report: {key} is not there"));
            }
        }
        for key in &self.absent {
            if let Some(value) = report.get(key) {
                return Err(format!("report: {key} is there: {value}"));
            }
        }
        // One counter counts all bytes of the output.
        // A budget applies to the document, whose elements may be written as lines.
        let left = ["budget_result_bytes", "output_bytes", "filter_result_bytes"];
        let skipped = usize::from(self.options().0.lines());
        let left = left.into_iter().skip(skipped).find_map(|key| report.get(key));
        let counted = left.and_then(Json::as_u64);
        let compacted = self.spec.contains_key("compact") || self.spec.contains_key("encode");
        if !compacted && counted != run.output.as_ref().map(|output| output.len() as u64) {
            return Err(format!("report: filter_result_bytes is {counted:?}"));
        }
        Ok(())
    }
}

/// A program that is explained as a stream holds nothing, in any chunks.
fn streams_as_explained(subject: drivers::Subject<'_>) -> Result<(), String> {
    let mode = subject.program.explain(subject.options).mode();
    for run in [subject.push([]), subject.bytes()] {
        let report = run.report.unwrap_or_default();
        let says = report.plan.iter().any(|step| step.mode() == ExecutionMode::Hold);
        // A tree holds more than a plan lists, and other stages may hold bytes as well.
        if mode != ExecutionMode::Tree && says != (mode == ExecutionMode::Hold) {
            return Err(format!("explained as {mode}, the plan is {:?}", report.plan));
        }
        if mode == ExecutionMode::Stream && report.held_peak_bytes > 0 {
            return Err(format!("explained as a stream, {} bytes held", report.held_peak_bytes));
        }
    }
    Ok(())
}

/// Removes white space outside strings.
fn without_white(text: &[u8]) -> Vec<u8> {
    let (mut string, mut escape) = (false, false);
    let mut kept = text.to_vec();
    kept.retain(|byte| {
        let quote = *byte == b'"' && !escape;
        escape = string && *byte == b'\\' && !escape;
        string ^= quote;
        string || !byte.is_ascii_whitespace()
    });
    kept
}

fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).expect("hexadecimal digits");
        u8::from_str_radix(text, 16).expect("hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}
