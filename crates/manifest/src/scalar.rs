//! Maps a character of a scalar's text to its place in the source: plain, quoted and block scalars, folded lines and
//! escapes.
//!
//! The input is the place at which the parser says the scalar begins, and its text. Source and text are walked in
//! parallel. Where they do not agree, the result is the beginning of the scalar, so a place is never wrong. Linear in
//! the walked bytes.

use std::ops::Range;

/// Returns the byte of `source` that holds byte `inside` of a scalar with the text `text`, which begins at `at`.
pub(super) fn byte_inside(at: &Range<usize>, source: &str, text: &str, inside: usize) -> usize {
    let raw = source.get(at.start..).unwrap_or_default();
    let inside = text.get(..inside).unwrap_or(text).len();
    let quoted = match raw.chars().next() {
        Some('"') => Some(Style::Double),
        Some('\'') => Some(Style::Single),
        _ => None,
    };
    // A block may begin with a quote as well. A quoted scalar is one whose text ends exactly at its closing quote.
    let style = quoted.filter(|style| Walk::new(*style, raw, text).ends_at_quote());
    let walked = Walk::new(style.unwrap_or(Style::Bare), raw, text).past(inside);
    at.start + walked.unwrap_or(0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Double,
    Single,
    /// A plain scalar, or the lines of a block.
    Bare,
}

/// The parts of the source and of the text that are not walked yet.
struct Walk<'a> {
    style: Style,
    raw: &'a str,
    text: &'a str,
    /// The number of source bytes walked so far.
    source: usize,
    said: usize,
}

impl<'a> Walk<'a> {
    fn new(style: Style, raw: &'a str, text: &'a str) -> Self {
        let source = usize::from(style != Style::Bare);
        let raw = raw.get(source..).unwrap_or_default();
        let mut walk = Self { style, raw, text, source, said: 0 };
        // The parser reports that a block begins after its leading empty lines.
        if style == Style::Bare && !raw.starts_with(['\r', '\n']) {
            let rest = text.trim_start_matches('\n');
            let lead = white(rest, [' '; 4]);
            let skipped = if raw.starts_with(lead) { 0 } else { lead.len() };
            _ = walk.step(0, text.len() - rest.len() + skipped);
        }
        walk
    }

    fn step(&mut self, source: usize, said: usize) -> Option<()> {
        self.raw = self.raw.get(source..)?;
        self.text = self.text.get(said..)?;
        self.source += source;
        self.said += said;
        Some(())
    }

    /// Whether the text ends at a closing quote.
    fn ends_at_quote(mut self) -> bool {
        while !self.text.is_empty() {
            if self.continued().and_then(|()| self.next()).is_none() {
                return false;
            }
        }
        let quote = if self.style == Style::Double { '"' } else { '\'' };
        self.continued().is_some() && self.raw.starts_with(quote)
    }

    /// Returns the number of source bytes before byte `inside` of the text.
    fn past(mut self, inside: usize) -> Option<usize> {
        loop {
            self.continued()?;
            if self.said >= inside {
                return Some(self.source);
            }
            // Several line breaks are skipped at once; a byte among them maps to the first.
            let here = self.source;
            self.next()?;
            if self.said > inside {
                return Some(here);
            }
        }
    }

    /// Skips escaped line breaks, which add nothing to the text.
    fn continued(&mut self) -> Option<()> {
        while self.style == Style::Double
            && let Some(rest) = self.raw.strip_prefix('\\')
            && let Some(rest) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))
        {
            let rest = rest.trim_start_matches([' ', '\t']);
            self.step(self.raw.len() - rest.len(), 0)?;
        }
        Some(())
    }

    /// Advances over one character of the text, or over all white space around a line break.
    fn next(&mut self) -> Option<()> {
        let char = self.text.chars().next()?;
        match self.style {
            Style::Double if self.raw.starts_with('\\') => {
                let (said, length) = escape(self.raw)?;
                return if said == char { self.step(length, char.len_utf8()) } else { None };
            }
            Style::Single if self.raw.starts_with('\'') => {
                let doubled = char == '\'' && self.raw.starts_with("''");
                return if doubled { self.step(2, 1) } else { None };
            }
            Style::Double if self.raw.starts_with('"') => return None,
            _ => {}
        }
        let white = white(self.raw, [' ', '\t', '\r', '\n']);
        if white.contains('\n') {
            // The text keeps as many spaces as it has after its last line break; the others are indentation.
            let said = self::white(self.text, [' ', '\t', '\n', '\n']);
            let own = match said.rfind('\n') {
                Some(last) => said.len() - last - 1,
                None if said.len() <= 1 => 0,
                None => return None,
            };
            if said.is_empty() {
                return None;
            }
            return self.step(white.len().checked_sub(own)?, said.len() - own);
        }
        if self.raw.starts_with(char) { self.step(char.len_utf8(), char.len_utf8()) } else { None }
    }
}

/// Returns the leading white space.
fn white(text: &str, chars: [char; 4]) -> &str {
    let rest = text.trim_start_matches(chars);
    text.get(..text.len() - rest.len()).unwrap_or_default()
}

/// Decodes an escape sequence in double quotes (YAML 1.2, 5.7); returns its text and its length.
fn escape(raw: &str) -> Option<(char, usize)> {
    let kind = raw.chars().nth(1)?;
    let hex = |digits: usize| {
        let code = u32::from_str_radix(raw.get(2..2 + digits)?, 16).ok()?;
        Some((char::from_u32(code)?, 2 + digits))
    };
    let said = match kind {
        'x' => return hex(2),
        'u' => return hex(4),
        'U' => return hex(8),
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => kind,
        _ => return None,
    };
    Some((said, 1 + kind.len_utf8()))
}

#[cfg(test)]
mod tests {
    use crate::error::Text;
    use crate::yaml;

    use super::byte_inside;

    /// Every character of a scalar's text, except white space, is found at its place.
    #[test]
    fn each_character_is_found() {
        for source in [
            "a: plain text é日 with 'quotes' and \"more\"\n",
            "a: plain\n  over\n\n  lines, and\n   more\n",
            "a: \"quoted ' text é\"\n",
            "a: 'quoted \" text é'\n",
            "a: 'it''s '''\n",
            "a: '''x'\n",
            "a: \"\\u0061\\x62\\U0001F600 \\\"c\\\\ \\/ \\t d\\n e\\\n   f \\N g\\_h\"\n",
            "a: \"one\n\n  two\n   three \\n\n  four\"\n",
            "a: \"one  \\\n  two\"\n",
            "a: 'one\n\n\n  two\n   three'\n",
            "a: |\n  one\n  two\n",
            "a: |\n  one\r\n  two\n",
            "a: |-\n    {{range .x}}\n      {{.y}}\n\n    {{end}}",
            "a: |+\n  one\n   \n    two\n\n\n",
            "a: |2\n    indented\n  less\n",
            "a: | # remark\n  \"quoted\"\n  'more'\n",
            "a: |\n  \"\n",
            "a: |\n\n\n  late\n",
            "a: |2\n\n   \n    late\n  b\n",
            "a: |2\n\n\n    late\n  b\n",
            "a: |\n  tab\there \t\n  \tthere\n",
            "a: >\n  folded\n  text\n\n  more\n    kept\n  as is\n",
            "a: >-\n  'folded'\n  text\n",
            "a: >\n\n  late\n",
            "a: # remark\n  \"on a line of its own\"\n",
            "a: &x !!str text\n",
            "{a: flow text, b: c}\n",
            "{a: \"x, y\", b: c}\n",
            "- &y |\n    text\n- x\n",
        ] {
            let text = Text::new("x.yaml", source);
            let root = yaml::parse(&text, &yaml::FileLimits::MANIFEST).unwrap();
            let node = match root.get("a") {
                Some(node) => node,
                None => match &root.value {
                    crate::node::Value::List(list) => &list[0],
                    other => panic!("{source:?}: {other:?}"),
                },
            };
            let said = node.as_text().unwrap();
            for (inside, char) in said.char_indices().filter(|(_, char)| !char.is_whitespace()) {
                let at = byte_inside(&node.at, source, said, inside);
                let found = source[at..].chars().next().unwrap();
                let escaped = found == '\\' || (found == '\'' && char == '\'');
                assert!(found == char || escaped, "{source:?}: {char:?} of {said:?} is at {at}");
                // The source before it is the text before it, apart from line breaks and escapes.
                let of =
                    |text: &str| text.chars().rfind(|char| char.is_alphabetic()).unwrap_or('a');
                let plain = !source[..at].contains('\\');
                assert!(
                    !plain || inside == 0 || of(&said[..inside]) == of(&source[node.at.start..at]),
                    "{source:?}: {char:?} of {said:?} is at {at}"
                );
            }
            let end = byte_inside(&node.at, source, said, said.len());
            assert!(end >= node.at.start && end <= source.len(), "{source:?}");
        }
    }

    /// If source and text do not agree, the place is the beginning of the scalar.
    #[test]
    fn text_that_is_not_found_is_placed_at_the_beginning() {
        for (source, text) in [
            ("abc", "abd"),
            ("\"abc\"", "abcd"),
            ("'abc'", "abc'd"),
            ("\"\\q\"", "q"),
            ("\"\\ud800\"", "x"),
            ("a\n b", "a  b"),
            ("a\n  b", "ab"),
            ("", "a"),
        ] {
            assert_eq!(byte_inside(&(0..source.len()), source, text, text.len()), 0, "{source:?}");
        }
        assert_eq!(byte_inside(&(9..9), "abc", "abc", 2), 9);
    }
}
