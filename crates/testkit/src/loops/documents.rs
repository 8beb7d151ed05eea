//! Documents of members and elements that the loops handle, with anything between them that the loops must leave to the walk.

use super::Focus;
use crate::prng::Choices;

/// A length of long keys, if the limit is the default: longer than any table of names, shorter than a window.
pub const LONG_KEY: usize = 300;
/// The length of a window of the scanner.
const WINDOW: usize = 4096;
/// The approximate maximum length of a document.
const LONGEST: usize = 14 << 10;

/// Names that specs and documents share: of all lengths around eight bytes, with the same beginnings, of digits, not in ASCII.
pub const NAMES: [&str; 20] = [
    "a",
    "b",
    "c",
    "id",
    "name",
    "items",
    "data",
    "abcdefg",
    "abcdefgh",
    "abcdefghi",
    "abcdefgX",
    "abcdefg_i",
    "0",
    "1",
    "12",
    "é",
    "日本語",
    "",
    "a_long_name_of_more_than_sixteen_bytes",
    "zz",
];

const SCALARS: [&str; 34] = [
    "1",
    "0",
    "-0",
    "12345678",
    "123456789",
    "-12",
    "1.10",
    "0.0",
    "-1234567.12345678",
    "1234567890123456",
    "12345678901234567",
    "12345678901234567890123",
    "1e5",
    "1E400",
    "0.5e-7",
    "-1.5E+10",
    "null",
    "null",
    "null",
    "true",
    "false",
    r#""""#,
    r#""""#,
    r#""x""#,
    r#""null""#,
    r#""a:b""#,
    r#"",""#,
    r#""}]""#,
    r#""[{,\"""#,
    r#""\\""#,
    r#""\u0061\n""#,
    r#""é😀""#,
    r#""日本語""#,
    r#""a somewhat longer text, with no escape at all, of more than one block of the scanner""#,
];

/// Invalid values.
const BAD: [&str; 26] = [
    "nul",
    "nulll",
    "tru",
    "truefalse",
    "True",
    "01",
    "-",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "1.2.3",
    "0x1",
    "1 2",
    "'a'",
    "",
    ",",
    ":",
    "\"a",
    "\"\\x\"",
    "\"\\u00g0\"",
    "\"\n\"",
    "\"a\"b",
    "{]",
];

/// Bytes that matter to the scanner or the grammar.
const BYTES: &[u8] = b"\"\"\\,,::{}[] \t\n\rnt019-+.e/\0\x1f\x7f\xc3\xa9\xff";

/// The places of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Compact,
    Pretty,
    AfterColons,
    BeforeCommas,
    BeforeColons,
    Anywhere,
    /// None, except in a few places.
    Rare,
}

/// A place between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    BeforeKey,
    BeforeColon,
    AfterColon,
    /// After a value, before a comma or a closing bracket.
    AfterValue,
}

/// Generates a document. One in three has errors.
pub fn document(choices: &mut impl Choices, focus: Focus, key_limit: usize) -> Vec<u8> {
    let mut document = valid(choices, focus, key_limit);
    if choices.one_in(3) {
        for _ in 0..1 + choices.below(2) {
            damage(choices, &mut document);
        }
    }
    document
}

/// Generates a small document, for cuts at every byte.
pub fn small_document(choices: &mut impl Choices, focus: Focus, key_limit: usize) -> Vec<u8> {
    let mut writer = Writer::new(choices, focus, key_limit, 14);
    writer.begin(choices);
    let mut document = writer.out;
    if choices.one_in(3) {
        damage(choices, &mut document);
    }
    document
}

/// Generates a document that is valid, unless it contains one of the invalid values.
fn valid(choices: &mut impl Choices, focus: Focus, key_limit: usize) -> Vec<u8> {
    let budget = choices.pick(&[12, 12, 40, 40, 40, 100, 400]);
    let mut writer = Writer::new(choices, focus, key_limit, budget);
    writer.begin(choices);
    writer.out
}

/// Flips, drops, inserts or repeats bytes, or cuts the document off.
pub fn damage(choices: &mut impl Choices, document: &mut Vec<u8>) {
    if document.is_empty() {
        return;
    }
    let mut at = choices.below(document.len());
    if choices.one_in(2) {
        // Errors in tokens are rarer than errors in strings, and matter more.
        let token = |byte: &u8| b"\"{}[],:".contains(byte);
        at = document[at..].iter().position(token).map_or(at, |from| at + from);
    }
    let byte = choices.pick(BYTES);
    match choices.below(7) {
        0 => document[at] = byte,
        1 => document[at] ^= 1 << choices.below(8),
        2 => document.insert(at, byte),
        3 => _ = document.remove(at),
        4 => {
            let end = document.len().min(at + 1 + choices.below(40));
            let part = document[at..end].to_vec();
            document.splice(at..at, part);
        }
        5 => {
            let end = document.len().min(at + 1 + choices.below(40));
            document.drain(at..end);
        }
        _ => document.truncate(at),
    }
}

struct Writer {
    out: Vec<u8>,
    layout: Layout,
    /// One of this many keys and strings has an escape; 0 for none.
    escapes: usize,
    /// One of this many values is invalid; 0 for none.
    bad: usize,
    /// One of this many values is a container; the others are scalars.
    containers: usize,
    key_limit: usize,
    /// The number of values that may still be written.
    budget: usize,
    /// The name of every first member, so that objects are alike.
    first: usize,
    focus: Focus,
}

impl Writer {
    fn new(choices: &mut impl Choices, focus: Focus, key_limit: usize, budget: usize) -> Self {
        let layout = choices.pick(&[
            Layout::Compact,
            Layout::Compact,
            Layout::Compact,
            Layout::Pretty,
            Layout::AfterColons,
            Layout::BeforeCommas,
            Layout::BeforeColons,
            Layout::Anywhere,
            Layout::Rare,
        ]);
        Self {
            out: Vec::new(),
            layout,
            escapes: choices.pick(&[0, 0, 0, 30, 6]),
            bad: choices.pick(&[0, 0, 0, 0, 30, 150]),
            containers: choices.pick(&[20, 6, 3, 100]),
            key_limit,
            budget,
            first: choices.below(NAMES.len()),
            focus,
        }
    }

    /// Writes the document.
    fn begin(&mut self, choices: &mut impl Choices) {
        self.gap(choices, Gap::BeforeKey);
        match choices.below(8) {
            0..=2 => self.list(choices),
            3 | 4 => {
                self.put("{");
                if choices.one_in(2) {
                    // Moves the rest to a random place before the end of a window.
                    let length = choices.pick(&[0, WINDOW, 2 * WINDOW]);
                    let length = length.saturating_sub(choices.below(160));
                    self.put("\"pad\":\"");
                    self.put(&"x".repeat(length));
                    self.put("\",");
                }
                self.key(choices, "items");
                self.list(choices);
                self.put(",");
                self.members(choices, 1, 3);
                self.close(choices, "}");
            }
            5 => self.object(choices, 0),
            6 => self.array(choices, 0),
            _ => {
                let depth = choices.pick(&[3, 30, 62, 63, 64, 65, 70, 129]);
                self.nest(choices, depth);
            }
        }
        self.gap(choices, Gap::AfterValue);
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn gap(&mut self, choices: &mut impl Choices, gap: Gap) {
        const WHITE: [&str; 6] = [" ", "  ", "\t", "\n", "\r\n", "\n    "];
        let white = match (self.layout, gap) {
            (Layout::Pretty, Gap::BeforeKey) => choices.pick(&["\n  ", "\n    ", "\n"]),
            (Layout::Pretty | Layout::AfterColons, Gap::AfterColon) => " ",
            (Layout::BeforeCommas, Gap::AfterValue) | (Layout::BeforeColons, Gap::BeforeColon)
                if choices.one_in(4) =>
            {
                choices.pick(&WHITE)
            }
            (Layout::Anywhere, _) if choices.one_in(2) => choices.pick(&WHITE),
            (Layout::Rare, _) if choices.one_in(60) => choices.pick(&WHITE),
            _ => "",
        };
        self.put(white);
    }

    fn close(&mut self, choices: &mut impl Choices, bracket: &str) {
        self.gap(choices, Gap::AfterValue);
        if self.layout == Layout::Pretty {
            self.put("\n");
        }
        self.put(bracket);
    }

    /// Writes a key with this name, or a rarer one, and its colon.
    fn key(&mut self, choices: &mut impl Choices, name: &str) {
        self.put("\"");
        match choices.below(60) {
            1 => {
                // Around the limit.
                let length = (self.key_limit + choices.below(4)).saturating_sub(2);
                let letter = choices.pick(&["k", "é"]);
                self.put(&letter.repeat(length / letter.len()));
            }
            2 => self.put(&format!("other_{}", choices.below(40))),
            _ if self.escapes > 0 && choices.one_in(self.escapes) => {
                let escaped: String =
                    name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                let with = choices.pick(&["", "", "\\n", "\\ud800"]);
                self.put(&escaped);
                self.put(with);
            }
            _ => self.put(name),
        }
        self.put("\"");
        self.gap(choices, Gap::BeforeColon);
        self.put(":");
        self.gap(choices, Gap::AfterColon);
    }

    fn value(&mut self, choices: &mut impl Choices, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        if self.bad > 0 && choices.one_in(self.bad) {
            return self.put(choices.pick(&BAD));
        }
        let container = self.budget > 0 && depth < 9 && choices.one_in(self.containers);
        match choices.below(8) {
            0..=4 if container => self.object(choices, depth),
            5 if container => {
                self.put(choices.pick(&["{}", "[]", "{ }", "[\n]", "[[]]", "{\"a\":{}}"]))
            }
            _ if container => self.array(choices, depth),
            0 => self.number(choices),
            1 => {
                let letters = choices.pick(&["x", "é", "日", "ab "]);
                let length = choices.below(90);
                self.put("\"");
                self.put(&letters.repeat(length));
                self.put("\"");
            }
            _ => {
                let mut scalar = choices.pick(&SCALARS);
                if self.escapes == 0 && scalar.contains('\\') {
                    scalar = "0";
                }
                self.put(scalar);
            }
        }
    }

    /// Writes a number of any form.
    fn number(&mut self, choices: &mut impl Choices) {
        self.put(choices.pick(&["", "", "-"]));
        let digits = |choices: &mut _, most: usize| -> String {
            let count = 1 + Choices::below(choices, most);
            (0..count).map(|_| Choices::pick(choices, &['1', '0', '5', '9'])).collect()
        };
        if choices.one_in(5) {
            self.put("0");
        } else {
            self.put("7");
            let more = digits(choices, 19);
            self.put(&more);
        }
        if choices.one_in(3) {
            let fraction = digits(choices, 18);
            self.put(".");
            self.put(&fraction);
        }
        if choices.one_in(8) {
            self.put(choices.pick(&["e", "E", "e+", "E-"]));
            let exponent = digits(choices, 3);
            self.put(&exponent);
        }
    }

    /// Writes `count` members with the commas between them, without brackets.
    fn members(&mut self, choices: &mut impl Choices, depth: usize, count: usize) {
        for number in 0..count {
            if number > 0 {
                self.gap(choices, Gap::AfterValue);
                self.put(",");
            }
            self.gap(choices, Gap::BeforeKey);
            // Some are duplicates.
            let mut name = NAMES[(self.first + number) % NAMES.len()];
            if choices.one_in(3) {
                name = self.focus.name(choices);
            }
            self.key(choices, name);
            if depth < 4 && choices.one_in(20) {
                // Objects in arrays, which rules reach through indices and names.
                let most = 1 + choices.below(4);
                self.items(choices, depth + 1, most);
            } else {
                self.value(choices, depth + 1);
            }
        }
    }

    fn object(&mut self, choices: &mut impl Choices, depth: usize) {
        self.put("{");
        let most = choices.pick(&[5, 12, 24]);
        let count = choices.below(most.min(self.budget + 2));
        self.members(choices, depth, count);
        self.close(choices, "}");
    }

    fn array(&mut self, choices: &mut impl Choices, depth: usize) {
        self.put("[");
        let most = choices.pick(&[4, 10, 40]);
        for number in 0..choices.below(most.min(self.budget + 2)) {
            if number > 0 {
                self.gap(choices, Gap::AfterValue);
                self.put(",");
            }
            self.gap(choices, Gap::BeforeKey);
            self.value(choices, depth + 1);
        }
        self.close(choices, "]");
    }

    /// Writes an array of items until the budget is used up.
    fn list(&mut self, choices: &mut impl Choices) {
        self.items(choices, 0, usize::MAX);
    }

    /// Writes an array of items, most of which are objects.
    fn items(&mut self, choices: &mut impl Choices, depth: usize, most: usize) {
        self.put("[");
        let mut number = 0;
        while number < most && self.budget > 0 && self.out.len() < LONGEST {
            if number > 0 {
                self.gap(choices, Gap::AfterValue);
                self.put(",");
            }
            number += 1;
            self.gap(choices, Gap::BeforeKey);
            if choices.one_in(12) {
                self.value(choices, depth + 1);
            } else {
                self.object(choices, depth + 1);
            }
            self.budget = self.budget.saturating_sub(1);
        }
        self.close(choices, "]");
    }

    /// Writes containers inside one another.
    fn nest(&mut self, choices: &mut impl Choices, depth: usize) {
        let kinds = choices.next_u64();
        let mut brackets = Vec::new();
        for level in 0..depth {
            let object = kinds >> (level % 64) & 1 == 0;
            self.put(if object { "{" } else { "[" });
            if choices.one_in(4) {
                self.before(choices, object);
                self.put(",");
            }
            if object {
                let name = self.focus.name(choices);
                self.key(choices, name);
            }
            brackets.push(if object { "}" } else { "]" });
        }
        self.put("1");
        while let Some(bracket) = brackets.pop() {
            if choices.one_in(6) {
                self.put(",");
                self.before(choices, bracket == "}");
            }
            self.close(choices, bracket);
        }
    }

    /// Writes a scalar, with a key in an object.
    fn before(&mut self, choices: &mut impl Choices, object: bool) {
        if object {
            let name = self.focus.name(choices);
            self.key(choices, name);
        }
        self.number(choices);
    }
}
