//! `template`: Go templates over items, by themselves and in a `compact`.
//!
//! No panic; what is rendered keeps to the room that is given, is the same again, and leaves the buffer as it was if it
//! fails; an error has a place inside its template; a program with the templates does the same however the document is
//! cut.

use tamis::spec::Compact;
use tamis::template::{TemplateError, TemplateErrorKind, TemplatePart, Templates, Totals};
use tamis::{Limits, Spec};

use super::input::{Choose, Input};
use super::programs;
use crate::drivers::{Subject, same};
use crate::prng::Choices;

/// Templates that are longer take the fuzzer's time: what loops in them may cost is bounded, but not little.
const LONGEST: usize = 600;
/// The previous content of the buffer.
const BEFORE: &[u8] = b"before";

/// The pieces of generated templates.
const PIECES: [&str; 64] = [
    "{{.}}",
    "{{.a}}",
    "{{.a.b}}",
    "{{.Total}}",
    "{{.Original}}",
    "{{.Omitted}}",
    "{{$}}",
    "{{$.a}}",
    "{{range .a}}",
    "{{range $i, $e := .a}}",
    "{{range $k := .}}",
    "{{if .a}}",
    "{{else}}",
    "{{else if .b}}",
    "{{end}}",
    "{{with .a}}",
    "{{break}}",
    "{{continue}}",
    "{{$x := .a}}",
    "{{$x = 1}}",
    "{{$x}}",
    "{{define \"t\"}}",
    "{{template \"t\" .}}",
    "{{block \"u\" .a}}",
    "{{- ",
    " -}}",
    "{{",
    "}}",
    "{{/* c */}}",
    "{{/*",
    "{{len .a}}",
    "{{index .a 0}}",
    "{{index . \"a\"}}",
    "{{slice .a 0 1}}",
    "{{printf \"%v %d %q %s\" .a .b .c .}}",
    "{{printf \"%5.2f|%-9s|%x|%t\" .a .b .c .}}",
    "{{printf \"%999999d\" 1}}",
    "{{printf .a .b}}",
    "{{print .a .b}}",
    "{{println .}}",
    "{{html .a}}",
    "{{js .a}}",
    "{{urlquery .a}}",
    "{{eq .a .b}}",
    "{{ne .a 1}}",
    "{{lt .a 99.5}}",
    "{{ge .a \"x\"}}",
    "{{and .a .b}}",
    "{{or .a 5}}",
    "{{not .a}}",
    "{{.a | printf \"%v\" | len}}",
    "{{(index .a 0).b}}",
    "{{\"s\"}}",
    "{{`r`}}",
    "{{'c'}}",
    "{{0x1p-2}}",
    "{{1_000}}",
    "{{9223372036854775808}}",
    "{{nil}}",
    "{{true}}",
    "text ",
    "\n",
    "é",
    "\u{1f600}",
];
const VALUES: [&str; 24] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1.10",
    "1E400",
    "12345678901234567890123",
    "0.0",
    "1e-7",
    "\"\"",
    "\"x\"",
    "\"<&>\\\"'\"",
    "\"\\ud83d\"",
    "\"é\\u0000\"",
    "[]",
    "{}",
    "[1,2,3]",
    "[null,[],{\"a\":1}]",
    "{\"a\":{\"b\":2},\"b\":\"y\"}",
    "[[[[1]]]]",
    "\"a b\"",
    "-9223372036854775808",
    "18446744073709551616",
];

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (template, item) = sources(&mut input);
    let choices = &mut input.choices;
    let header = choices.one_in(3).then(|| made(choices, 3));
    let footer = choices.one_in(3).then(|| made(choices, 3));
    let parts = [header.as_deref(), Some(template.as_str()), footer.as_deref()];
    let compiled = Templates::compile(parts[0], &template, parts[2]);
    let room = choices.pick(&[0, 1, 20, 1000, 64 << 10]);
    let totals = Totals::new(choices.below(4) as u64, choices.below(9) as u64);
    let found = match &compiled {
        Ok(templates) => {
            rendered(parts, room, |out| templates.header(&totals, room, out));
            rendered(parts, room, |out| templates.item(item.as_bytes(), &totals, room, out));
            rendered(parts, room, |out| templates.footer(&totals, room, out));
            None
        }
        Err(error) => {
            placed(error, parts);
            Some(error.kind())
        }
    };
    let mut compact = Compact::new(&template);
    if let Some(header) = &header {
        compact = compact.header(header);
    }
    if let Some(footer) = &footer {
        compact = compact.footer(footer);
    }
    let spec = Spec::new().max_items(choices.below(4) as u64).compact(compact);
    let program = programs::compile(&spec);
    // A spec also refuses a header or a footer with a name that never has a value.
    let unknown = program.is_none() && (header.is_some() || footer.is_some());
    assert!(program.is_some() == found.is_none() || unknown, "{parts:?}: {found:?}");
    let Some(program) = program else { return };
    let document = format!("[{item},{},{item}]", choices.pick(&VALUES));
    let limits = Limits::new().with_held(choices.pick(&[0, 100, 4 << 20])).with_spill(1 << 20);
    let options = crate::call_options().with_limits(limits);
    let subject = Subject { program: &program, options: &options, document: document.as_bytes() };
    let whole = subject.push([]);
    let cuts = choices.cuts(document.len());
    let split = subject.push(cuts.clone());
    same(&format!("cuts at {cuts:?}"), &whole, &split, true)
        .unwrap_or_else(|why| panic!("{why}\n  {parts:?} on {document}"));
}

/// Returns a template and an item: raw bytes split at a separator, or made of pieces.
fn sources(input: &mut Input<'_>) -> (String, String) {
    if input.choices.one_in(2) {
        let mut choices = Choose::new(input.rest);
        let template = made(&mut choices, 14);
        return (template, object(&mut choices));
    }
    let mut parts = input.rest.splitn(2, |byte| *byte == 0);
    let mut text = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (mut template, mut item) = (text(), text());
    let end = (0..=LONGEST.min(template.len())).rev().find(|end| template.is_char_boundary(*end));
    template.truncate(end.unwrap_or(0));
    if serde_json::from_str::<serde::de::IgnoredAny>(&item).is_err() {
        item = object(&mut input.choices);
    }
    (template, item)
}

fn made(choices: &mut Choose<'_>, most: usize) -> String {
    (0..choices.below(most + 1)).map(|_| choices.pick(&PIECES)).collect()
}

fn object(choices: &mut Choose<'_>) -> String {
    let members: Vec<String> = (0..choices.below(5))
        .map(|_| {
            format!(
                "\"{}\":{}",
                choices.pick(&["a", "b", "c", "Total", "é"]),
                choices.pick(&VALUES)
            )
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Renders twice.
fn rendered(
    parts: [Option<&str>; 3],
    room: usize,
    render: impl Fn(&mut Vec<u8>) -> Result<bool, TemplateError>,
) {
    let (mut one, mut two) = (BEFORE.to_vec(), BEFORE.to_vec());
    let (first, second) = (render(&mut one), render(&mut two));
    assert_eq!((&first, &one), (&second, &two), "{parts:?}");
    assert!(one.starts_with(BEFORE), "{parts:?}");
    match first {
        Ok(any) => {
            assert!(one.len() - BEFORE.len() <= room, "{parts:?}: {} of {room}", one.len());
            assert!(any || one == BEFORE, "{parts:?}");
            assert!(std::str::from_utf8(&one).is_ok(), "{parts:?}");
        }
        Err(error) => {
            assert_eq!(one, BEFORE, "{parts:?}: {error}");
            placed(&error, parts);
        }
    }
}

/// An error is one line, about a template that there is, at a place that it has.
fn placed(error: &TemplateError, parts: [Option<&str>; 3]) {
    assert!(!error.message().is_empty() && !error.to_string().contains('\n'), "{error}");
    let part = match error.part() {
        TemplatePart::Header => parts[0],
        TemplatePart::Item => parts[1],
        TemplatePart::Footer => parts[2],
    };
    let part = part.expect("an error is about a template that there is");
    if let (Some(line), Some(column)) = (error.line(), error.column()) {
        let text = part.split('\n').nth(line - 1);
        let text = text.unwrap_or_else(|| panic!("no such line: {error}: {part:?}"));
        assert!((1..=text.chars().count() + 1).contains(&column), "{error}: {part:?}");
    } else {
        assert_ne!(error.kind(), TemplateErrorKind::Parse, "{error}: {part:?}");
    }
}
