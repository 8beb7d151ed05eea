//! Filters the contents of a JSON string: decodes escapes, runs the pipeline, and encodes the result.
//!
//! Escapes (RFC 8259, section 7) may be cut anywhere; a few bytes of them are held.
//!
//! **Spelling.** An unchanged string of up to [`COMPARE_LIMIT`] bytes keeps its spelling. Otherwise each character is
//! encoded in its shortest form: `\u00e9` becomes `é`, `\/` becomes `/`, `\u000a` becomes `\n`.
//!
//! **Lone surrogates** pass through the pipeline as units that are not text (`json::strings`).

use std::collections::BTreeMap;
use std::fmt;

use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_json::strings::{StringEscaper, StringUnescaper};

use crate::TextRedactor;
use crate::lines::pending_text::COMPARE_LIMIT;
use crate::lines::pipeline::TextPipeline;
use crate::lines::{TextProgram, TextReport, ended};

/// Bytes that are decoded at once.
const WINDOW: usize = 16 << 10;
/// One run of a [`TextProgram`] over the contents of a JSON string, as they are spelled between its quotes.
///
/// Use it to filter a string inside a JSON document without decoding and re-encoding it yourself. Bytes of the encoded
/// contents are pushed in, in chunks cut anywhere; the encoded contents of the filtered string are written to a
/// [`Sink`].
///
/// The bytes must be the contents of a valid JSON string (RFC 8259). For other input the output is unspecified. Memory:
/// that of a [`TextFilter`](crate::TextFilter), and about 40 KiB.
///
/// If an operation changed the text, or it has more than 4 KiB, the output is encoded again with the shortest spelling
/// of each character. Escapes of lone surrogates keep their spelling. Other texts keep their spelling.
///
/// ```
/// use tamis::text::{QuotedTextFilter, TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true))?;
/// let mut filter = QuotedTextFilter::new(&program, Vec::new());
/// for chunk in [r"\u001b[1mcaf\u", r"00e9\u001b[0m \ud83d\n"] {
///     filter.write(chunk.as_bytes())?;
/// }
/// let report = filter.end()?;
/// assert_eq!(filter.into_sink(), r"café \ud83d\n".as_bytes());
/// assert!(report.changed);
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct QuotedTextFilter<S> {
    pipeline: QuotedPipeline,
    ended: bool,
    sink: S,
}

impl<S: Sink> QuotedTextFilter<S> {
    /// Creates a filter with default [`Limits`].
    pub fn new(program: &TextProgram, sink: S) -> Self {
        Self::with_limits(program, &Limits::new(), sink)
    }

    /// Creates a filter with the given limits. It uses [`line`](Limits::with_line) and [`held`](Limits::with_held).
    pub fn with_limits(program: &TextProgram, limits: &Limits, sink: S) -> Self {
        Self { pipeline: QuotedPipeline::new(program, limits), ended: false, sink }
    }

    /// Filters the next bytes of the string.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](tamis_json::error::ErrorKind::Failed) after [`end`](Self::end). No text is an error.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.ended {
            return Err(ended());
        }
        self.pipeline.write(chunk, &mut self.sink);
        Ok(())
    }

    /// Ends the string: writes what is held and returns the report.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](tamis_json::error::ErrorKind::Failed) if the filter has ended before.
    pub fn end(&mut self) -> Result<TextReport, Error> {
        if std::mem::replace(&mut self.ended, true) {
            return Err(ended());
        }
        Ok(self.pipeline.end(&mut self.sink))
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink, to write to it or flush it between chunks.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Consumes the filter and returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

impl<S> fmt::Debug for QuotedTextFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuotedTextFilter").finish_non_exhaustive()
    }
}

/// The internals of [`QuotedTextFilter`]. The sink is an argument of each call.
pub struct QuotedPipeline {
    pipeline: TextPipeline,
    unescape: StringUnescaper,
    /// The decoded text of one window.
    text: Vec<u8>,
    /// The encoded string, while it is short.
    raw: Vec<u8>,
    spelling: Spelling,
    bytes_in: u64,
    /// Replaces credentials before the pipeline.
    redactor: Option<TextRedactor>,
    /// How many it replaced. Known at the end.
    pub redacted: BTreeMap<String, u64>,
}

impl QuotedPipeline {
    /// Creates the pipeline of one string.
    pub fn new(program: &TextProgram, limits: &Limits) -> Self {
        Self {
            pipeline: TextPipeline::new(program, limits),
            unescape: StringUnescaper::default(),
            text: Vec::new(),
            raw: Vec::new(),
            spelling: Spelling::default(),
            bytes_in: 0,
            redactor: None,
            redacted: BTreeMap::new(),
        }
    }

    /// Replaces credentials before the lines are filtered. The text is then always encoded again.
    pub fn redact(&mut self, redactor: TextRedactor) {
        self.redactor = Some(redactor);
    }

    /// Filters the next bytes of the string.
    pub fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if self.is_short() {
            let room = COMPARE_LIMIT + 1 - self.raw.len();
            self.raw.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        }
        self.bytes_in += chunk.len() as u64;
        let Self { pipeline, unescape, text, spelling, redactor, .. } = self;
        let mut out = EncodingSink { spelling, sink };
        for window in chunk.chunks(WINDOW) {
            text.clear();
            unescape.write(window, text);
            match redactor {
                None => pipeline.write(text, &mut out),
                Some(redactor) => redactor.write(text, &mut PipelineSink(pipeline, &mut out)),
            }
        }
        out.flush();
    }

    /// Ends the string.
    pub fn end(&mut self, sink: &mut dyn Sink) -> TextReport {
        let is_short = self.is_short();
        let Self { pipeline, unescape, text, spelling, raw, redactor, redacted, .. } = self;
        let mut out = EncodingSink { spelling, sink };
        text.clear();
        unescape.end(text);
        match redactor {
            None => pipeline.write(text, &mut out),
            Some(redactor) => {
                let mut to = PipelineSink(pipeline, &mut out);
                redactor.write(text, &mut to);
                *redacted = redactor.end(&mut to);
            }
        }
        pipeline.end(&mut out);
        let mut report = if is_short && pipeline.is_unchanged() {
            // The pending text is the one that `raw` encodes.
            let report = pipeline.settle(&mut DiscardSink);
            sink.write(raw);
            self.spelling.bytes += self.raw.len() as u64;
            report
        } else {
            let report = pipeline.settle(&mut out);
            out.flush();
            report
        };
        (report.bytes_in, report.bytes_out) = (self.bytes_in, self.spelling.bytes);
        report
    }

    /// Whether `raw` has the whole string so far.
    fn is_short(&self) -> bool {
        self.redactor.is_none() && self.raw.len() <= COMPARE_LIMIT
    }
}

/// The pipeline as the sink of the redactor.
struct PipelineSink<'a, 'b>(&'a mut TextPipeline, &'a mut EncodingSink<'b>);

impl Sink for PipelineSink<'_, '_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes, self.1);
    }
}

/// Discards everything.
pub struct DiscardSink;

impl Sink for DiscardSink {
    fn write(&mut self, _: &[u8]) {}
}

/// State of the encoder between pieces of text.
#[derive(Debug, Default)]
struct Spelling {
    escape: StringEscaper,
    /// Number of bytes written.
    bytes: u64,
}

/// A sink that encodes what is written and passes it on.
struct EncodingSink<'a> {
    spelling: &'a mut Spelling,
    sink: &'a mut dyn Sink,
}

impl EncodingSink<'_> {
    fn flush(&mut self) {
        let Spelling { escape: StringEscaper { out, .. }, bytes } = self.spelling;
        if !out.is_empty() {
            *bytes += out.len() as u64;
            self.sink.write(out);
            out.clear();
        }
    }
}

impl Sink for EncodingSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for window in bytes.chunks(WINDOW) {
            self.spelling.escape.spell_units(window);
            if self.spelling.escape.out.len() >= WINDOW {
                self.flush();
            }
        }
    }
}
