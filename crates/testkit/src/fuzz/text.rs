//! `text`: filters on the lines of a text, and those for the output of commands.
//!
//! Any split is as good as the whole; the models of the library's tests make the same of it; an output is longer than
//! its input only where something says what was left out or failed; what is not UTF-8 passes.

use std::sync::LazyLock;

use tamis::Limits;
use tamis::text::{TextProgram, TextSpec};
use tamis_command::{CommandLine, CommandRules, OutputFilterRegistry};

use super::input::{Choose, Input};
use crate::commands::{drivers as commands, model as declared};
use crate::prng::Choices;
use crate::text::{drivers, generate, model};

use drivers::{Form, Subject};

const LINE: usize = 64 << 10;
/// An output may be this many times longer than a text that moves the cursor: kept frames (four times), the last frame, the last
/// text of the row, and a row that was already written.
const FRAMES: usize = 7;

pub(super) static BUILTIN: LazyLock<OutputFilterRegistry> =
    LazyLock::new(OutputFilterRegistry::builtin);

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.choices.below(5) {
        0 => any_text(&mut input),
        1 => made_text(&mut input),
        2 => inside_of_a_string(&mut input),
        3 => made_output(&mut input),
        _ => any_output(&mut input),
    }
}

fn any_text(input: &mut Input<'_>) {
    let declared = generate::declared(&mut input.choices);
    let text = input.rest;
    texts(input, &declared, text, LINE);
    let passing = TextProgram::compile(&TextSpec::new()).expect("no operation is a filter");
    assert!(passing.apply(text).0 == text, "without operations a text passes");
}

/// Tests text made of significant bytes, also with lines that are too long. The model knows which patterns match the
/// beginnings of such lines.
fn made_text(input: &mut Input<'_>) {
    let declared = generate::declared(&mut input.choices);
    let text = generate::text(&mut Choose::new(input.rest));
    let line = if input.choices.one_in(3) { input.choices.below(9) } else { LINE };
    texts(input, &declared, &text, line);
}

fn texts(input: &mut Input<'_>, declared: &model::Declared, text: &[u8], line: usize) {
    let program = TextProgram::compile(&declared.filter()).expect("the filter compiles");
    let limits = Limits::new().with_line(line);
    let subject = Subject { program: &program, limits: &limits, form: Form::Plain, text };
    let (found, report) = split(&mut input.choices, subject);
    let about = || format!("{}: {declared:?}, line {line}", text.escape_ascii());
    let expected = model::run(declared, text, line);
    // The model knows one line of a terminal.
    let is_known = model::knows(declared, text);
    assert!(
        !is_known || found == expected,
        "{}\n  model: {}\n  here:  {}",
        about(),
        expected.escape_ascii(),
        found.escape_ascii()
    );
    assert_eq!((report.bytes_in, report.bytes_out), (text.len() as u64, found.len() as u64));
    assert!(report.changed || found == text, "{}", about());
    if is_known && !report.was_empty {
        let marks = found.windows(2).filter(|two| two == b"| ").count();
        let marks = if report.lines_marked > 0 { 2 * marks } else { 0 };
        let unknown = report.lines_left_out > 0 && report.lines_too_long > 0;
        assert!(unknown || found.len() <= text.len() + marks, "{}", about());
        assert_eq!(report.changed, found != text, "{}", about());
    }
}

/// Runs whole, split, byte by byte.
fn split(choices: &mut Choose<'_>, subject: Subject<'_>) -> (Vec<u8>, tamis::text::TextReport) {
    let whole = subject.push([]);
    let cuts = choices.cuts(subject.text.len());
    let about = || format!("{:?} on {}", subject.program.spec(), subject.text.escape_ascii());
    assert_eq!(subject.push(cuts.clone()), whole, "cuts at {cuts:?}: {}", about());
    let bytes = choices.byte_by_byte(subject.text.len());
    assert_eq!(subject.push(bytes.clone()), whole, "byte by byte at {bytes:?}: {}", about());
    whole
}

/// Tests the text of a JSON string. The model filters the decoded input and must produce the decoded output.
fn inside_of_a_string(input: &mut Input<'_>) {
    let declared = generate::declared(&mut input.choices);
    let program = TextProgram::compile(&declared.filter()).expect("the filter compiles");
    let limits = Limits::new();
    let text = input.rest;
    let subject = Subject { program: &program, limits: &limits, form: Form::Quoted, text };
    let (found, report) = split(&mut input.choices, subject);
    let Some(before) = said(text) else { return };
    if !model::knows(&declared, before.as_bytes()) {
        return;
    }
    let about = || format!("{}: {declared:?}", text.escape_ascii());
    // Two lone surrogates that were apart may be a pair afterwards, but a text has none.
    let ours = said(&found).unwrap_or_else(|| panic!("{}: {}", about(), found.escape_ascii()));
    let expected = model::run(&declared, before.as_bytes(), limits.line());
    assert_eq!(ours.as_bytes(), expected, "{}", about());
    assert_eq!((report.bytes_in, report.bytes_out), (text.len() as u64, found.len() as u64));
    assert!(report.changed || found == text, "what is not changed stays as it is spelled");
}

fn said(inside: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", inside, b"\""].concat()).ok()
}

/// Rules that were made, over lines that they know.
fn made_output(input: &mut Input<'_>) {
    let declared = declared::Declared::random(&mut input.choices);
    let raw = declared::output(&mut Choose::new(input.rest), 40);
    let toml = declared.toml();
    let rules = CommandRules::parse("x.toml", &toml).unwrap_or_else(|error| panic!("{error}"));
    let registry = OutputFilterRegistry::new().register_rules(rules);
    let limits = Limits::new();
    let subject = commands::Subject {
        registry: &registry,
        limits: &limits,
        command: "x",
        exit_code: None,
        quiet: true,
        full_output: "full.log",
        cap: tamis_command::OutputCap::new(),
        output: raw.as_bytes(),
    };
    let (out, _) = outputs(&mut input.choices, subject);
    assert_eq!(String::from_utf8_lossy(&out), declared.run(&raw), "{toml}\n{raw:?}");
}

/// The filters that come with tamis, over anything.
fn any_output(input: &mut Input<'_>) {
    let output = input.rest;
    let choices = &mut input.choices;
    if choices.one_in(8) {
        return typed(&String::from_utf8_lossy(output));
    }
    let (name, command) = choices.pick(&commands::COMMANDS);
    let limits = Limits::new()
        .with_held(choices.pick(&[4 << 20, 3000, 0]))
        .with_line(64 << choices.below(11));
    let exit_code = choices.pick(&[None, Some(0), Some(1)]);
    let quiet = !choices.one_in(4);
    let subject = commands::Subject {
        registry: &BUILTIN,
        limits: &limits,
        command,
        exit_code,
        quiet,
        full_output: "full.log",
        cap: tamis_command::OutputCap::new(),
        output,
    };
    let (out, report) = outputs(choices, subject);
    assert!(report.filter.as_deref().is_none_or(|filter| filter == name), "{report:?}");
    // A long output has left before it is known whether there is something to say.
    if quiet || output.len() <= 4 << 10 {
        // Marks come on top.
        let marks = out.windows(2).filter(|two| two == b"| ").count();
        let marks = if report.lines_marked > 0 { 2 * marks } else { 0 };
        let most = if moves(output) { FRAMES * output.len() } else { output.len() };
        assert!(out.len() <= most + marks, "{name}: {}", output.escape_ascii());
    }
}

/// Whether a text may move the cursor of a terminal.
fn moves(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.chars().any(|char| matches!(char, '\u{fffd}') || char.is_control() && char != '\n')
}

fn outputs(
    choices: &mut Choose<'_>,
    subject: commands::Subject<'_>,
) -> (Vec<u8>, tamis_command::CommandReport) {
    let whole = subject.push([]);
    let cuts = choices.cuts(subject.output.len());
    let about = || format!("{}: {}", subject.command, subject.output.escape_ascii());
    assert_eq!(subject.push(cuts.clone()), whole, "cuts at {cuts:?}: {}", about());
    let bytes = choices.byte_by_byte(subject.output.len());
    assert_eq!(subject.push(bytes.clone()), whole, "byte by byte at {bytes:?}: {}", about());
    let (out, report) = &whole;
    assert_eq!(report.bytes_in, subject.output.len() as u64, "{}", about());
    assert_eq!(report.bytes_out, out.len() as u64, "{}", about());
    assert!(report.changed || out == subject.output, "{}", about());
    whole
}

/// A command line: what it is understood as has no more to it.
fn typed(text: &str) {
    let line = CommandLine::parse(text);
    _ = BUILTIN.filter_for(&line);
    assert_eq!(line.typed(), text);
    if let Some(command) = line.command() {
        let again = CommandLine::parse(command);
        assert!(again.command().is_none_or(|again| again.len() <= command.len()), "{text:?}");
    }
    _ = CommandLine::from_args(text.split(' '));
}
