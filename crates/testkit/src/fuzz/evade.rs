//! `evade`: a removed value is in no output and in no error (SPEC §2.4), in every spelling, duplicate, nesting, order
//! and chunking, and also if the document is cut off or invalid.
//!
//! The document is built around its secrets, so that the rules remove every one of them:
//!
//! ```text
//! document ─▶ {noise, "list": [items, in arrays too…], noise, "gone": SECRET, "keep": {noise, "gone": SECRET}}
//! item     ─▶ {noise, "secret": SECRET, "in": {noise, "secret": SECRET} | [{…}, [{…}]], noise}
//! secret   ─▶ "secret" | "🔑", which escapes spell by two
//! ```

use tamis::spec::{
    Budget, Compact, Condition, DuplicateKeys, Encode, OnError, PatchOp, RawJson, Retrieve,
    Siblings, Validation, WhenFallback, Whitespace,
};
use tamis::{CallOptions, Error, FailedRun, Filter, Program, Spec, filter_ndjson};

use super::input::{Choose, Input};
use super::programs;
use crate::drivers::{Run, Subject, same};
use crate::prng::Choices;

/// The text that must not be in the output. No generator derives it from other text, and no cut of a string leaves it
/// readable.
const CANARY: &str = "8675309";

/// The names of members that must not be in the output.
const SECRETS: [&str; 2] = ["secret", "🔑"];

const NOISE: [&str; 13] = [
    "id",
    "a",
    "Secret",
    "secre",
    "secrets",
    "secret ",
    "🔒",
    "gon",
    "gone\u{301}",
    "é",
    "",
    "list2",
    "0",
];
const SCALARS: [&str; 8] =
    ["null", "1", "\"\"", "\"x\"", "[]", "{}", "\"secret\"", "\"{\\\"secret\\\":1}\""];

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
    let mut builder = Builder { bytes: Choose::new(input.rest), out: String::new(), budget: 300 };
    builder.document();
    let mut document = builder.out.into_bytes();
    let choices = &mut input.choices;
    let (rules, mut spec) = spec(choices);
    break_off(choices, &mut spec, &mut document);
    if choices.one_in(6) {
        let otherwise = choices.pick(&[WhenFallback::Drop, WhenFallback::Error]);
        let value: RawJson = choices.pick(&SCALARS).parse().expect("a scalar is JSON");
        let path = choices.pick(&["/id", "/keep/a", "/list/0/id", "/list/1", "/0"]);
        spec = Spec::new().when(Condition::new(path, value), spec).otherwise(otherwise);
    }
    let program = programs::compile(&spec)?;
    let mut options = CallOptions::new();
    if choices.one_in(4) {
        options = options.with_limits(programs::limits(choices));
    }
    if choices.one_in(4) {
        options = options.with_budget(Budget::Bytes(1 + choices.below(400) as u64));
    }
    // Rules that remove also apply to the response of a failed call. If only selected values may leave, such a response
    // is an error.
    options = options.with_is_error(choices.one_in(if rules == "select" { 32 } else { 8 }));
    let cuts = choices.cuts(document.len());
    let subject = Subject { program: &program, options: &options, document: &document };
    let whole = subject.push([]);
    let split = subject.push(cuts.iter().copied());
    same(&format!("cuts at {cuts:?}"), &whole, &split, true)
        .unwrap_or_else(|why| panic!("{why}\n  {spec:?}"));
    let slice = subject.slice();
    let lines = records(&program, &options, &document);
    for run in [&whole, &split, &slice, &lines] {
        let output = run.output.as_deref().unwrap_or_default();
        assert!(!holds(output), "in the output: {}\n  {spec:?}", String::from_utf8_lossy(output));
        let told = format!("{:?} {:?}", run.fault, run.comparable());
        assert!(!told.contains(CANARY), "told: {told}\n  {spec:?}");
    }
    let mut filter = Filter::new(program.with_options(&options), Vec::new());
    let ended = filter.write(&document).and_then(|()| filter.end());
    if let Err(error) = &ended {
        let shown = format!("{error} {error:?} {:?}", error.excerpt());
        assert!(!shown.contains(CANARY), "shown: {shown}\n  {spec:?}");
    }
    stored_forms(&spec, rules, options.is_error(), &document);
    let secret = holds(&document);
    Some(Attempt { rules, secret, ended: ended.is_ok() })
}

/// The form that a gateway would store does not contain a secret either. `all` stores values that are only not selected.
fn stored_forms(spec: &Spec, rules: &str, is_error: bool, document: &[u8]) {
    for retrieve in [Retrieve::All, Retrieve::Cut] {
        if rules == "select" && retrieve == Retrieve::All {
            continue;
        }
        let stored = spec.stored_form(retrieve).expect("few paths");
        let program = Program::compile(&stored).expect("a stored form compiles");
        let options = CallOptions::new().with_is_error(is_error);
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
            for path in ["gone", "keep.gone"] {
                spec = spec.exclude(path);
            }
            for name in SECRETS {
                for path in ["list", "list.in", "keep"] {
                    spec = spec.exclude(format!("{path}.{name}"));
                }
            }
            "exclude"
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
    for name in SECRETS {
        spec = spec.exclude(match choices.below(2) {
            0 => name.to_owned(),
            _ => format!("/{name}"),
        });
        spec = spec.exclude(match choices.below(3) {
            0 => format!("in.{name}"),
            1 => format!("in[\"{name}\"]"),
            _ => format!("*.{name}"),
        });
    }
    spec
}

/// The document as two equal lines: state from the first must not affect the second.
fn records(program: &Program, options: &CallOptions, document: &[u8]) -> Run {
    let mut line = document.to_vec();
    line.iter_mut().filter(|byte| b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
    let lines = [&line[..], b"\n", &line].concat();
    let mut output = Vec::new();
    let bad = |_, error: &Error| {
        let told = format!("{error:?}");
        assert!(!told.contains(CANARY), "told of a line: {told}");
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
    spec
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

/// An optional member: its name, and the function that writes its value.
type Member<'a> = (&'static str, fn(&mut Builder<'a>));

struct Builder<'a> {
    bytes: Choose<'a>,
    out: String,
    /// The number of members that may still be written.
    budget: usize,
}

impl<'a> Builder<'a> {
    fn white(&mut self) {
        if self.bytes.one_in(12) {
            let white = self.bytes.pick(&[" ", "\n", "\t\r", "   "]);
            self.out.push_str(white);
        }
    }

    /// A name in one of its spellings.
    fn key(&mut self, name: &str) {
        self.white();
        self.out.push('"');
        for char in name.chars() {
            let escape = self.bytes.below(12);
            for unit in char.encode_utf16(&mut [0; 2]) {
                match escape {
                    0 | 1 => self.out.push_str(&format!("\\u{unit:04x}")),
                    2 => self.out.push_str(&format!("\\u{unit:04X}")),
                    _ => {}
                }
            }
            if escape > 2 {
                self.out.push(char);
            }
        }
        self.out.push('"');
        self.white();
        self.out.push(':');
        self.white();
    }

    /// Any value that contains a canary.
    fn secret(&mut self) {
        let text = match self.bytes.below(7) {
            0 => format!("\"{CANARY}\""),
            1 => format!("-{CANARY}.5e1"),
            2 => format!("[1,[\"{CANARY}\"],{{\"id\":{CANARY}}}]"),
            3 => format!("{{\"{CANARY}\":1,\"id\":\"{CANARY}\",\"id\":{CANARY}}}"),
            4 => format!("{{\"secret\":{{\"in\":[{CANARY}]}},\"list\":[{CANARY}]}}"),
            5 => format!("\"\\\"{CANARY}\\\\\""),
            _ => format!("\"{}{CANARY}\"", "x".repeat(self.bytes.below(200))),
        };
        // The name of an object's member with a canary would be in the path of an error.
        let text = if text.starts_with("{\"8") { text.replacen(CANARY, "n", 1) } else { text };
        self.out.push_str(&text);
        self.white();
    }

    fn noise(&mut self) {
        let name = self.bytes.pick(&NOISE);
        self.key(name);
        let value = self.bytes.pick(&SCALARS);
        self.out.push_str(value);
        self.white();
    }

    /// An object: noise, and some of these members, in any order and number.
    fn object(&mut self, members: &[Member<'a>]) {
        self.out.push('{');
        self.members(members);
        self.out.push('}');
        self.white();
    }

    fn members(&mut self, members: &[Member<'a>]) {
        let count = self.bytes.below(7);
        for number in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            if number > 0 {
                self.out.push(',');
            }
            if self.bytes.one_in(3) || members.is_empty() {
                self.noise();
            } else {
                let (name, value) = members[self.bytes.below(members.len())];
                self.key(name);
                value(self);
            }
        }
    }

    /// An object, or one in arrays, because names apply to the elements of arrays.
    fn through(&mut self, object: fn(&mut Self)) {
        let levels = self.bytes.below(6).saturating_sub(2);
        for _ in 0..levels {
            let open = self.bytes.pick(&["[", "[1,", "[null,{},"]);
            self.out.push_str(open);
            self.many("0");
        }
        object(self);
        for _ in 0..levels {
            let close = self.bytes.pick(&["]", ",\"x\"]", ",[]]"]);
            self.out.push_str(close);
        }
    }

    /// Elements before others, so that the others have a high index.
    fn many(&mut self, element: &str) {
        if self.bytes.one_in(12) {
            let count = self.bytes.below(70);
            self.out.push_str(&format!("{element},").repeat(count));
        }
    }

    fn inner(&mut self) {
        self.object(&SECRETS.map(|name| -> Member<'a> { (name, Self::secret) }));
    }

    fn item(&mut self) {
        let [one, other] = SECRETS.map(|name| -> Member<'a> { (name, Self::secret) });
        self.object(&[one, other, ("in", |out| out.through(Self::inner))]);
    }

    fn list(&mut self) {
        self.out.push('[');
        for number in 0..self.bytes.below(5) {
            self.out.push_str(if number > 0 { "," } else { "" });
            // Only objects: any other item is an error if only selected values may be written.
            self.many("{}");
            if self.bytes.one_in(20) {
                let scalar = self.bytes.pick(&SCALARS);
                self.out.push_str(scalar);
            } else if self.bytes.one_in(16) {
                self.through(Self::item);
            } else {
                self.item();
            }
        }
        self.out.push(']');
        self.white();
    }

    fn kept(&mut self) {
        let [one, other] = SECRETS.map(|name| -> Member<'a> { (name, Self::secret) });
        self.object(&[("gone", Self::secret), one, other]);
    }

    fn document(&mut self) {
        self.white();
        self.out.push('{');
        self.members(&[("list", Self::list), ("gone", Self::secret), ("keep", Self::kept)]);
        // Without a list most rules fail, and an error hides everything.
        if !self.out.contains("\"list\"") && !self.bytes.one_in(8) {
            let empty = self.out.ends_with('{');
            self.out.push_str(if empty { "" } else { "," });
            self.key("list");
            self.list();
        }
        self.out.push('}');
        self.white();
    }
}
