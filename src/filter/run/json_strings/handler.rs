//! The handler: copies the document, and passes the strings at the pointers to a [`StringRun`].

use std::sync::Arc;

use smallvec::SmallVec;
use tamis_json::error::{ErrorKind, Raise};
use tamis_json::key::RawKey;
use tamis_json::limits::Meter;
use tamis_json::path::trie::{Cursor, Trie};
use tamis_json::policy::{Action, Output, Policy};
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::string_run::{StringEnd, StringOutput, StringRun};
use crate::filter::compile::nested::{JsonStringEntry, JsonStringRules};
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::filter::run::document::scope::DocumentScope;
use crate::filter::run::pipe::NewRun;
use crate::filter::run::stage::{StageHandler, StageState};
use crate::report::InnerReport;
use crate::spec::JsonStringFallback;

/// The state between chunks.
#[derive(Debug)]
pub(super) struct JsonStringHandler {
    program: Arc<CompiledProgram>,
    scope: DocumentScope,
    open: SmallVec<[OpenContainer; 8]>,
    writer: JsonWriter,
    /// The string that is being read, by the number of its entry.
    string: Option<usize>,
    /// By entry; created when the first string needs it.
    runs: Vec<Option<Box<StringRun>>>,
    /// By entry.
    reports: Vec<InnerReport>,
    options: CallOptions,
    new_run: NewRun,
    /// That of the run, for the time of a step.
    pub(super) meter: Meter,
}

/// A container on the path to a string.
#[derive(Debug)]
struct OpenContainer {
    cursor: Cursor,
    object: bool,
}

impl JsonStringHandler {
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        options: &CallOptions,
        new_run: NewRun,
    ) -> Self {
        let mut stage = Self {
            program: program.clone(),
            scope: DocumentScope::new(program, false),
            open: SmallVec::new(),
            writer: JsonWriter::default(),
            string: None,
            runs: Vec::new(),
            reports: Vec::new(),
            options: options.of_strings(),
            new_run,
            meter: Meter::default(),
        };
        stage.runs.resize_with(stage.entries().len(), || None);
        stage.reports = stage.fresh_reports();
        stage
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.scope.restart();
        self.open.clear();
        self.writer.reset();
        if let Some(run) = self.string.take().and_then(|entry| self.runs.get_mut(entry)?.as_mut()) {
            run.forget();
        }
        self.reports = self.fresh_reports();
    }

    fn entries(&self) -> &[JsonStringEntry] {
        self.program.json_strings.as_ref().map_or(&[], |rules| &rules.entries)
    }

    fn trie(&self) -> Option<&Trie> {
        self.program.json_strings.as_ref().map(|JsonStringRules { trie, .. }| &**trie)
    }

    fn fresh_reports(&self) -> Vec<InnerReport> {
        self.entries().iter().map(|entry| InnerReport::new(&entry.at)).collect()
    }

    /// Returns the reports of all entries.
    pub(super) fn reports(&self) -> Vec<InnerReport> {
        self.reports.clone()
    }

    /// Returns the largest number of bytes that an inner run held beyond those of the shared meter.
    pub(super) fn held_peak(&self) -> u64 {
        self.reports.iter().map(|report| report.held_peak_bytes).max().unwrap_or(0)
    }

    /// Returns the steps of the machines of all strings.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.runs.iter().flatten().map(|run| run.steps()).sum()
    }

    /// Returns the cursor of a value.
    fn cursor(&self, slot: ValueSlot<'_>) -> Option<Cursor> {
        let trie = self.trie()?;
        Some(match (slot, self.open.last()) {
            (ValueSlot::Member(key), Some(top)) => {
                key.with_name(|name| top.cursor.member(trie, name))
            }
            (ValueSlot::Element(index), Some(top)) => top.cursor.element(trie, index),
            _ => trie.start(),
        })
    }

    /// Begins the string of an entry.
    fn begin_string(&mut self, number: usize, key: Option<&RawKey<'_>>) {
        let Some(entry) = self.program.json_strings.as_ref().and_then(|r| r.entries.get(number))
        else {
            return;
        };
        let Some(slot) = self.runs.get_mut(number) else { return };
        let run = slot
            .get_or_insert_with(|| Box::new(StringRun::new(entry, &self.options, self.new_run)));
        run.begin(key.map(RawKey::raw));
        self.string = Some(number);
    }

    /// Handles a value at a pointer that is not a string. Returns `None` if it is kept.
    fn other_value(
        &mut self,
        number: usize,
        sink: &mut dyn Sink,
        is_top: bool,
    ) -> Result<Option<Interest>, Raise> {
        let Some(entry) = self.entries().get(number) else { return Ok(None) };
        let otherwise = entry.otherwise;
        if otherwise == JsonStringFallback::Error {
            let message = format!("json_strings: expected a string with JSON at `{}`", entry.at);
            return Err(Raise::new(ErrorKind::Syntax, message));
        }
        self.count(number, Some(StringEnd::Kept), sink);
        if otherwise == JsonStringFallback::Keep {
            return Ok(None);
        }
        if is_top {
            self.drop_document(sink);
        }
        Ok(Some(Interest::Skip))
    }

    /// Counts a value at a pointer, unless the rules after this stage have stopped or failed before it.
    ///
    /// They read what is written here in pieces that depend on the chunks. So they first get all that was written.
    fn count(&mut self, number: usize, end: Option<StringEnd>, sink: &mut dyn Sink) {
        self.writer.flush(sink);
        if sink.is_closed() {
            return;
        }
        let Self { reports, runs, .. } = self;
        let Some(report) = reports.get_mut(number) else { return };
        match end {
            Some(StringEnd::Filtered) => {
                if let Some(run) = runs.get(number).and_then(Option::as_ref) {
                    run.report(report);
                }
            }
            Some(StringEnd::Kept | StringEnd::Dropped) => report.not_json += 1,
            None => {}
        }
    }

    /// Writes a document of which nothing is kept, which must still be valid JSON.
    fn drop_document(&mut self, sink: &mut dyn Sink) {
        self.writer.begin(sink);
        self.writer.raw(sink, b"null");
        // There is no event at the end of a value that is skipped.
        self.scope.leave();
    }

    /// Opens a container in which a pointer continues.
    fn open(&mut self, slot: ValueSlot<'_>, cursor: Cursor, object: bool, sink: &mut dyn Sink) {
        if let ValueSlot::Member(key) = slot {
            self.writer.key(sink, &[b"\"", key.raw(), b"\""].concat());
        }
        self.writer.open(sink, if object { b'{' } else { b'[' });
        self.open.push(OpenContainer { cursor, object });
    }
}

impl StageState for JsonStringHandler {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for StageHandler<'_, JsonStringHandler> {
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        _: u64,
    ) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        if let Some(interest) = stage.scope.find(&mut slot, kind)? {
            return Ok(interest);
        }
        let cursor = stage.cursor(slot).unwrap_or_default();
        if let Some(number) = cursor.rule().map(|rule| rule as usize) {
            if matches!(kind, ValueKind::String | ValueKind::EmptyString) {
                let key = match &slot {
                    ValueSlot::Member(key) => Some(key),
                    ValueSlot::Top | ValueSlot::Element(_) => None,
                };
                stage.begin_string(number, key);
                return Ok(Interest::Copy);
            }
            let is_top = matches!(slot, ValueSlot::Top);
            if let Some(interest) = stage.other_value(number, *sink, is_top)? {
                return Ok(interest);
            }
        }
        if kind.is_container() && !cursor.is_dead() {
            stage.open(slot, cursor, kind == ValueKind::Object, *sink);
            return Ok(Interest::Inspect);
        }
        stage.writer.begin(*sink);
        Ok(match slot {
            ValueSlot::Member(_) => Interest::CopyMember,
            ValueSlot::Top | ValueSlot::Element(_) => Interest::Copy,
        })
    }

    fn policy(&mut self) -> Policy<'_> {
        let Self { stage, sink } = self;
        let JsonStringHandler { program, scope, open, writer, .. } = &mut **stage;
        let (true, Some(rules), Some(top)) =
            (scope.is_inside(), program.json_strings.as_ref(), open.last())
        else {
            return Policy::ASK;
        };
        match top.cursor.names(&rules.trie) {
            Some(names) => Policy {
                output: Some(Output { writer, sink: *sink }),
                ..Policy::ask_named(names, Action::Keep)
            },
            None => Policy::ASK,
        }
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let Self { stage, sink } = self;
        if !stage.scope.close()? {
            return Ok(());
        }
        if let Some(top) = stage.open.pop() {
            stage.writer.close(*sink, if top.object { b'}' } else { b']' });
        }
        if stage.open.is_empty() {
            stage.scope.leave();
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        let Self { stage, sink } = self;
        let JsonStringHandler { writer, string, runs, meter, .. } = &mut **stage;
        match string.and_then(|number| runs.get_mut(number)?.as_mut()) {
            None => writer.raw(*sink, bytes),
            Some(run) => run.write(bytes, meter, &mut StringOutput { writer, sink: *sink }),
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let Self { stage, sink } = self;
        let mut end = None;
        if let Some(number) = stage.string.take() {
            let JsonStringHandler { writer, runs, meter, .. } = &mut **stage;
            if let Some(run) = runs.get_mut(number).and_then(Option::as_mut) {
                end = Some(run.end(meter, &mut StringOutput { writer, sink: *sink })?);
            }
            stage.count(number, end, *sink);
        }
        if stage.open.is_empty() {
            match end {
                Some(StringEnd::Dropped) => stage.drop_document(*sink),
                _ => stage.scope.leave(),
            }
        }
        Ok(())
    }

    fn lead(&mut self, bytes: &[u8]) {
        if self.stage.scope.is_inside() {
            self.stage.writer.lead(bytes);
        }
    }

    fn gap(&mut self, bytes: &[u8]) {
        if self.stage.scope.is_inside() {
            self.stage.writer.gap(bytes);
        }
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        // Inside the document a member is kept with its key.
        !self.stage.scope.is_inside() && self.stage.scope.takes_long_keys(limit)
    }
}
