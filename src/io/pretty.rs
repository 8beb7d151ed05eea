//! Indents minified JSON while it streams.
//!
//! The formatter recognizes brackets, commas, colons and strings, and assumes that the input is valid JSON.

use std::io::Write;

/// Size of the output buffer. A [`write`](Write::write) that produces more writes it in between.
const BUFFER: usize = 64 << 10;

/// Spaces for each open container.
const INDENT: usize = 2;
/// Maximum number of levels that are indented. Deeper lines have the indentation of this level.
const LEVELS: usize = 32;

/// A [`Write`]r that indents the JSON written through it, by two spaces per level, up to 32 levels.
///
/// Deeper values have lines of their own but are indented no further. So each byte of input becomes at most 66 bytes of
/// output, however deep a document is.
///
/// Empty containers remain `{}` and `[]`. White space between tokens is replaced; scalars and keys are kept byte for
/// byte. No newline is added at the end. Input may be cut anywhere. All output is passed to the inner writer before
/// `write` returns.
///
/// Memory: a depth, a state and 64 KiB. Time: linear in the input.
///
/// # Errors
/// Those of the inner writer.
///
/// ```
/// use tamis::{PrettyWriter, Program, Spec, filter_reader};
///
/// let program = Program::compile(&Spec::new())?;
/// let mut output = Vec::new();
/// filter_reader(&program, &br#"{"id":1,"tags":[],"at":[1]}"#[..], PrettyWriter::new(&mut output))?;
/// let expected = r#"{
///   "id": 1,
///   "tags": [],
///   "at": [
///     1
///   ]
/// }"#;
/// assert_eq!(String::from_utf8_lossy(&output), expected);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct PrettyWriter<W> {
    writer: W,
    out: Vec<u8>,
    depth: usize,
    state: PrettyState,
}

/// ```text
///           [ {                    "               \
/// Between ───────▶ Opened    any ─────▶ InString ─────▶ Escaped
///    ▲               │                   │  ▲              │
///    └───────────────┘◀──────────────────┘  └──────────────┘
///       anything else           "                 any byte
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrettyState {
    Between,
    /// After an opening bracket.
    Opened,
    InString,
    /// After a backslash.
    Escaped,
}

impl<W: Write> PrettyWriter<W> {
    /// Creates a writer that indents into `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, out: Vec::new(), depth: 0, state: PrettyState::Between }
    }

    /// Returns the inner writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// Returns the inner writer. Nothing is buffered between writes.
    pub fn into_inner(self) -> W {
        self.writer
    }

    /// Takes one byte outside strings.
    fn token(&mut self, byte: u8) -> std::io::Result<()> {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return Ok(()),
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.state != PrettyState::Opened {
                    self.line()?;
                }
                self.out.push(byte);
            }
            b',' => {
                self.out.push(byte);
                self.line()?;
            }
            b':' => self.out.extend_from_slice(b": "),
            _ => {
                if self.state == PrettyState::Opened {
                    self.line()?;
                }
                self.out.push(byte);
            }
        }
        self.state = match byte {
            b'[' | b'{' => {
                self.depth += 1;
                PrettyState::Opened
            }
            b'"' => PrettyState::InString,
            _ => PrettyState::Between,
        };
        Ok(())
    }

    /// Begins a line.
    fn line(&mut self) -> std::io::Result<()> {
        if self.out.len() >= BUFFER {
            self.hand_on()?;
        }
        self.out.push(b'\n');
        self.out.resize(self.out.len() + INDENT * self.depth.min(LEVELS), b' ');
        Ok(())
    }

    fn hand_on(&mut self) -> std::io::Result<()> {
        let written = self.writer.write_all(&self.out);
        self.out.clear();
        written
    }
}

impl<W: Write> Write for PrettyWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            match self.state {
                PrettyState::Between | PrettyState::Opened => {
                    self.token(byte)?;
                    rest = behind;
                }
                PrettyState::Escaped => {
                    self.out.push(byte);
                    self.state = PrettyState::InString;
                    rest = behind;
                }
                PrettyState::InString => {
                    let end = memchr::memchr2(b'"', b'\\', rest);
                    let (text, behind) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
                    self.out.extend_from_slice(text);
                    self.state = match (end, text.last()) {
                        (None, _) => PrettyState::InString,
                        (Some(_), Some(b'\\')) => PrettyState::Escaped,
                        (Some(_), _) => PrettyState::Between,
                    };
                    rest = behind;
                }
            }
        }
        self.hand_on()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::PrettyWriter;
    use std::io::Write;

    fn pretty(pieces: &[&[u8]]) -> String {
        let mut output = PrettyWriter::new(Vec::new());
        for piece in pieces {
            output.write_all(piece).unwrap();
        }
        String::from_utf8(output.into_inner()).unwrap()
    }

    /// Members in alphabetical order, so that the oracle keeps them.
    const DOCUMENTS: [&str; 12] = [
        "1",
        "\"a\\\"b, [c]: \\\\\"",
        "[]",
        "{}",
        "[[],{},[[]]]",
        "[1,-2.5,true,false,null]",
        r#"{"a":1}"#,
        r#"{"a":{"b":{"c":[]}},"d":{}}"#,
        r#"{"a":"x:y,{z}","b":"\\","c":"\"","d":""}"#,
        r#"[{"a":[1,2,{"b":null}]},{"a":[]},"é\n"]"#,
        r#"{"":{"[":"]","{":"}"}}"#,
        r#"[[[[[[1]]]],2]]"#,
    ];

    #[test]
    fn equals_the_oracle_at_every_split() {
        for document in DOCUMENTS {
            let value: serde_json::Value = serde_json::from_str(document).unwrap();
            let expected = serde_json::to_string_pretty(&value).unwrap();
            let bytes = serde_json::to_string(&value).unwrap().into_bytes();
            for cut in 0..=bytes.len() {
                assert_eq!(
                    pretty(&[&bytes[..cut], &bytes[cut..]]),
                    expected,
                    "{document} cut {cut}"
                );
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(pretty(&single), expected, "{document}, byte by byte");
        }
    }

    #[test]
    fn white_space_between_tokens_is_replaced() {
        assert_eq!(
            pretty(&[b" [ ] ", b"\n"]),
            "[]",
            "white space in an empty container does not fill it"
        );
        assert_eq!(
            pretty(&[b"{ \"a b\" : [ 1 ,\r\n 2 ] }"]),
            "{\n  \"a b\": [\n    1,\n    2\n  ]\n}"
        );
    }

    #[test]
    fn output_is_at_most_a_constant_times_the_input() {
        let most = 2 + super::INDENT * super::LEVELS;
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(10_000), "]".repeat(10_000));
        for document in [deep(""), deep("1"), deep(&"1,".repeat(10_000)), deep(&"[1],".repeat(999))]
        {
            let output = pretty(&[document.as_bytes()]);
            assert!(output.len() <= most * document.len(), "{} bytes", output.len());
            let minified: String = output.split_whitespace().collect();
            assert_eq!(minified, document);
        }
        // The deepest line that is indented, and one below it.
        let output = pretty(&[deep("1").as_bytes()]);
        let indents = output.lines().map(|line| line.len() - line.trim_start().len());
        assert_eq!(indents.max(), Some(super::INDENT * super::LEVELS));
    }

    #[test]
    fn deep_output_is_handed_on_in_between() {
        struct Largest(usize);
        impl Write for Largest {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 = self.0.max(bytes.len());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut document = vec![b'['; 1000];
        document.extend(b"1,".repeat(5000));
        let mut output = PrettyWriter::new(Largest(0));
        output.write_all(&document).unwrap();
        assert!(output.get_ref().0 < 2 * super::BUFFER, "{} bytes at once", output.get_ref().0);
    }
}
