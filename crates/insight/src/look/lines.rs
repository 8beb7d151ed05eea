//! The lines of a text by their kind: lines that differ only in numbers, paths and names are of one kind.

use std::collections::HashMap;

use super::tree::{LookKind, LookTree, Part, TokenFigures};

/// Kinds after this many are summed as one.
const MOST_KINDS: usize = 1000;
/// Bytes of a line that are examined.
const LONGEST: usize = 512;
/// Last words of lines that name a result.
const RESULTS: [&str; 12] = [
    "ok", "FAILED", "failed", "ignored", "PASSED", "passed", "SKIPPED", "skipped", "PASS", "FAIL",
    "error", "done",
];

/// Counts the lines of a text by their kind, while its bytes arrive.
///
/// The kind of a line is its first word, with numbers and paths replaced, and its last word if that names a result:
/// `test a::b ... ok` is of the kind `test … ok`. Escape sequences of terminals are skipped. Use one for the output of a
/// command and one for what its filter leaves of it. Memory: 1,000 kinds.
///
/// ```
/// use tamis_insight::look::LineLook;
///
/// let mut look = LineLook::new();
/// look.write(b"   Compiling serde v1.0.219\n   Compiling itoa v1.0.15\ntest tests::adds ... ok\n");
/// let tree = look.into_tree();
/// let kinds: Vec<_> = tree.nodes().map(|node| (node.path(), node.count())).collect();
/// assert_eq!(kinds, [("".into(), 3), ("Compiling …".into(), 2), ("test … ok".into(), 1)]);
/// assert_eq!(tree.bytes(), 78);
/// ```
#[derive(Debug, Default)]
pub struct LineLook {
    kinds: Vec<Part>,
    by_name: HashMap<String, usize>,
    /// The beginning of the open line, and its length.
    line: Vec<u8>,
    length: u64,
    lines: u64,
}

impl LineLook {
    /// Creates a run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the text.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at + 1);
            self.add(line);
            self.end_line();
            bytes = rest;
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len()).min(bytes.len());
        self.line.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.length += bytes.len() as u64;
    }

    fn end_line(&mut self) {
        let name = kind(&String::from_utf8_lossy(&self.line));
        self.line.clear();
        self.lines += 1;
        let name = match self.by_name.len() < MOST_KINDS || self.by_name.contains_key(&name) {
            true => name,
            false => "*".to_owned(),
        };
        let next = self.kinds.len();
        let at = *self.by_name.entry(name.clone()).or_insert(next);
        if at == next {
            self.kinds.push(Part { step: name, ..Part::default() });
        }
        if let Some(kind) = self.kinds.get_mut(at) {
            kind.count += 1;
            kind.bytes += std::mem::take(&mut self.length);
        }
    }

    /// Ends the text and returns the figures of its kinds of lines.
    #[must_use]
    pub fn into_tree(mut self) -> LookTree {
        if self.length > 0 {
            self.end_line();
        }
        let mut parts = vec![Part { count: self.lines, ..Part::default() }];
        parts.append(&mut self.kinds);
        LookTree::new(LookKind::Lines, TokenFigures::Estimated, parts)
    }
}

/// Returns the kind of a line.
fn kind(line: &str) -> String {
    let plain = without_escapes(line);
    let mut words = plain.split_whitespace();
    let Some(first) = words.next() else { return "(blank)".to_owned() };
    let last = words.next_back();
    let mut kind = word(first);
    if last.is_some() {
        kind.push_str(" …");
    }
    if let Some(result) = last.filter(|last| RESULTS.contains(last)) {
        kind.push(' ');
        kind.push_str(result);
    }
    kind
}

/// Returns a word with its numbers and its path replaced.
fn word(text: &str) -> String {
    // A sign of a diff, which the first word of the line follows.
    if let Some(sign @ ('+' | '-')) = text.chars().next()
        && text.chars().nth(1).is_some_and(char::is_alphanumeric)
    {
        return format!("{sign}…");
    }
    if text.contains(['/', '\\']) {
        return "(path)".to_owned();
    }
    let mut kept = String::new();
    let mut number = false;
    for char in text.chars().take(32) {
        let digit = char.is_ascii_digit();
        if digit && !number {
            kept.push('0');
        } else if !digit && !char.is_control() {
            kept.push(char);
        }
        number = digit;
    }
    kept
}

/// Removes the escape sequences of terminals: those that begin with `ESC [`.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split("\u{1b}[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|char: char| ('@'..='~').contains(&char));
        let rest = end.and_then(|end| piece.get(end + 1..));
        plain.push_str(rest.unwrap_or_default());
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{LineLook, MOST_KINDS, kind};

    #[test]
    fn kinds_of_lines() {
        for (line, expected) in [
            ("", "(blank)"),
            ("   \t\r\n", "(blank)"),
            ("test a::b ... ok\n", "test … ok"),
            ("test c ... FAILED", "test … FAILED"),
            ("\u{1b}[32m   Compiling\u{1b}[0m serde v1", "Compiling …"),
            ("src/main.rs:2:9 warning", "(path) …"),
            ("12345 bytes", "0 …"),
            ("error[E0308]: mismatched types", "error[E0]: …"),
            ("+let x = 1;", "+… …"),
            ("-", "-"),
            ("commit 1f2e3d", "commit …"),
            ("\u{1b}[", "(blank)"),
        ] {
            assert_eq!(kind(line), expected, "{line:?}");
        }
    }

    #[test]
    fn kinds_are_bounded_and_sums_are_exact() {
        let text: String = (0..5000)
            .map(|n| {
                let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
                format!("{}{}{} x\n", letter(n), letter(n / 26), letter(n / 676))
            })
            .collect();
        let whole = |chunk: usize| {
            let mut look = LineLook::new();
            text.as_bytes().chunks(chunk).for_each(|chunk| look.write(chunk));
            look.into_tree()
        };
        let tree = whole(text.len());
        assert_eq!((tree.bytes(), tree.nodes().len()), (text.len() as u64, MOST_KINDS + 2));
        assert_eq!(tree.node(0).unwrap().count(), 5000);
        for chunk in [1, 7, 1000] {
            assert_eq!(whole(chunk), tree);
        }
        let mut look = LineLook::new();
        look.write(&b"x".repeat(1 << 20));
        assert_eq!(look.into_tree().bytes(), 1 << 20);
    }
}
