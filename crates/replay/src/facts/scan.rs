//! Finds facts in a text.
//!
//! ```text
//! text ─▶ words: runs without blanks, quotes, brackets, `,` `;` `|` `=` `\` ─▶ url | path | version | number | identifiers
//!      └▶ lines: without blanks at the ends and numbers of lines at the start
//! ```
//!
//! The rules look at one word at a time and take linear time. They are a yardstick, not a grammar: what matters is that the same word in
//! two texts is the same fact.

use super::FactKind;

/// The most bytes of a fact that is a word.
const LONGEST: usize = 256;
/// The least and the most bytes of a fact that is a line.
const LINE: std::ops::RangeInclusive<usize> = 14..=400;
/// The least letters and digits of a line.
const LINE_LETTERS: usize = 8;

/// Endings of names of files. Other words with a dot are expressions more often than files.
const EXTENSIONS: [&str; 64] = [
    "astro", "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "dart", "db",
    "diff", "ex", "exs", "go", "gradle", "h", "hpp", "html", "ini", "ipynb", "java", "jpg", "js",
    "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "mdx", "mjs", "mod", "patch", "pdf",
    "php", "pl", "png", "proto", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql",
    "sum", "svelte", "svg", "swift", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml",
];

/// Returns whether a byte separates words.
const fn separates(byte: u8) -> bool {
    byte <= b' '
        || matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'{'
                | b'}'
                | b'<'
                | b'>'
                | b'|'
                | b','
                | b';'
                | b'\\'
                | b'='
                | 0x7f
        )
}

const SEPARATES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::indexing_slicing,
            reason = "the index is below 256"
        )]
        {
            table[byte] = separates(byte as u8);
        }
        byte += 1;
    }
    table
};

/// Calls `found` with each fact of a text that is a word, or part of one.
pub(crate) fn scan(text: &str, found: &mut dyn FnMut(FactKind, &str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let is_part = |byte: &u8| !SEPARATES.get(usize::from(*byte)).copied().unwrap_or(true);
        let Some(skip) = rest.iter().position(is_part) else { return };
        let start = at + skip;
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        // Separators are ASCII, so both ends are between characters.
        if let Some(word) = text.get(start..start + length) {
            classify(word, found);
        }
        at = start + length;
    }
}

fn classify(word: &str, found: &mut dyn FnMut(FactKind, &str)) {
    let trims = |char: char| matches!(char, '.' | ':' | '!' | '?' | '*' | '#' | '&' | '→' | '…');
    let word = word.trim_matches(trims);
    // The shortest fact has four characters.
    if word.len() < 4 || word.len() > LONGEST {
        if word.len() > LONGEST {
            identifiers(word, found);
        }
        return;
    }
    if let Some(at) = word.find("://") {
        let start = word.get(..at).unwrap_or_default();
        let is_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
        let start = start.trim_end_matches(is_scheme).len();
        if word.len() > at + 6 {
            return found(FactKind::Url, word.get(start..).unwrap_or(word));
        }
    }
    let bytes = word.as_bytes();
    let first = bytes.first().copied().unwrap_or_default();
    let has_slash = bytes.contains(&b'/');
    if has_slash || bytes.contains(&b'.') {
        let path = without_position(word);
        if is_path(path, has_slash) {
            found(FactKind::Path, path);
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.len() < path.len() && is_path(name, false) {
                found(FactKind::Path, name);
            }
            return;
        }
    }
    let second = bytes.get(1).copied().unwrap_or_default();
    if (first.is_ascii_digit() || (first == b'v' && second.is_ascii_digit()))
        && let Some(kind) = numeric(word)
    {
        return found(kind, word);
    }
    identifiers(word, found);
}

/// Returns a path without the line and column after it.
fn without_position(word: &str) -> &str {
    let mut word = word;
    for _ in 0..2 {
        match word.rsplit_once(':') {
            Some((path, number)) if !path.is_empty() && is_number(number) => word = path,
            _ => break,
        }
    }
    // `file.rs:12:text` of a search.
    match word.split_once(':') {
        Some((path, rest)) if rest.starts_with(|char: char| char.is_ascii_digit()) => path,
        _ => word,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_path(word: &str, has_slash: bool) -> bool {
    if word.len() < 4 || !word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or_default();
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let is_name = stem.bytes().any(|byte| byte.is_ascii_alphanumeric());
        is_name && EXTENSIONS.binary_search(&extension).is_ok()
    });
    if has_extension {
        return true;
    }
    has_slash
        && (word.starts_with(['/', '~']) || word.starts_with("./") || word.matches('/').count() > 1)
        && !word.contains("//")
        && word.len() > 4
}

/// Returns the kind of a word that begins like a number.
fn numeric(word: &str) -> Option<FactKind> {
    let plain = word.trim_end_matches('%');
    let digits = plain.bytes().filter(u8::is_ascii_digit).count();
    let dots = plain.bytes().filter(|byte| *byte == b'.').count();
    let rest = plain.strip_prefix('v').unwrap_or(plain);
    if rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        if dots > 1 || (dots > 0 && rest.len() < plain.len()) {
            return Some(FactKind::Version);
        }
        return (digits >= 4).then_some(FactKind::Number);
    }
    // `1.2.3-rc.1`, `2.0.0+build`.
    let head = rest.split(['-', '+']).next().unwrap_or_default();
    let is_version = head.bytes().filter(|byte| *byte == b'.').count() > 1
        && head.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_version.then_some(FactKind::Version)
}

/// Finds the identifiers in a word.
fn identifiers(word: &str, found: &mut dyn FnMut(FactKind, &str)) {
    for part in word.split(|char: char| !char.is_ascii_alphanumeric() && char != '_') {
        let part = part.trim_matches('_');
        if part.len() < 4 || part.len() > LONGEST {
            continue;
        }
        let (mut digits, mut letters, mut is_mixed, mut last) = (0, 0, false, b'A');
        for byte in part.bytes() {
            match byte {
                b'0'..=b'9' => digits += 1,
                b'_' => is_mixed = true,
                _ => {
                    letters += 1;
                    is_mixed |= byte.is_ascii_uppercase() && last.is_ascii_lowercase();
                }
            }
            last = byte;
        }
        if letters > 0 && (is_mixed || digits > 0) {
            found(FactKind::Identifier, part);
        } else if digits == part.len() {
            found(FactKind::Number, part);
        }
    }
}

/// Returns the lines of a text, each without blanks at its ends and without the number that a tool wrote before it.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| without_number(line.trim()))
}

/// Returns whether a line is a fact.
pub(crate) fn is_line(line: &str) -> bool {
    LINE.contains(&line.len())
        && line.bytes().filter(u8::is_ascii_alphanumeric).count() >= LINE_LETTERS
}

/// Removes the number of a line: `12\t…` and `12→…` of Claude Code, `12: …` of opencode, `L12: …` of Gemini CLI, `12:…` of grep.
fn without_number(line: &str) -> &str {
    let rest = line.strip_prefix('L').unwrap_or(line);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 7 {
        return line;
    }
    let rest = rest.get(digits..).unwrap_or_default();
    match rest.strip_prefix(['\t', '→', ':', '|']) {
        Some(rest) => rest.trim_start(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::super::FactKind::{Identifier, Number, Path, Url, Version};
    use super::*;

    #[test]
    fn words_have_kinds() {
        let cases: &[(&str, &[(FactKind, &str)])] = &[
            ("see https://example.com/a?b=1.", &[(Url, "https://example.com/a?b")]),
            ("src/plan.rs:38:5: error", &[(Path, "src/plan.rs"), (Path, "plan.rs")]),
            ("/usr/lib/x86", &[(Path, "/usr/lib/x86")]),
            ("and/or read/write", &[]),
            ("notes.txt, self.width_px", &[(Path, "notes.txt"), (Identifier, "width_px")]),
            (
                "v1.2 1.4.2 2.0.0-rc.1 3.14 1234 99%",
                &[(Version, "v1.2"), (Version, "1.4.2"), (Version, "2.0.0-rc.1"), (Number, "1234")],
            ),
            ("error[E0425]: cannot find `lenght`", &[(Identifier, "E0425")]),
            (
                "getUserName(MAX_SIZE) ERROR Note",
                &[(Identifier, "getUserName"), (Identifier, "MAX_SIZE")],
            ),
            ("\"id\":\"N_0042\",\"n\":120034", &[(Identifier, "N_0042"), (Number, "120034")]),
            ("a1b2c3d", &[(Identifier, "a1b2c3d")]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let mut facts = Vec::new();
            scan(text, &mut |kind, fact| facts.push((kind, fact.to_owned())));
            let expected: Vec<_> =
                expected.iter().map(|(kind, fact)| (*kind, (*fact).to_owned())).collect();
            assert_eq!(facts, expected, "{text}");
        }
    }

    #[test]
    fn lines_lose_their_numbers() {
        let text = "1\tlet width = 17;\n   12→    return harbour(x);\n8: let width = 17;\nshort\n----------------------\nL9: let width = 17;\n";
        let found: Vec<&str> = lines(text).filter(|line| is_line(line)).collect();
        let line = "let width = 17;";
        assert_eq!(found, [line, "return harbour(x);", line, line]);
    }

    #[test]
    fn extensions_are_sorted() {
        assert!(EXTENSIONS.is_sorted());
    }
}
