//! Writes a document again with the planned changes; every other byte is copied unchanged.
//!
//! The splice works on offsets and bytes; it does not parse JSON. The document arrives in chunks of any size, the
//! changes come from the findings.

use tamis_json::error::Raise;
use tamis_json::sink::Sink;

use super::findings::{Edit, Entry, Finding, Findings, FindingsReader};
use super::placeholder::Facts;
use super::plan::Plan;
use super::program::CompiledPrune;
use super::survey::Calls;

/// Maximum white space held before a closing bracket, so that an insertion precedes it.
const WHITE: usize = 1024;

/// The sources of the changes.
pub(super) struct Changes<'a> {
    pub(super) findings: &'a mut Findings,
    pub(super) calls: &'a Calls,
    pub(super) program: &'a CompiledPrune,
    pub(super) now: u64,
}

/// A result that is pruned. The replacements of its changes are created one at a time.
struct Changing {
    entry: Entry,
    /// Size of its text in bytes, for all its placeholders.
    bytes: u64,
    /// Number of changes made so far.
    done: usize,
}

impl Changing {
    fn edit(&self) -> Option<Edit> {
        self.entry.edits.get(self.done).copied()
    }

    /// Creates the replacement of the next change.
    fn write(&mut self, changes: &Changes<'_>, sink: &mut dyn Sink) {
        let Some(edit) = self.edit() else { return };
        self.done += 1;
        let Entry { tool, id, tokens, .. } = &self.entry;
        let tool = changes.calls.name(*tool);
        let facts = Facts { tool, id, bytes: self.bytes, tokens: *tokens };
        sink.write(&changes.program.replacement(edit, facts, changes.now));
    }
}

pub(super) struct Splice {
    plan: Plan,
    reader: FindingsReader,
    /// The result whose changes are next.
    result: Option<Changing>,
    /// There are no more results.
    exhausted: bool,
    /// Offset of the next byte of the document. Bytes before offset `skip` are removed.
    at: u64,
    skip: u64,
    white: Vec<u8>,
}

impl Splice {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            reader: FindingsReader::default(),
            result: None,
            exhausted: false,
            at: 0,
            skip: 0,
            white: Vec::new(),
        }
    }

    /// Takes the next bytes of the document.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        changes: &mut Changes<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), Raise> {
        while !bytes.is_empty() {
            if self.at < self.skip {
                bytes = self.pass(bytes, self.skip).1;
                continue;
            }
            let Some(edit) = self.next(changes)? else {
                let (now, later) = self.pass(bytes, u64::MAX);
                self.put_white(sink);
                sink.write(now);
                bytes = later;
                continue;
            };
            let Edit { from, to, act } = edit;
            if self.at < from {
                let (now, later) = self.pass(bytes, from);
                self.emit(now, act.adds(), sink);
                bytes = later;
                continue;
            }
            let adds = act.adds();
            if !adds {
                self.put_white(sink);
                self.skip = to;
            }
            if let Some(result) = &mut self.result {
                result.write(changes, sink);
            }
            if adds {
                self.put_white(sink);
            }
        }
        Ok(())
    }

    /// Returns the next change.
    fn next(&mut self, changes: &mut Changes<'_>) -> Result<Option<Edit>, Raise> {
        loop {
            if let Some(edit) = self.result.as_ref().and_then(Changing::edit) {
                return Ok(Some(edit));
            }
            self.result = None;
            if self.exhausted {
                return Ok(None);
            }
            match self.reader.next(changes.findings)? {
                None => self.exhausted = true,
                Some(Finding::Result(entry)) if self.plan.goes(&entry) => {
                    let bytes = entry.facts("").bytes;
                    self.result = Some(Changing { entry, bytes, done: 0 });
                }
                Some(_) => {}
            }
        }
    }

    /// Splits off the bytes before an offset, or all of them if it lies beyond, and advances past them.
    fn pass<'a>(&mut self, bytes: &'a [u8], to: u64) -> (&'a [u8], &'a [u8]) {
        let wanted = usize::try_from(to - self.at).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at(bytes.len().min(wanted));
        self.at += now.len() as u64;
        (now, later)
    }

    /// Writes kept bytes. White space is held if something may be inserted before it.
    fn emit(&mut self, bytes: &[u8], wait: bool, sink: &mut dyn Sink) {
        if !wait {
            self.put_white(sink);
            return sink.write(bytes);
        }
        let is_white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let solid = bytes.iter().rposition(|byte| !is_white(byte)).map_or(0, |at| at + 1);
        // Holds as much of the last white space as allowed. Which bytes those are does not depend on the chunks.
        let waits = solid.max(bytes.len().saturating_sub(WHITE));
        let (now, later) = bytes.split_at(waits);
        if !now.is_empty() {
            self.put_white(sink);
            sink.write(now);
        }
        self.white.extend_from_slice(later);
        let over = self.white.len().saturating_sub(WHITE);
        if let Some(over) = self.white.get(..over) {
            sink.write(over);
        }
        self.white.drain(..over);
    }

    fn put_white(&mut self, sink: &mut dyn Sink) {
        if !self.white.is_empty() {
            sink.write(&self.white);
            self.white.clear();
        }
    }
}
