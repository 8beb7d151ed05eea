//! Builds the stages of a window and drives the bytes of an entry through them.
//!
//! A read ends as soon as no stage needs more: a window near the beginning of a large entry does not read its rest.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::rc::Rc;

use tamis::spec::{OnError, Root, Siblings, Validation};
use tamis::{Filter, Program, Sink, Spec};

use super::grep::GrepStage;
use super::items::ItemStage;
use super::lines::LineStage;
use super::output::{CutStage, MarkMode, MarkStage};
use super::report::WindowFacts;
use super::stage::Stage;
use super::text_view::TextViewStage;
use super::{ReadError, Window, WindowError, WindowReport};
use crate::backend::{EntryBytes, StoredEntry};
use crate::entry::{EntryHeader, EntryKind};

/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// The first stage, as the sink of a filter.
struct StageSink<'a>(Box<dyn Stage + 'a>);

impl Sink for StageSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl Window {
    /// Writes the window of an entry to `out`.
    pub(crate) fn run(
        &self,
        entry: StoredEntry,
        out: &mut dyn Sink,
    ) -> Result<WindowReport, ReadError> {
        let StoredEntry { header, mut bytes } = entry;
        let is_json = header.meta.kind() == EntryKind::Json;
        if !is_json && let Some(part) = self.part_of_json() {
            let message = format!("{part}: the entry is text; use lines, grep or offset");
            return Err(WindowError(message).into());
        }
        // Two ways lead through an entry: bytes and lines of it, or values that the engine finds.
        let program = if is_json { self.program(&header)? } else { None };
        let as_text = self.lines.is_some() || self.grep.is_some();
        let mut facts = WindowFacts::default();
        // A window that only cuts does not read what is before it.
        let skipped = if program.is_none() && !as_text {
            let skipped = self.offset.min(header.size);
            bytes.seek(SeekFrom::Start(skipped))?;
            facts.total = Some(header.size);
            skipped
        } else {
            0
        };
        let stage = self.stages(&header, program.is_some(), skipped, out);
        let mut sink = StageSink(stage);
        match program {
            None => {
                _ = pump(&mut bytes, |chunk| {
                    sink.write(chunk);
                    Ok(!sink.is_closed())
                })?
            }
            Some(program) => {
                // The filter is done after the last item of the window. It is closed after the last byte.
                let mut filter = Filter::new(&program, &mut sink);
                let ended = pump(&mut bytes, |chunk| {
                    filter.write(chunk).map_err(|error| self.not_there(&error))?;
                    Ok(!filter.is_done() && !filter.sink().is_closed())
                })?;
                if ended || filter.is_done() {
                    let report = filter.end().map_err(|error| self.not_there(&error))?;
                    facts.more_items = report.tail_unread;
                }
            }
        }
        sink.0.end(&mut facts);
        drop(sink);
        if facts.more_items {
            // The engine read only as far as the window.
            facts.items = None;
        }
        if facts.no_items {
            let message = match &self.pointer {
                Some(pointer) => format!("items: the value at {pointer} is not an array"),
                None => String::from("items: the entry has no array of items"),
            };
            return Err(WindowError(message).into());
        }
        Ok(WindowReport::new(&header, self, &facts))
    }

    /// Returns the name of a part of the window that only JSON has.
    fn part_of_json(&self) -> Option<&'static str> {
        let parts = [
            ("pointer", self.pointer.is_some()),
            ("items", self.items.is_some()),
            ("select", !self.select.is_empty()),
        ];
        parts.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
    }

    /// Whether the window is about the items of the entry, rather than about one value.
    fn has_items(&self) -> bool {
        self.items.is_some() || !self.select.is_empty()
    }

    /// Compiles what the engine does. `None` if the window has no part of JSON.
    fn program(&self, header: &EntryHeader) -> Result<Option<Program>, WindowError> {
        if self.part_of_json().is_none() {
            return Ok(None);
        }
        // The entry was validated when it was filtered.
        let mut spec = Spec::new().validation(Validation::Structure).on_error(OnError::Closed);
        let items = header.meta.items().filter(|_| self.has_items());
        match self.pointer.as_deref().or(items) {
            // The document is the array.
            Some("") => spec = spec.root(Root::Object),
            // An array is the payload in every mode. An object is one item, even if it contains arrays.
            Some(path) => spec = spec.extract(path).root(Root::Object),
            // Siblings of the array would only be in the way: the window has its items.
            None => spec = spec.root(Root::Auto).siblings(Siblings::Drop),
        }
        spec = self.selecting(spec);
        if let Some(last) = self.items.and_then(|items| items.last) {
            spec = spec.max_items(last.saturating_add(1)).stop_early(true);
        }
        let program = Program::compile(&spec);
        program.map(Some).map_err(|error| WindowError(error.message().to_owned()))
    }

    /// Whether the items may be in a member of the document, because their path is not known.
    fn searches_items(&self, header: &EntryHeader) -> bool {
        self.pointer.is_none() && header.meta.items().is_none()
    }

    /// Builds the stages, from the last one to the first. `skipped` bytes of the window were skipped by seeking.
    fn stages<'a>(
        &'a self,
        header: &EntryHeader,
        has_program: bool,
        skipped: u64,
        out: &'a mut dyn Sink,
    ) -> Box<dyn Stage + 'a> {
        let is_text = header.meta.kind() == EntryKind::Text;
        let as_text = self.lines.is_some() || self.grep.is_some();
        // If a value at a pointer turns out to be a string, the mode becomes `Lines`.
        let mode = Rc::new(Cell::new(match is_text {
            true => MarkMode::Lines,
            false if self.offset > 0 => MarkMode::Beginning,
            false => MarkMode::Nothing,
        }));
        let mut stage: Box<dyn Stage + 'a> = Box::new(CutStage::new(
            self.offset,
            skipped,
            self.limit,
            MarkStage::new(Rc::clone(&mode), out),
        ));
        if let Some(pattern) = &self.grep {
            let first = self.lines.map_or(1, |lines| lines.first);
            stage = Box::new(GrepStage::new(pattern, self.context, first, stage));
        }
        if let Some(lines) = self.lines {
            stage = Box::new(LineStage::new(lines, stage));
        }
        if !is_text && (as_text || self.pointer.is_some()) {
            stage = Box::new(TextViewStage::new(as_text, mode, stage));
        }
        if has_program && self.has_items() {
            let search = self.searches_items(header);
            stage = Box::new(ItemStage::new(self.items, search, stage));
        }
        stage
    }

    /// Converts an error of the engine into one about the window.
    fn not_there(&self, error: &tamis::Error) -> ReadError {
        match error.io_error() {
            Some(error) => ReadError::Io(io::Error::new(error.kind(), error.to_string())),
            None => {
                let message = error.message();
                let message = message.strip_prefix("extract: ").unwrap_or(message);
                WindowError(message.to_owned()).into()
            }
        }
    }
}

/// Passes the bytes on until the end, or until `take` needs no more. Returns whether the end was reached.
fn pump(
    bytes: &mut Box<dyn EntryBytes>,
    mut take: impl FnMut(&[u8]) -> Result<bool, ReadError>,
) -> Result<bool, ReadError> {
    let mut buffer = vec![0; READ];
    loop {
        match bytes.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => {
                if !take(buffer.get(..count).unwrap_or_default())? {
                    return Ok(false);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
