//! The run over the text of one string: decides whether it is JSON, filters it, and encodes the result.
//!
//! ```text
//!            first character is no bracket
//! Start ──────────────────────────────────────▶ Other ─▶ kept, dropped, or an error
//!   │ `{` or `[`                                  ▲
//!   ├─ otherwise: error ─▶ Stream ─▶ filtered     │ not valid JSON
//!   └─ otherwise: keep, drop ─▶ Wait ─────────────┘
//!                                └─ valid to its end ─▶ read again and filtered
//! ```
//!
//! The result does not depend on chunks: all errors are raised at the end of the string, and bytes are held or refused
//! one by one where the limit is reached.

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;
use tamis_json::strings::StringEscaper;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, StringDecoder, StringErrorKind, ValueKind, ValueSlot};

use crate::filter::compile::nested::JsonStringEntry;
use crate::filter::options::CallOptions;
use crate::filter::run::pipe::{InnerRun, NewRun};
use crate::report::InnerReport;
use crate::spec::JsonStringFallback;

/// Bytes that are decoded at once.
const WINDOW: usize = 16 << 10;

/// The writer of the document and its sink.
pub(super) struct StringOutput<'a> {
    pub(super) writer: &'a mut JsonWriter,
    pub(super) sink: &'a mut dyn Sink,
}

/// The run of one entry, reused for all its strings.
#[derive(Debug)]
pub(super) struct StringRun {
    at: String,
    otherwise: JsonStringFallback,
    limits: Limits,
    run: Box<dyn InnerRun>,
    /// The run was used and must begin again.
    used: bool,
    /// Validates a text that waits.
    probe: Option<Box<JsonProbe>>,
    scanner: Scanner,
    /// The contents of a string that waits, as spelled.
    hold: Hold,
    decoder: StringDecoder,
    escape: StringEscaper,
    /// The decoded text of one window.
    text: Vec<u8>,
    /// The key as spelled, between its quotes, if the string is a member.
    key: Option<Vec<u8>>,
    /// The opening quote was read.
    opened: bool,
    /// A quote was read that is the closing one, unless a byte follows.
    quote: bool,
    state: StringState,
    /// Why the run fails at the end of the string.
    failed: Option<Raise>,
}

/// The outcome for a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringEnd {
    /// Its JSON was filtered.
    Filtered,
    /// It is not JSON, and was written as it is.
    Kept,
    /// It is not JSON, and nothing was written.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringState {
    /// Only white space was read.
    Start,
    /// The text is filtered while it arrives.
    Stream,
    /// The text is validated, and its spelling is held.
    Wait,
    /// The text is not JSON. It is kept or dropped.
    Other,
    /// The run has failed.
    Failed,
}

impl StringRun {
    pub(super) fn new(entry: &JsonStringEntry, options: &CallOptions, new_run: NewRun) -> Self {
        let run = new_run(&entry.program, options);
        Self {
            at: entry.at.clone(),
            otherwise: entry.otherwise,
            limits: options.limits().clone(),
            run,
            used: false,
            probe: None,
            scanner: options.scanner(),
            hold: Hold::default(),
            decoder: StringDecoder::new(),
            escape: StringEscaper::default(),
            text: Vec::new(),
            key: None,
            opened: false,
            quote: false,
            state: StringState::Start,
            failed: None,
        }
    }

    /// Begins a string. `key`: that of the member, as spelled between its quotes.
    pub(super) fn begin(&mut self, key: Option<&[u8]>) {
        if std::mem::take(&mut self.used) {
            self.run.restart();
        }
        if self.otherwise != JsonStringFallback::Error {
            match &mut self.probe {
                Some(probe) => probe.restart(&self.limits),
                None => self.probe = Some(Box::new(JsonProbe::new(&self.limits, self.scanner))),
            }
        }
        self.decoder = StringDecoder::new();
        self.key = key.map(<[u8]>::to_vec);
        (self.opened, self.quote) = (false, false);
        (self.state, self.failed) = (StringState::Start, None);
    }

    /// Forgets a string whose run has failed elsewhere. The meter is that of a new run.
    pub(super) fn forget(&mut self) {
        self.hold = Hold::default();
        self.used = true;
    }

    /// Returns the steps of the machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.run.steps() + self.probe.as_ref().map_or(0, |probe| probe.steps())
    }

    /// Reads the next bytes of the string, which include its quotes.
    pub(super) fn write(&mut self, bytes: &[u8], meter: &mut Meter, output: &mut StringOutput<'_>) {
        let mut bytes = bytes;
        if !self.opened
            && let Some((_, rest)) = bytes.split_first()
        {
            (self.opened, bytes) = (true, rest);
        }
        if bytes.is_empty() {
            return;
        }
        if std::mem::take(&mut self.quote) {
            self.take(b"\"", meter, output);
        }
        if let Some((b'"', rest)) = bytes.split_last() {
            (self.quote, bytes) = (true, rest);
        }
        for window in bytes.chunks(WINDOW) {
            self.take(window, meter, output);
        }
    }

    /// Ends the string.
    pub(super) fn end(
        &mut self,
        meter: &mut Meter,
        output: &mut StringOutput<'_>,
    ) -> Result<StringEnd, Raise> {
        self.finish(meter, output);
        self.hold.clear(meter);
        if let Some(raise) = self.failed.take() {
            self.used = true;
            return Err(raise);
        }
        let end = match (self.state, self.otherwise) {
            (StringState::Other, JsonStringFallback::Drop) => return Ok(StringEnd::Dropped),
            (StringState::Other, _) => StringEnd::Kept,
            _ => StringEnd::Filtered,
        };
        output.writer.raw(output.sink, b"\"");
        Ok(end)
    }

    /// Adds what the inner run did with the last string.
    pub(super) fn report(&self, report: &mut InnerReport) {
        report.add(&self.run.tally());
    }

    /// Decides about a string that is complete.
    fn finish(&mut self, meter: &mut Meter, output: &mut StringOutput<'_>) {
        if matches!(self.state, StringState::Other | StringState::Failed) {
            return;
        }
        if let Err(error) = self.decoder.end() {
            return self.refuse_spelling(error.kind(), meter, output);
        }
        match self.state {
            StringState::Start => self.refuse("it has no JSON object or array", meter, output),
            StringState::Wait => match self.probe.as_mut().map_or(Ok(()), |probe| probe.end()) {
                Ok(()) => self.filter_held(meter, output),
                Err(error) => self.refuse_error(&error, meter, output),
            },
            _ => self.end_run(meter, output),
        }
    }

    /// Reads contents of the string, as spelled and without its quotes.
    fn take(&mut self, contents: &[u8], meter: &mut Meter, output: &mut StringOutput<'_>) {
        // Near the limit each byte is held, or is the one that is refused, whatever the chunks.
        let full =
            self.hold.len().saturating_add(contents.len() as u64) > Hold::capacity(&self.limits);
        let size = if full && self.holds() { 1 } else { contents.len().max(1) };
        for contents in contents.chunks(size) {
            self.take_piece(contents, meter, output);
        }
    }

    /// Whether a string is held until it is known to be JSON.
    fn holds(&self) -> bool {
        self.otherwise != JsonStringFallback::Error
            && matches!(self.state, StringState::Start | StringState::Wait)
    }

    fn take_piece(&mut self, contents: &[u8], meter: &mut Meter, output: &mut StringOutput<'_>) {
        match self.state {
            StringState::Failed => {}
            StringState::Other => self.pass(contents, output),
            StringState::Start | StringState::Stream | StringState::Wait => {
                self.text.clear();
                let decoded = self.decoder.write(contents, &mut self.text);
                self.take_text(meter, output);
                if let (Err(error), false) = (decoded, self.is_decided()) {
                    self.refuse_spelling(error.kind(), meter, output);
                }
                if self.state == StringState::Other {
                    self.pass(contents, output);
                } else if self.holds()
                    && let Err(raise) = self.hold.push(contents, &self.limits, meter)
                {
                    self.fail(raise.named("json_strings"));
                }
            }
        }
    }

    fn is_decided(&self) -> bool {
        matches!(self.state, StringState::Other | StringState::Failed)
    }

    /// Passes the decoded text to the probe or to the run.
    fn take_text(&mut self, meter: &mut Meter, output: &mut StringOutput<'_>) {
        if self.state == StringState::Start {
            let first = self.text.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
            match first {
                None => {}
                Some(b'{' | b'[') if self.otherwise == JsonStringFallback::Error => {
                    self.state = StringState::Stream;
                    self.begin_output(output);
                }
                Some(b'{' | b'[') => self.state = StringState::Wait,
                Some(_) => return self.refuse("it has no JSON object or array", meter, output),
            }
        }
        // White space at the beginning counts for offsets.
        if self.otherwise == JsonStringFallback::Error {
            self.feed_run(meter, output);
        } else if let Some(probe) = &mut self.probe
            && let Err(error) = probe.feed(&self.text)
        {
            self.refuse_error(&error, meter, output);
        }
    }

    /// Filters the decoded text, and writes what is left of it.
    fn feed_run(&mut self, meter: &mut Meter, output: &mut StringOutput<'_>) {
        self.used = true;
        let Self { run, escape, text, .. } = self;
        let StringOutput { writer, sink } = output;
        let mut sink = EscapingSink { escape, writer, sink: *sink };
        let written = run.write_inner(text, meter, &mut sink);
        if let Err(error) = written {
            self.fail(error.to_raise_of_string());
        }
    }

    fn end_run(&mut self, meter: &mut Meter, output: &mut StringOutput<'_>) {
        self.used = true;
        let Self { run, escape, .. } = self;
        let StringOutput { writer, sink } = output;
        let ended = run.end_inner(meter, &mut EscapingSink { escape, writer, sink: *sink });
        if let Err(error) = ended {
            self.fail(error.to_raise_of_string());
        }
    }

    /// Filters the held string, which is JSON.
    fn filter_held(&mut self, meter: &mut Meter, output: &mut StringOutput<'_>) {
        self.begin_output(output);
        self.state = StringState::Stream;
        self.decoder = StringDecoder::new();
        let mut hold = std::mem::take(&mut self.hold);
        let drained = hold.drain(
            meter,
            |meter, piece| {
                for window in piece.chunks(WINDOW) {
                    self.text.clear();
                    // It was decoded before, so this cannot fail.
                    _ = self.decoder.write(window, &mut self.text);
                    self.feed_run(meter, output);
                }
                Ok(self.state == StringState::Stream)
            },
            |raise| raise,
        );
        match drained {
            Err(raise) => self.fail(raise),
            Ok(()) if self.state == StringState::Stream => self.end_run(meter, output),
            Ok(()) => {}
        }
    }

    /// Writes the key, and the quote before the contents.
    fn begin_output(&mut self, output: &mut StringOutput<'_>) {
        let StringOutput { writer, sink } = output;
        if let Some(key) = &self.key {
            writer.key(*sink, &[b"\"", key.as_slice(), b"\""].concat());
        }
        writer.begin(*sink);
        writer.raw(*sink, b"\"");
    }

    /// Passes contents of a string on that is not JSON.
    fn pass(&mut self, contents: &[u8], output: &mut StringOutput<'_>) {
        if self.otherwise == JsonStringFallback::Keep {
            output.writer.raw(output.sink, contents);
        }
    }

    fn refuse_spelling(
        &mut self,
        kind: StringErrorKind,
        meter: &mut Meter,
        output: &mut StringOutput<'_>,
    ) {
        let why = match kind {
            StringErrorKind::LoneSurrogate => "it has a lone surrogate",
            _ => "its escapes are not valid",
        };
        self.refuse(why, meter, output);
    }

    /// Handles the error of the probe. One that is not about the syntax is an error of the run.
    fn refuse_error(&mut self, error: &Error, meter: &mut Meter, output: &mut StringOutput<'_>) {
        match error.kind() {
            ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding => {
                self.refuse("", meter, output);
            }
            _ => self.fail(error.to_raise_of_string()),
        }
    }

    /// Treats the string as one that is not JSON.
    fn refuse(&mut self, why: &str, meter: &mut Meter, output: &mut StringOutput<'_>) {
        if self.otherwise == JsonStringFallback::Error {
            let message = format!("json_strings: the string at `{}` is not JSON: {why}", self.at);
            return self.fail(Raise::new(ErrorKind::Syntax, message));
        }
        self.state = StringState::Other;
        if self.otherwise == JsonStringFallback::Drop {
            return self.hold.clear(meter);
        }
        self.begin_output(output);
        let drained = self.hold.drain(
            meter,
            |_, piece| {
                output.writer.raw(output.sink, piece);
                Ok(true)
            },
            |raise| raise,
        );
        if let Err(raise) = drained {
            self.fail(raise);
        }
    }

    fn fail(&mut self, raise: Raise) {
        self.state = StringState::Failed;
        self.failed.get_or_insert(raise);
    }
}

/// Encodes what the inner run writes as the contents of a string.
struct EscapingSink<'a> {
    escape: &'a mut StringEscaper,
    writer: &'a mut JsonWriter,
    sink: &'a mut dyn Sink,
}

impl Sink for EscapingSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for window in bytes.chunks(WINDOW) {
            self.escape.spell_text(window);
            self.writer.raw(self.sink, &self.escape.out);
            self.escape.out.clear();
        }
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}

/// Validates a text.
struct JsonProbe {
    machine: Machine,
    scanner: Scanner,
    #[cfg(test)]
    earlier: u64,
}

impl JsonProbe {
    fn new(limits: &Limits, scanner: Scanner) -> Self {
        Self {
            machine: Machine::new(Self::config(limits)),
            scanner,
            #[cfg(test)]
            earlier: 0,
        }
    }

    fn config(limits: &Limits) -> MachineConfig {
        MachineConfig::new(limits)
    }

    fn restart(&mut self, limits: &Limits) {
        #[cfg(test)]
        {
            self.earlier += self.machine.steps();
        }
        self.machine.restart(Self::config(limits));
    }

    fn feed(&mut self, text: &[u8]) -> Result<(), Error> {
        self.machine.feed(self.scanner, text, &mut SkipAll).map(|_| ())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.machine.end(&mut SkipAll)
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.earlier + self.machine.steps()
    }
}

impl std::fmt::Debug for JsonProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonProbe").field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// Drops the document.
struct SkipAll;

impl Handler for SkipAll {
    fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
        Ok(Interest::Skip)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}
}
