//! TOON, as version 4.4 of the npm package `@toon-format/toon` writes it.
//!
//! ```text
//! {"a":1,"tags":["x","y"],"rows":[{"id":1,"o":{"n":"p"}},{"id":2,"o":{"n":"q"}}]}
//!
//! a: 1
//! tags[2]: x,y
//! rows[2]{id,o{n}}:
//!   1,p
//!   2,q
//! ```
//!
//! Members keep their order, also those whose names are integers.

use std::fmt::Write as _;

use tamis_text::notice;

use super::document::{Content, Document, DocumentValue, ValueId};
use super::number;
use super::table::{self, HeaderPart, Table};
use crate::report::EncodeSkip;

/// The text may be this many times as long as the document, in addition to [`SMALL`].
const GROWTH: usize = 8;
/// Texts of up to this many bytes may be longer.
const SMALL: usize = 4 << 20;

/// Encodes a valid JSON text.
pub(crate) fn encode(text: &[u8]) -> Result<String, EncodeSkip> {
    let document = Document::parse(text, spelling)?;
    let mut encoder = ToonEncoder { document: &document, text: String::new(), work: Vec::new() };
    encoder.root();
    // Indentation grows with the depth, so the text of a deep document may grow with the square of its length.
    let most = text.len().saturating_mul(GROWTH).saturating_add(SMALL);
    while let Some(work) = encoder.work.pop() {
        encoder.step(work);
        if encoder.text.len() > most {
            return Err(EncodeSkip::Size);
        }
    }
    Ok(encoder.text)
}

/// Returns the spelling of a number, if it changes.
fn spelling(number: &str) -> Result<Option<String>, EncodeSkip> {
    let written = number::written(number.to_owned())?;
    Ok((written != number).then_some(written))
}

struct ToonEncoder<'a> {
    document: &'a Document<'a>,
    text: String,
    work: Vec<Work<'a>>,
}

/// Values that are still to be written.
#[derive(Clone, Copy)]
enum Work<'a> {
    Members(&'a [ValueId], usize),
    Items(&'a [ValueId], usize),
}

impl<'a> ToonEncoder<'a> {
    fn root(&mut self) {
        let Some(value) = self.document.get(0) else { return };
        match value.content {
            Content::Text(string)
                if string.starts_with('\u{feff}')
                    || notice::looks_like_one(string.as_bytes(), true) =>
            {
                quote(string, &mut self.text)
            }
            Content::Literal(_) | Content::Text(_) => self.scalar(value),
            Content::Array([]) => self.text.push_str("[]"),
            Content::Array(items) => self.array(items, 1, true),
            Content::Object(members) => match self.keyed_table(members) {
                Some(table) => self.keyed_rows(members, &table, 1),
                None => self.work.push(Work::Members(members, 0)),
            },
        }
    }

    fn step(&mut self, work: Work<'a>) {
        match work {
            Work::Members([first, rest @ ..], depth) => {
                self.work.push(Work::Members(rest, depth));
                self.line(depth);
                self.member(*first, depth + 1);
            }
            Work::Items([first, rest @ ..], depth) => {
                self.work.push(Work::Items(rest, depth));
                self.line(depth);
                self.item(*first, depth);
            }
            Work::Members([], _) | Work::Items([], _) => {}
        }
    }

    /// Begins a line.
    fn line(&mut self, depth: usize) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        for _ in 0..depth {
            self.text.push_str("  ");
        }
    }

    /// Writes the name and the value of a member. Lines below it have the depth `below`.
    fn member(&mut self, id: ValueId, below: usize) {
        let Some(value) = self.document.get(id) else { return };
        key(value.name, &mut self.text);
        match value.content {
            Content::Literal(_) | Content::Text(_) => {
                self.text.push_str(": ");
                self.scalar(value);
            }
            Content::Array([]) => self.text.push_str(": []"),
            Content::Array(items) => self.array(items, below, true),
            Content::Object(members) => match self.keyed_table(members) {
                Some(table) => self.keyed_rows(members, &table, below),
                None => {
                    self.text.push(':');
                    self.work.push(Work::Members(members, below));
                }
            },
        }
    }

    /// Writes an item of a list. Its line has the depth `depth`.
    fn item(&mut self, id: ValueId, depth: usize) {
        let Some(value) = self.document.get(id) else { return };
        match value.content {
            Content::Literal(_) | Content::Text(_) => {
                self.text.push_str("- ");
                self.scalar(value);
            }
            Content::Array(items) => {
                self.text.push_str("- ");
                self.array(items, depth + 1, false);
            }
            Content::Object(members) => {
                self.text.push('-');
                if let [first, rest @ ..] = members {
                    self.text.push(' ');
                    self.work.push(Work::Members(rest, depth + 1));
                    self.member(*first, depth + 2);
                }
            }
        }
    }

    /// Writes an array after its name.
    fn array(&mut self, items: &'a [ValueId], below: usize, as_table: bool) {
        let _ = write!(self.text, "[{}]", items.len());
        if items.iter().all(|item| self.document.is_scalar(*item)) {
            self.text.push(':');
            for (at, item) in items.iter().enumerate() {
                self.text.push(if at == 0 { ' ' } else { ',' });
                self.cell(*item);
            }
            return;
        }
        let table = as_table.then(|| table::of_rows(self.document, items)).flatten();
        let Some(table) = table else {
            self.text.push(':');
            self.work.push(Work::Items(items, below));
            return;
        };
        self.header(&table);
        for row in 0..items.len() {
            self.line(below);
            self.row(&table, row);
        }
    }

    /// Returns the table of an object whose members are objects with the same names.
    fn keyed_table(&self, members: &[ValueId]) -> Option<Table> {
        (members.len() >= 2).then(|| table::of_rows(self.document, members)).flatten()
    }

    fn keyed_rows(&mut self, members: &[ValueId], table: &Table, below: usize) {
        let _ = write!(self.text, "[{}:]", members.len());
        self.header(table);
        for (at, member) in members.iter().enumerate() {
            self.line(below);
            key(self.document.name(*member), &mut self.text);
            self.text.push_str(": ");
            self.row(table, at);
        }
    }

    fn header(&mut self, table: &Table) {
        self.text.push('{');
        let mut is_first = true;
        for part in &table.header {
            match part {
                HeaderPart::Name(id) => {
                    if !is_first {
                        self.text.push(',');
                    }
                    key(self.document.name(*id), &mut self.text);
                    is_first = false;
                }
                HeaderPart::Open => {
                    self.text.push('{');
                    is_first = true;
                }
                HeaderPart::Close => {
                    self.text.push('}');
                    is_first = false;
                }
            }
        }
        self.text.push_str("}:");
    }

    fn row(&mut self, table: &Table, row: usize) {
        for (at, column) in table.columns.iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            if let Some(cell) = column.get(row) {
                self.cell(*cell);
            }
        }
    }

    fn cell(&mut self, id: ValueId) {
        if let Some(value) = self.document.get(id) {
            self.scalar(value);
        }
    }

    fn scalar(&mut self, value: DocumentValue<'_>) {
        match value.content {
            Content::Literal(literal) => self.text.push_str(literal),
            Content::Text(string) if needs_quotes(string) => quote(string, &mut self.text),
            Content::Text(string) => self.text.push_str(string),
            Content::Array(_) | Content::Object(_) => {}
        }
    }
}

fn key(name: &str, text: &mut String) {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if is_plain { text.push_str(name) } else { quote(name, text) }
}

fn needs_quotes(string: &str) -> bool {
    let is_special = |byte: u8| {
        byte < b' ' || matches!(byte, b':' | b'"' | b'\\' | b'[' | b']' | b'{' | b'}' | b',')
    };
    string.is_empty()
        || string.starts_with([' ', '-', '#'])
        || string.ends_with(' ')
        || matches!(string, "true" | "false" | "null")
        || is_like_number(string)
        || string.bytes().any(is_special)
}

/// Whether a reader may take a text for a number: `+1`, `007`, `1.5e3`.
fn is_like_number(string: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    let parse = || {
        let mut rest = digits(string.strip_prefix(['+', '-']).unwrap_or(string))?;
        if let Some(fraction) = rest.strip_prefix('.') {
            rest = digits(fraction)?;
        }
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            rest = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))?;
        }
        rest.is_empty().then_some(())
    };
    parse().is_some()
}

fn quote(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\u{1f}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}
