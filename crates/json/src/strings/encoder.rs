//! The public encoder: a sink over a sink.

use super::escape::StringEscaper;
use crate::sink::Sink;

/// Bytes that are encoded at once.
const WINDOW: usize = 16 << 10;

/// Encodes text as the contents of a JSON string, and passes it on to another [`Sink`]. The quotes are not written.
///
/// Use it to write text of any length into a document without holding it. Only `"`, `\` and control characters are
/// escaped, each in its shortest form. The text may be cut anywhere, also within a character. Nothing is held between two
/// writes, so that the encoder needs no end.
///
/// The text must be valid UTF-8, or the contents are not.
///
/// ```
/// use tamis::Sink;
/// use tamis::json::StringEncoder;
///
/// let mut encoder = StringEncoder::new(Vec::new());
/// encoder.write("{\"caf\u{e9}\":\n\"\\\"".as_bytes());
/// encoder.write(b"\x1b");
/// assert_eq!(encoder.into_sink(), r#"{\"café\":\n\"\\\"\u001b"#.as_bytes());
/// ```
#[derive(Clone, Debug)]
pub struct StringEncoder<S> {
    escape: StringEscaper,
    sink: S,
}

impl<S: Sink> StringEncoder<S> {
    /// Creates an encoder for one string.
    pub fn new(sink: S) -> Self {
        Self { escape: StringEscaper::default(), sink }
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink, to write to it before or after the contents.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Consumes the encoder and returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

impl<S: Sink> Sink for StringEncoder<S> {
    fn write(&mut self, bytes: &[u8]) {
        for window in bytes.chunks(WINDOW) {
            self.escape.spell_text(window);
            self.sink.write(&self.escape.out);
            self.escape.out.clear();
        }
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
