//! Random documents around a known payload.

use tamis::Spec;
use tamis::spec::Siblings;

use crate::prng::Choices;

/// A document with white space, the rules that locate its payload, and the path of the payload in their output.
pub struct Generated {
    pub document: String,
    pub spec: Spec,
    /// `None`: there is no payload.
    pub way: Option<Vec<String>>,
}

const CHARACTERS: [&str; 22] = [
    "a",
    "b",
    " ",
    "é",
    "€",
    "😀",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0041",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\uD83D\\uDE00",
    "\\ud83d",
    "\\ude00",
    "\\udBff",
    "\\u001f",
    "{",
    "]",
    ",",
    ":",
];

/// The inside of a string.
fn inside(prng: &mut impl Choices) -> String {
    let length = match prng.below(6) {
        0 => 0,
        1 => 8 + prng.below(8),
        2 => prng.below(90),
        _ => prng.below(20),
    };
    let few = prng.one_in(2);
    (0..length).map(|_| if few && !prng.one_in(4) { "x" } else { prng.pick(&CHARACTERS) }).collect()
}

/// Returns a value, which is a scalar at `depth` 0.
fn value(prng: &mut impl Choices, depth: usize) -> String {
    match prng.below(if depth == 0 { 8 } else { 12 }) {
        0..4 => format!("\"{}\"", inside(prng)),
        4 => "null".to_owned(),
        5 => "-1.50E+2".to_owned(),
        6 => "12345678901234567890123".to_owned(),
        7 => "true".to_owned(),
        8 | 9 => array(prng, depth - 1),
        _ => object(prng, depth - 1),
    }
}

/// The number of children of a container: few, or more than some forms of it keep.
fn children(prng: &mut impl Choices) -> usize {
    if prng.one_in(30) { prng.below(140) } else { prng.below(5) }
}

fn array(prng: &mut impl Choices, depth: usize) -> String {
    let elements: Vec<String> = (0..children(prng)).map(|_| value(prng, depth)).collect();
    format!("[{}]", elements.join(" , "))
}

fn key(prng: &mut impl Choices) -> String {
    match prng.below(9) {
        // A string that is long enough to be cut, with all kinds of characters.
        0 => format!("k{}", inside(prng)),
        1 => "summary".to_owned(),
        2 => "_comp\\u0061ct".to_owned(),
        3 => "_original_items".to_owned(),
        4 => {
            prng.pick(&["_omitted", "_omitted3", "_\\u006fmitted12", "_omitted1234567"]).to_owned()
        }
        _ => format!("m{}", prng.below(9)),
    }
}

fn object(prng: &mut impl Choices, depth: usize) -> String {
    let members: Vec<String> = (0..children(prng))
        .map(|_| format!("\"{}\" : {}", key(prng), value(prng, depth)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// Items: objects with the fields that templates use, and other values.
fn items(prng: &mut impl Choices) -> String {
    let count = prng.below(9);
    let elements: Vec<String> = (0..count)
        .map(|_| match prng.below(6) {
            0 => value(prng, 2),
            1 => prng.pick(&["{}", "[]", "\"\"", "0"]).to_owned(),
            2 => object(prng, 2),
            _ => format!("{{ \"id\": {}, \"t\": {} }}", prng.below(2000), value(prng, 1)),
        })
        .collect();
    format!("[ {} ]", elements.join(" , "))
}

/// Siblings of the payload, with or without arrays among them.
fn siblings(prng: &mut impl Choices, arrays: bool) -> Vec<String> {
    let count = prng.below(3);
    (0..count)
        .map(|_| {
            let value = if arrays || prng.one_in(2) { value(prng, 2) } else { value(prng, 0) };
            let value = if !arrays && value.starts_with('[') { "3".to_owned() } else { value };
            format!("\"{}\" : {value}", key(prng))
        })
        .collect()
}

fn around(prng: &mut impl Choices, name: &str, payload: &str, arrays_before: bool) -> String {
    let mut members = siblings(prng, arrays_before);
    members.push(format!("\"{name}\" : {payload}"));
    members.extend(siblings(prng, true));
    format!("{{ {} }}", members.join(" , "))
}

pub fn generate(prng: &mut impl Choices) -> Generated {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let payload = items(prng);
    let (wide, root, way) = match prng.below(9) {
        0 => (payload, None, names(&[])),
        1 => (around(prng, "items", &payload, true), None, names(&["items"])),
        2 => (around(prng, "it\\u0065ms", &payload, true), None, names(&["items"])),
        3 => (around(prng, "data", &payload, true), None, names(&["data"])),
        4 => (around(prng, "list", &payload, false), Some("first"), names(&["list"])),
        5 => {
            let inner = around(prng, "hits", &payload, true);
            (around(prng, "page", &inner, true), Some("page.hits"), names(&["page", "hits"]))
        }
        6 => {
            let outer = format!("[ 1 , {payload} , \"{}\" ]", inside(prng));
            (around(prng, "a", &outer, true), Some("a[1]"), names(&["a", "1"]))
        }
        7 => (object(prng, 3), Some("object"), None),
        _ => (value(prng, 0), None, None),
    };
    let mut spec = Spec::new();
    let mut way: Option<Vec<String>> = way;
    if let Some(root) = root {
        spec = spec.root(root);
    }
    if prng.one_in(4) {
        spec = spec.siblings(Siblings::Drop);
        // Without siblings it is the first element.
        let alone = |step: String| if step == "1" { "0".to_owned() } else { step };
        way = way.map(|way| way.into_iter().map(alone).collect());
    }
    Generated { document: format!(" {wide}\n"), spec, way }
}
