//! Writes one JSON text: commas, brackets, spelled keys, and runs of input bytes.
//!
//! The writer does not depend on rules. It inserts the commas; callers only announce keys and values. A container may
//! be opened *deferred*: its bracket is written only when something inside it is, so a container without content is not
//! written.
//!
//! ```text
//! open("{")            out: {
//! key(a) open deferred out: {            deferred: "a":{
//! key(b) open deferred out: {            deferred: "a":{"b":[
//! close                out: {            deferred: "a":{          `b` has no content
//! key(c), raw(1)       out: {"a":{"c":1  deferred:                committed
//! ```
//!
//! Output is gathered and passed to the sink in pieces. Long runs are passed to it directly.

use crate::sink::Sink;
use crate::test_work::{WorkKind, count, words};

/// The size at which gathered output is passed to the sink. Not more than a window of the scanner: kept runs come in
/// pieces of that size, and a sink may recognise slices of the input.
const PIECE: usize = crate::scan::WINDOW;
/// Size of the fixed copy for short members.
const SHORT: usize = 64;

/// Writes the punctuation of kept members and elements, and their bytes. Openings of containers wait until something is kept
/// in them, so that a container without kept values can vanish.
#[derive(Clone, Debug, Default)]
pub struct JsonWriter {
    out: Vec<u8>,
    /// Openings that wait for content, outer ones first. They include keys and commas.
    deferred: Vec<u8>,
    marks: Vec<DeferredMark>,
    /// The next value in the container needs a comma before it.
    comma: bool,
    /// A key was written, and its value comes next.
    after_key: bool,
    /// Output after a mark may be taken back, so it is not passed to the sink.
    waits: bool,
    /// White space before the next token, if white space is kept.
    lead: Vec<u8>,
    /// The bytes after the next key including the colon, if white space is kept; otherwise empty.
    gap: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct DeferredMark {
    /// Length of `deferred` before this opening.
    at: usize,
    /// The value of `comma` before this opening.
    comma: bool,
}

/// The place of an element in the output from which on everything may be taken back.
#[derive(Clone, Copy, Debug)]
pub struct WriterMark {
    len: usize,
    comma: bool,
}

impl JsonWriter {
    /// Marks the place of the next element. From there on the output waits for [`release`](Self::release) or
    /// [`take_back`](Self::take_back). `None` if containers are deferred.
    #[inline]
    pub fn mark(&mut self) -> Option<WriterMark> {
        if !self.marks.is_empty() {
            return None;
        }
        self.waits = true;
        Some(WriterMark { len: self.out.len(), comma: self.comma })
    }

    /// Keeps the output after a mark.
    #[inline]
    pub fn release(&mut self, sink: &mut dyn Sink) {
        self.waits = false;
        self.pass_on(sink);
    }

    /// Takes back the output after a mark.
    #[inline]
    pub fn take_back(&mut self, mark: WriterMark) {
        self.waits = false;
        self.out.truncate(mark.len);
        self.comma = mark.comma;
    }

    /// Begins a new text.
    pub fn reset(&mut self) {
        self.out.clear();
        self.deferred.clear();
        self.marks.clear();
        self.comma = false;
        self.after_key = false;
        self.waits = false;
        self.lead.clear();
        self.gap.clear();
    }

    /// Sets the white space before the next key, element or closing bracket.
    pub fn lead(&mut self, bytes: &[u8]) {
        self.lead.clear();
        self.lead.extend_from_slice(bytes);
    }

    /// Sets the bytes after the next key, including the colon.
    pub fn gap(&mut self, bytes: &[u8]) {
        self.gap.clear();
        self.gap.extend_from_slice(bytes);
    }

    /// Writes a key as the spec spells it, with its quotes. Its value follows.
    #[inline]
    pub fn key(&mut self, sink: &mut dyn Sink, quoted: &[u8]) {
        self.commit(sink);
        self.separate(sink);
        self.put(sink, quoted);
        if self.gap.is_empty() {
            self.put(sink, b":");
        } else {
            let gap = std::mem::take(&mut self.gap);
            self.put(sink, &gap);
            self.gap = gap;
            self.gap.clear();
        }
        self.after_key = true;
    }

    /// Writes a key as the document spells it, given without its quotes. Its value follows.
    pub fn spelled(&mut self, sink: &mut dyn Sink, raw: &[u8]) {
        self.commit(sink);
        self.separate(sink);
        self.put(sink, b"\"");
        self.put(sink, raw);
        self.put(sink, b"\":");
        self.after_key = true;
    }

    /// Begins a value or a complete member, whose bytes follow through [`raw`](Self::raw).
    #[inline]
    pub fn begin(&mut self, sink: &mut dyn Sink) {
        self.commit(sink);
        self.separate(sink);
        self.comma = true;
    }

    /// Writes the member in `from..to` of `text`. If `to` is not its end, the rest follows through [`raw`](Self::raw).
    #[inline]
    pub fn member(&mut self, sink: &mut dyn Sink, text: &[u8], from: usize, to: usize) {
        self.commit(sink);
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        // A copy of constant size compiles to a few moves instead of a call.
        match text.get(from..).and_then(<[u8]>::first_chunk::<SHORT>) {
            Some(short) if to - from <= SHORT => {
                let end = self.out.len() + (to - from);
                self.out.extend_from_slice(short);
                self.out.truncate(end);
                self.pass_on(sink);
            }
            _ => self.put(sink, text.get(from..to).unwrap_or_default()),
        }
    }

    /// Writes bytes of the value or member that was begun.
    #[inline]
    pub fn raw(&mut self, sink: &mut dyn Sink, bytes: &[u8]) {
        self.put(sink, bytes);
    }

    /// Opens a container.
    pub fn open(&mut self, sink: &mut dyn Sink, bracket: u8) {
        self.commit(sink);
        self.separate(sink);
        self.punctuate(bracket);
        self.comma = false;
    }

    /// Opens a container that is written only if it has content. `key` is its quoted key in an object.
    pub fn open_deferred(&mut self, key: Option<&[u8]>, bracket: u8) {
        self.defer(key.map(|key| [b"", key, b""]), bracket);
    }

    /// Opens a container as [`open_deferred`](Self::open_deferred) does, with a key as spelled and without its quotes.
    pub fn open_deferred_spelled(&mut self, raw: &[u8], bracket: u8) {
        self.defer(Some([b"\"", raw, b"\""]), bracket);
    }

    fn defer(&mut self, key: Option<[&[u8]; 3]>, bracket: u8) {
        self.marks.push(DeferredMark { at: self.deferred.len(), comma: self.comma });
        if self.comma && !self.after_key {
            self.deferred.push(b',');
        }
        self.after_key = false;
        if !self.lead.is_empty() {
            self.deferred.append(&mut self.lead);
        }
        if let Some(key) = key {
            for part in key {
                count(WorkKind::Hold, words(part.len()));
                self.deferred.extend_from_slice(part);
            }
            if self.gap.is_empty() {
                self.deferred.push(b':');
            }
            self.deferred.append(&mut self.gap);
        }
        self.deferred.push(bracket);
        self.comma = false;
    }

    /// Closes the innermost container. Returns false if it was deferred and is not written.
    pub fn close(&mut self, sink: &mut dyn Sink, bracket: u8) -> bool {
        if let Some(mark) = self.marks.pop() {
            self.deferred.truncate(mark.at);
            self.comma = mark.comma;
            self.lead.clear();
            return false;
        }
        self.put_lead(sink);
        self.punctuate(bracket);
        self.pass_on(sink);
        self.comma = true;
        true
    }

    /// Passes the gathered output to the sink.
    pub fn flush(&mut self, sink: &mut dyn Sink) {
        if !self.out.is_empty() {
            sink.write(&self.out);
            self.out.clear();
        }
    }

    /// Writes the deferred openings, whatever follows.
    #[inline]
    pub fn commit(&mut self, sink: &mut dyn Sink) {
        if !self.marks.is_empty() {
            self.write_deferred(sink);
        }
    }

    #[inline(never)]
    fn write_deferred(&mut self, sink: &mut dyn Sink) {
        self.marks.clear();
        count(WorkKind::Hold, words(self.deferred.len()));
        let deferred = std::mem::take(&mut self.deferred);
        self.put(sink, &deferred);
        self.deferred = deferred;
        self.deferred.clear();
    }

    #[inline]
    fn separate(&mut self, sink: &mut dyn Sink) {
        if self.after_key {
            self.after_key = false;
        } else {
            if self.comma {
                self.punctuate(b',');
            }
            self.put_lead(sink);
        }
    }

    /// Gathers one byte, which is passed on with the bytes after it.
    #[inline]
    fn punctuate(&mut self, byte: u8) {
        self.out.push(byte);
    }

    #[inline]
    fn put_lead(&mut self, sink: &mut dyn Sink) {
        if !self.lead.is_empty() {
            self.write_lead(sink);
        }
    }

    #[inline(never)]
    fn write_lead(&mut self, sink: &mut dyn Sink) {
        let lead = std::mem::take(&mut self.lead);
        self.put(sink, &lead);
        self.lead = lead;
        self.lead.clear();
    }

    #[inline]
    fn put(&mut self, sink: &mut dyn Sink, bytes: &[u8]) {
        if bytes.len() < PIECE || self.waits {
            self.out.extend_from_slice(bytes);
            self.pass_on(sink);
        } else {
            self.flush(sink);
            sink.write(bytes);
        }
    }

    /// Passes the gathered output to the sink if it is long enough and need not wait.
    #[inline]
    fn pass_on(&mut self, sink: &mut dyn Sink) {
        if self.out.len() >= PIECE && !self.waits {
            self.flush(sink);
        }
    }
}
