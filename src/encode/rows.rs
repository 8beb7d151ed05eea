//! Tables of scalars: CSV (RFC 4180) and tables of GitHub Flavored Markdown.
//!
//! ```text
//! [{"id":1,"name":"a,b"},{"id":2,"on":true}]
//!
//! id,name,on        | id | name | on |
//! 1,"a,b",          | --- | --- | --- |
//! 2,,true           | 1 | a,b |  |
//!                   | 2 |  | true |
//! ```
//!
//! The columns are in the order in which their names first occur. Numbers keep their spelling.

use std::collections::HashMap;

use tamis_text::notice;

use super::document::{Content, Document, ValueId};
use crate::report::EncodeSkip;

/// Encodes rows as CSV. Lines end with a line feed, except for the last one.
pub(super) fn csv(text: &[u8], depth: usize) -> Result<String, EncodeSkip> {
    let document = Document::parse(text, |_| Ok(None))?;
    let rows = Rows::new(&document, depth)?;
    let mut out = String::new();
    for line in rows.lines() {
        if !out.is_empty() {
            out.push('\n');
        }
        // A line with one empty cell would be an empty line, which readers skip.
        if line.len() == 1 && line.first().is_some_and(|cell| cell.is_empty()) {
            out.push_str("\"\"");
        }
        for (at, cell) in line.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            csv_cell(cell, &mut out);
        }
    }
    Ok(out)
}

/// Encodes rows as a Markdown table.
pub(super) fn markdown(text: &[u8], depth: usize) -> Result<String, EncodeSkip> {
    let document = Document::parse(text, |_| Ok(None))?;
    let rows = Rows::new(&document, depth)?;
    let mut out = String::new();
    for (number, line) in rows.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        out.push('|');
        for cell in &line {
            out.push(' ');
            markdown_cell(cell, &mut out);
            out.push_str(" |");
        }
        if number == 0 {
            out.push_str("\n|");
            out.push_str(&" --- |".repeat(line.len()));
        }
    }
    Ok(out)
}

/// The rows of a payload.
struct Rows<'a> {
    document: &'a Document<'a>,
    rows: &'a [ValueId],
    names: Vec<&'a str>,
    columns: HashMap<&'a str, usize>,
}

impl<'a> Rows<'a> {
    fn new(document: &'a Document<'a>, depth: usize) -> Result<Self, EncodeSkip> {
        let rows = payload(document, depth)?;
        let (mut names, mut columns) = (Vec::new(), HashMap::new());
        let mut cells = rows.len();
        for row in rows {
            for member in document.members(*row).ok_or(EncodeSkip::NotRows)? {
                if !document.is_scalar(*member) {
                    return Err(EncodeSkip::NotRows);
                }
                let name = document.name(*member);
                columns.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() - 1
                });
            }
            cells = cells.max(names.len().saturating_mul(rows.len()));
        }
        if names.is_empty() {
            return Err(EncodeSkip::Empty);
        }
        if names.len() > MOST_COLUMNS {
            return Err(EncodeSkip::Size);
        }
        // Refuses tables in which most cells would be empty: their size would grow with the square of the document's.
        if cells > MOST_CELLS.max(document.len().saturating_mul(SPARSE)) {
            return Err(EncodeSkip::Sparse);
        }
        Ok(Self { document, rows, names, columns })
    }

    /// Returns the cells of the header, then those of each row.
    fn lines(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let rows = self.rows.iter().map(|row| {
            let mut line = vec![""; self.names.len()];
            for member in self.document.members(*row).unwrap_or_default() {
                let column = self.columns.get(self.document.name(*member));
                if let Some(cell) = column.and_then(|column| line.get_mut(*column)) {
                    *cell = self.cell(*member);
                }
            }
            line
        });
        std::iter::once(self.names.clone()).chain(rows)
    }

    fn cell(&self, id: ValueId) -> &'a str {
        match self.document.get(id).map(|value| value.content) {
            Some(Content::Literal("null")) => "",
            Some(Content::Literal(text) | Content::Text(text)) => text,
            _ => "",
        }
    }
}

/// The number of columns that spreadsheets read.
const MOST_COLUMNS: usize = 16_384;
/// Tables of up to this many cells are written however empty they are.
const MOST_CELLS: usize = 10_000;
/// The number of cells for each value of larger tables.
const SPARSE: usize = 8;

/// Returns the payload: the array in `depth` containers, each of which has nothing else.
fn payload<'d>(document: &'d Document<'_>, depth: usize) -> Result<&'d [ValueId], EncodeSkip> {
    let mut at: ValueId = 0;
    for level in 0..=depth {
        match document.get(at).map(|value| value.content) {
            Some(Content::Array(rows)) if level == depth => return Ok(rows),
            Some(Content::Array(children) | Content::Object(children)) if level < depth => {
                let [child] = children else { return Err(EncodeSkip::Siblings) };
                at = *child;
            }
            _ => return Err(EncodeSkip::NotAList),
        }
    }
    Err(EncodeSkip::NotAList)
}

/// Writes a cell, in quotes if it has a separator, a quote or a line break, or could be taken for a notice.
fn csv_cell(cell: &str, out: &mut String) {
    let is_special = |char| matches!(char, ',' | '"' | '\n' | '\r');
    let is_trimmed = cell.starts_with([' ', '\t']) || cell.ends_with([' ', '\t']);
    if !cell.contains(is_special) && !is_trimmed && !cell.starts_with(['[', '.']) {
        out.push_str(cell);
        return;
    }
    out.push('"');
    for (number, line) in cell.split('\n').enumerate() {
        if number == 0 {
            out.push_str(&line.replace('"', "\"\""));
            continue;
        }
        out.push('\n');
        let line = notice::marked(line.as_bytes());
        out.push_str(&String::from_utf8_lossy(&line).replace('"', "\"\""));
    }
    out.push('"');
}

/// Writes a cell on one line. A backslash is only escaped where it would escape the character after it.
fn markdown_cell(cell: &str, out: &mut String) {
    let mut chars = cell.trim_matches([' ', '\t']).chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '|' => out.push_str("\\|"),
            '\\' if chars.peek().is_none_or(char::is_ascii_punctuation) => out.push_str("\\\\"),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' => out.push_str("<br>"),
            _ => out.push(char),
        }
    }
}
