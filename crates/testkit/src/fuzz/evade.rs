//! `evade`: a removed value is in no output and in no error (SPEC §2.4), in every spelling, duplicate, nesting, order
//! and chunking, and also if the document is cut off or invalid.
//!
//! The document is built around its secrets, so that the rules remove or replace every one of them:
//!
//! ```text
//! document ─▶ {noise, "list": [items, in arrays too…], noise, "gone": SECRET, "keep": {noise, "gone": SECRET}}
//! item     ─▶ {noise, "secret": SECRET, "in": {noise, "secret": SECRET} | [{…}, [{…}]], noise}
//! secret   ─▶ "secret" | "🔑", which escapes spell by two
//! ```
//!
//! In a part of the attempts, the rules are those of the JSON in strings, and the document is a string of another one. In others,
//! each secret is a credential, which `redact` finds wherever it is.

use tamis::spec::{
    Budget, Compact, Condition, DuplicateKeys, Encode, JsonStringFallback, JsonStrings, OnError,
    PatchOp, RawJson, Redact, Retrieve, Root, Siblings, Validation, WhenFallback, Whitespace,
};
use tamis::{CallOptions, Error, FailedRun, Filter, Program, Spec, filter_ndjson};

use super::input::{Choose, Input};
use super::programs;
use crate::drivers::{Run, Subject, same};
use crate::prng::Choices;

mod document;

use document::Builder;

/// The text that must not be in the output. No generator derives it from other text, and no cut of a string leaves it
/// readable.
const CANARY: &str = "8675309";

/// The names of members that must not be in the output.
const SECRETS: [&str; 2] = ["secret", "🔑"];

const SCALARS: [&str; 8] =
    ["null", "1", "\"\"", "\"x\"", "[]", "{}", "\"secret\"", "\"{\\\"secret\\\":1}\""];

/// How the secrets are hidden.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By rules for their places.
    Plain,
    /// By such rules for the JSON in a string.
    InString,
    /// They are credentials.
    Credentials,
}

/// Facts about an attempt, for the test that inputs are worth their time.
pub struct Attempt {
    /// The rules that hide the secrets.
    pub rules: &'static str,
    /// Whether the document has secrets.
    pub secret: bool,
    /// Whether a filter reached the end without an error.
    pub ended: bool,
}

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    attempt(data);
}

/// Runs the target on an input and returns facts about the attempt. `None` if its rules do not compile.
pub fn attempt(data: &[u8]) -> Option<Attempt> {
    let mut input = Input::new(data);
    let choices = &mut input.choices;
    let form = choices.pick(&[Form::Plain, Form::Plain, Form::InString, Form::Credentials]);
    let mut builder = Builder::new(input.rest, form == Form::Credentials);
    builder.document();
    let keys_hold = builder.keys_hold;
    let has_secret = builder.has_secret;
    let (mut rules, mut spec) =
        if form == Form::Credentials { redacting(choices) } else { spec(choices) };
    // In the stored form `all`, values may be that were only not selected.
    let saves = rules == "select";
    let mut document;
    if form == Form::InString {
        let mut inner = std::mem::take(&mut builder.out);
        if choices.one_in(6) {
            let at = choices.below(inner.len() + 1);
            inner.truncate((0..=at).rev().find(|at| inner.is_char_boundary(*at)).unwrap_or(0));
        }
        builder.around(&inner);
        document = builder.out.into_bytes();
        (rules, spec) = ("json_strings", in_strings(choices, &spec));
    } else {
        document = builder.out.into_bytes();
    }
    break_off(choices, &mut spec, &mut document);
    if choices.one_in(6) {
        let otherwise = choices.pick(&[WhenFallback::Drop, WhenFallback::Error]);
        let value: RawJson = choices.pick(&SCALARS).parse().expect("a scalar is JSON");
        let path = choices.pick(&["/id", "/keep/a", "/list/0/id", "/list/1", "/0"]);
        spec = Spec::new().when(Condition::new(path, value), spec).otherwise(otherwise);
    }
    let program = programs::compile(&spec)?;
    let mut options = crate::call_options();
    if choices.one_in(4) {
        options = options.with_limits(programs::limits(choices));
    }
    if choices.one_in(4) {
        options = options.with_budget(Budget::Bytes(1 + choices.below(400) as u64));
    }
    // Rules that remove also apply to the response of a failed call. If only selected values may leave, such a response
    // is an error.
    options = options.with_is_error(choices.one_in(if saves { 32 } else { 8 }));
    let cuts = choices.cuts(document.len());
    let subject = Subject { program: &program, options: &options, document: &document };
    let whole = subject.push([]);
    let split = subject.push(cuts.iter().copied());
    same(&format!("cuts at {cuts:?}"), &whole, &split, true)
        .unwrap_or_else(|why| panic!("{why}\n  {spec:?}"));
    let slice = subject.slice();
    let lines = records(&program, &options, &document, keys_hold);
    for run in [&whole, &split, &slice, &lines] {
        let output = run.output.as_deref().unwrap_or_default();
        assert!(!holds(output), "in the output: {}\n  {spec:?}", String::from_utf8_lossy(output));
        let messages = format!("{:?} {:?}", run.fault, run.comparable());
        assert!(keys_hold || !messages.contains(CANARY), "told: {messages}\n  {spec:?}");
    }
    let mut filter = Filter::new(program.with_options(&options), Vec::new());
    let ended = filter.write(&document).and_then(|()| filter.end());
    if let Err(error) = &ended {
        let shown = format!("{error} {error:?} {:?}", error.excerpt());
        assert!(keys_hold || !shown.contains(CANARY), "shown: {shown}\n  {spec:?}");
    }
    stored_forms(&spec, saves, options.is_error(), &document);
    // Escapes may spell the canary of the other forms.
    let secret = if form == Form::Plain { holds(&document) } else { has_secret };
    Some(Attempt { rules, secret, ended: ended.is_ok() })
}

/// The form that a gateway would store does not contain a secret either. `all` stores values that are only not selected.
fn stored_forms(spec: &Spec, saves: bool, is_error: bool, document: &[u8]) {
    for retrieve in [Retrieve::All, Retrieve::Cut] {
        if saves && retrieve == Retrieve::All {
            continue;
        }
        let stored = spec.stored_form(retrieve).expect("few paths");
        let program = Program::compile(&stored).expect("a stored form compiles");
        let options = crate::call_options().with_is_error(is_error);
        let mut filter = Filter::new(program.with_options(&options), Vec::new());
        let _ = filter.write(document).and_then(|()| filter.end());
        let output = filter.into_sink();
        assert!(
            !holds(&output),
            "stored as {}: {}\n  {spec:?}",
            retrieve.as_str(),
            String::from_utf8_lossy(&output)
        );
    }
}

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

/// Rules that remove all secrets: rules on items in one form or another, and rules on the document.
fn spec(choices: &mut Choose<'_>) -> (&'static str, Spec) {
    let patch = choices.one_in(3);
    let mut spec = Spec::new();
    if !patch && choices.one_in(2) {
        // Only retained values.
        for pointer in ["/list/id", "/list/in/id", "/keep/id", "/list/a", "/0"] {
            if choices.one_in(2) {
                spec = spec.retain(pointer);
            }
        }
        return ("retain", more(choices, spec.retain("/list/é")));
    }
    if patch {
        // Patches on the document, and rules on items for the rest.
        if choices.one_in(10) {
            // If it fails, nothing is emitted.
            let value: RawJson = choices.pick(&SCALARS).parse().expect("a scalar is JSON");
            let path = choices.pick(&["/id", "/keep/a", "/list/0/id", ""]);
            spec = spec.patch(PatchOp::test(path, value));
        }
        for pointer in ["/gone", "/keep/gone", "/keep/secret", "/keep/🔑"] {
            // `add` replaces a value if there is one, and `replace` fails if there is none.
            spec = spec.patch(match choices.below(12) {
                0 => PatchOp::replace(pointer, RawJson::from("-")),
                1..=3 if pointer == "/gone" => PatchOp::add(pointer, RawJson::from("-")),
                _ => PatchOp::remove(pointer),
            });
        }
        spec = spec.lenient_remove(true).patch(PatchOp::remove("/never"));
        let spec = of_items(choices, spec.root("list"));
        return ("patches", more(choices, spec));
    }
    let rules = match choices.below(3) {
        0 => {
            // The document is the item. Names apply to the elements of arrays.
            spec = spec.root("object");
            let names = SECRETS
                .into_iter()
                .flat_map(|name| ["list", "list.in", "keep"].map(|path| format!("{path}.{name}")));
            let paths = names.chain(["gone", "keep.gone"].map(str::to_owned));
            if choices.one_in(2) {
                spec = spec.redact(paths.fold(Redact::new(), Redact::path));
                "redact"
            } else {
                spec = paths.fold(spec, Spec::exclude);
                "exclude"
            }
        }
        1 => {
            spec = of_items(choices, spec.root("list"));
            spec = spec.retain("/list").retain("/keep/id");
            "exclude of items"
        }
        _ => {
            // A name that is not selected, and one that is selected without its secret.
            spec = spec.root("list").siblings(Siblings::Drop);
            spec = spec.select("id").select("a").select("in").select_as("b", "in.id");
            spec = SECRETS.into_iter().fold(spec, |spec, name| spec.exclude(format!("in.{name}")));
            spec = spec.on_error(OnError::Closed);
            "select"
        }
    };
    (rules, more(choices, spec))
}

/// Rules for items, in one of their forms.
fn of_items(choices: &mut Choose<'_>, mut spec: Spec) -> Spec {
    let mut redact = Redact::new();
    for name in SECRETS {
        let paths = [
            match choices.below(2) {
                0 => name.to_owned(),
                _ => format!("/{name}"),
            },
            match choices.below(3) {
                0 => format!("in.{name}"),
                1 => format!("in[\"{name}\"]"),
                _ => format!("*.{name}"),
            },
        ];
        for path in paths {
            if choices.one_in(4) {
                redact = redact.path(path);
            } else {
                spec = spec.exclude(path);
            }
        }
    }
    if redact == Redact::new() { spec } else { spec.redact(redact) }
}

/// Rules that replace credentials, whatever else they do.
fn redacting(choices: &mut Choose<'_>) -> (&'static str, Spec) {
    let mut spec = Spec::new().redact(Redact::new().secrets(true));
    match choices.below(5) {
        0 => {}
        1 => spec = spec.root(choices.pick(&["object", "list", "first"])),
        2 => spec = spec.select("id").select("in").select("secret").select_as("b", "in.id"),
        3 => spec = spec.retain("/list").retain("/keep/secret"),
        _ => spec = spec.exclude("in.id").exclude("secret.id"),
    }
    ("credentials", more(choices, spec))
}

/// Rules for a document whose members `text`, also in arrays, are documents to which these rules apply.
fn in_strings(choices: &mut Choose<'_>, inner: &Spec) -> Spec {
    let otherwise = choices.pick(&[JsonStringFallback::Error, JsonStringFallback::Drop]);
    let strings = |at| JsonStrings::new(at, inner.clone()).otherwise(otherwise);
    Spec::new()
        .root(Root::from("object"))
        .json_strings(strings("/text"))
        .json_strings(strings("/content/text"))
}

/// The document as two equal lines: state from the first must not affect the second.
fn records(program: &Program, options: &CallOptions, document: &[u8], keys_hold: bool) -> Run {
    let mut line = document.to_vec();
    line.iter_mut().filter(|byte| b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
    let lines = [&line[..], b"\n", &line].concat();
    let mut output = Vec::new();
    let bad = |_, error: &Error| {
        let messages = format!("{error:?}");
        assert!(keys_hold || !messages.contains(CANARY), "told of a line: {messages}");
    };
    let (report, result) = FailedRun::split(filter_ndjson(
        program.with_options(options),
        &lines[..],
        &mut output,
        bad,
    ));
    Run::new(Some(output), result.map(|()| report.clone()), Some(report))
}

/// Adds rules that must not bring a secret back.
fn more(choices: &mut Choose<'_>, mut spec: Spec) -> Spec {
    spec = spec.drop_nulls(choices.one_in(4)).drop_empty(choices.one_in(4));
    if choices.one_in(4) {
        spec = spec.max_items(1 + choices.below(4) as u64).stop_early(choices.one_in(2));
    }
    if choices.one_in(4) {
        spec = spec.validation(Validation::Structure);
    }
    if choices.one_in(6) {
        let all = [DuplicateKeys::First, DuplicateKeys::Count, DuplicateKeys::Reject];
        spec = spec.duplicate_keys(choices.pick(&all));
    }
    if choices.one_in(6) {
        spec = spec.compact(Compact::new("{{.id}} {{.secret}} {{.in}}"));
    } else if choices.one_in(6) {
        spec = spec.encode(choices.pick(&[Encode::Toon, Encode::Csv, Encode::Markdown]));
    }
    if choices.one_in(6) {
        spec = spec.whitespace(Whitespace::Keep);
    }
    spec.factor(choices.below(4) == 1)
}

/// Cuts the document off, or inserts an invalid byte. The bytes after that do not count if everything is validated.
/// (With a trusted sender, a missing bracket moves everything after it to another place.)
fn break_off(choices: &mut Choose<'_>, spec: &mut Spec, document: &mut Vec<u8>) {
    match choices.below(6) {
        // 0 is read after the end of the choices, so it must stand for a common form.
        1 => document.truncate(choices.below(document.len() + 1)),
        2 => {
            *spec = spec.clone().validation(Validation::Full);
            let at = choices.below(document.len());
            if let Some(byte) = document.get_mut(at) {
                *byte = choices.pick(&[0, 1, 0xff, 0xc0]);
            }
        }
        _ => {}
    }
}
