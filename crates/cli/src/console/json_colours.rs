//! Colours JSON for a terminal, as jq does: keys, strings, `null`, and brackets with their commas and colons.
//!
//! Only escape sequences are added. This module must not depend on when output is coloured.

use std::io::{Result, Write};

use anstyle::{AnsiColor, Effects, Style};

/// Colours the JSON documents that are written through it.
#[derive(Debug)]
pub(crate) struct JsonColours<W: Write> {
    inner: W,
    place: JsonPlace,
    /// Whether each open container is an object.
    containers: Vec<bool>,
    /// The next string is a key.
    is_key_next: bool,
    /// The class whose colour the terminal shows now.
    shown: TokenClass,
    buffer: Vec<u8>,
}

/// The position relative to strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonPlace {
    Outside,
    InString,
    /// After a backslash in a string.
    Escaped,
}

/// The kind of a token, by which it is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenClass {
    /// A number, `true` or `false`.
    Plain,
    Key,
    Text,
    Null,
    Punctuation,
}

impl TokenClass {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Key => AnsiColor::Blue.on_default().effects(Effects::BOLD),
            Self::Text => AnsiColor::Green.on_default(),
            Self::Null => AnsiColor::BrightBlack.on_default(),
            Self::Punctuation => Style::new().bold(),
        }
    }
}

impl<W: Write> JsonColours<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            place: JsonPlace::Outside,
            containers: Vec::new(),
            is_key_next: false,
            shown: TokenClass::Plain,
            buffer: Vec::new(),
        }
    }

    /// Returns the inner writer, for output without colours.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Ends the colour that is shown. Documents may end anywhere.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.show(TokenClass::Plain);
        self.inner.write_all(&self.buffer)
    }

    fn show(&mut self, class: TokenClass) {
        if class == self.shown {
            return;
        }
        let (before, after) = (self.shown.style(), class.style());
        self.buffer.extend(format!("{before:#}{after}").bytes());
        self.shown = class;
    }

    fn put(&mut self, byte: u8) {
        match self.place {
            JsonPlace::Escaped => self.place = JsonPlace::InString,
            JsonPlace::InString => match byte {
                b'\\' => self.place = JsonPlace::Escaped,
                b'"' => self.place = JsonPlace::Outside,
                _ => {}
            },
            JsonPlace::Outside => self.put_outside(byte),
        }
        self.buffer.push(byte);
    }

    fn put_outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                let class = if self.is_key_next { TokenClass::Key } else { TokenClass::Text };
                self.show(class);
                (self.place, self.is_key_next) = (JsonPlace::InString, false);
            }
            b'{' | b'[' => {
                self.show(TokenClass::Punctuation);
                self.containers.push(byte == b'{');
                self.is_key_next = byte == b'{';
            }
            b'}' | b']' => {
                self.show(TokenClass::Punctuation);
                self.containers.pop();
                self.is_key_next = false;
            }
            b',' => {
                self.show(TokenClass::Punctuation);
                self.is_key_next = self.containers.last() == Some(&true);
            }
            b':' => self.show(TokenClass::Punctuation),
            // A line that another program cuts out of the output has no colour of the line before it.
            b'\n' => self.show(TokenClass::Plain),
            b' ' | b'\t' | b'\r' => {}
            b'n' => self.show(TokenClass::Null),
            // The rest of `null` is not the beginning of a token.
            _ if self.shown == TokenClass::Null && byte.is_ascii_lowercase() => {}
            _ => self.show(TokenClass::Plain),
        }
    }
}

impl<W: Write> Write for JsonColours<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        for byte in bytes {
            self.put(*byte);
        }
        self.inner.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::JsonColours;

    fn coloured(text: &str, cut: usize) -> String {
        let mut out = Vec::new();
        let mut colours = JsonColours::new(&mut out);
        let (before, after) = text.split_at(cut);
        colours.write_all(before.as_bytes()).unwrap();
        colours.write_all(after.as_bytes()).unwrap();
        colours.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the text with names in place of escape sequences.
    fn named(text: &str) -> String {
        let names = [
            ("\u{1b}[0m", "~"),
            ("\u{1b}[1m\u{1b}[34m", "<key>"),
            ("\u{1b}[32m", "<text>"),
            ("\u{1b}[90m", "<null>"),
            ("\u{1b}[1m", "<bold>"),
        ];
        names.iter().fold(text.to_owned(), |text, (escape, name)| text.replace(escape, name))
    }

    #[test]
    fn tokens_have_the_colour_of_their_kind() {
        for (text, expected) in [
            ("1.50\n", "1.50\n"),
            ("null\n", "<null>null~\n"),
            (r#"["a",true]"#, r#"<bold>[~<text>"a"~<bold>,~true<bold>]~"#),
            (
                r#"{"a":"\"b","c":null}"#,
                r#"<bold>{~<key>"a"~<bold>:~<text>"\"b"~<bold>,~<key>"c"~<bold>:~<null>null~<bold>}~"#,
            ),
            (
                "{\n  \"a\": [\"b\"]\n}\n",
                "<bold>{~\n  <key>\"a\"~<bold>: [~<text>\"b\"~<bold>]~\n<bold>}~\n",
            ),
            ("[[\"a\"],\"b\"]", "<bold>[[~<text>\"a\"~<bold>],~<text>\"b\"~<bold>]~"),
        ] {
            for cut in 0..text.len() {
                assert_eq!(named(&coloured(text, cut)), expected, "{text}, cut at {cut}");
            }
        }
    }

    #[test]
    fn only_escape_sequences_are_added() {
        let text = r#"{"a":[1,-2.50e3,"\\",{"b":{}}],"é":false}"#;
        let mut plain = named(&coloured(text, 0));
        for name in ["~", "<key>", "<text>", "<null>", "<bold>"] {
            plain = plain.replace(name, "");
        }
        assert_eq!(plain, text);
    }
}
