//! The path of an output: recorded, then filtered, then written.

use std::cell::RefCell;
use std::io::{ErrorKind as IoKind, Write};
use std::process::ExitStatus;
use std::rc::Rc;

use tamis_json::error::Error;
use tamis_json::sink::Sink;
use tamis_text::quoted::DiscardSink;

use super::READ;
use super::recorder::OutputRecord;
use super::report::{RunReport, RunnerWarning};
use crate::command_filter::CommandFilter;
use crate::full_output::FullOutput;
use crate::report::CommandReport;
use tamis::text::{InvisibleFilter, TextRedactor};

/// The filtered output of one read, shared by the filter, which appends to it, and [`OutputFlow`], which writes it out.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedBuffer(Rc<RefCell<Vec<u8>>>);

impl Sink for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

/// The path of the output: recorded, then filtered, then written.
pub(super) struct OutputFlow<W> {
    /// `None` if the output is passed through from now on.
    pub(super) filter: Option<CommandFilter<SharedBuffer>>,
    /// Counts the output that is passed through.
    pub(super) counted: CommandFilter<DiscardSink>,
    pub(super) buffer: SharedBuffer,
    pub(super) output: W,
    pub(super) record: Option<Box<dyn OutputRecord>>,
    /// Whether writing the record failed. The record is kept as far as it was written.
    pub(super) record_broke: bool,
    /// Removes invisible characters before anything else.
    pub(super) invisible: Option<InvisibleFilter>,
    /// Replaces credentials.
    pub(super) redactor: Option<TextRedactor>,
    pub(super) keep: bool,
    pub(super) report: RunReport,
}

impl<W: Write> OutputFlow<W> {
    pub(super) fn take(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        let Some(invisible) = &mut self.invisible else { return self.take_visible(bytes, warn) };
        let mut visible = Vec::new();
        invisible.write(bytes, &mut visible);
        self.take_visible(&visible, warn);
    }

    /// Ends the line in which invisible characters are looked for.
    fn end_visible(&mut self, warn: &mut impl FnMut(RunnerWarning)) {
        if let Some(invisible) = &mut self.invisible {
            let mut visible = Vec::new();
            invisible.end(&mut visible);
            self.take_visible(&visible, warn);
        }
    }

    /// Reads output without invisible characters.
    fn take_visible(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        let Some(redactor) = &mut self.redactor else { return self.take_safe(bytes, warn) };
        let mut safe = Vec::new();
        redactor.write(bytes, &mut safe);
        self.take_safe(&safe, warn);
    }

    /// Reads output without credentials.
    fn take_safe(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        if let Some(record) = self.record.as_mut().filter(|_| !self.record_broke) {
            let was_full = record.left_out() > 0;
            if let Err(error) = record.write_all(bytes) {
                self.record_broke = true;
                self.report.record_failed = true;
                // Only recorded output may be cut, so nothing more is cut.
                self.end_filter(None);
                self.end_line();
                warn(RunnerWarning::RecordBroke(error));
            } else if !was_full && record.left_out() > 0 {
                warn(RunnerWarning::RecordFull(record.written()));
            }
        }
        match &mut self.filter {
            // Fails only after the end, and a filter that has ended is taken out.
            Some(filter) => _ = filter.write(bytes),
            None => {
                _ = self.counted.write(bytes);
                self.buffer.write(bytes);
            }
        }
        self.write_out();
    }

    /// Releases held output: the command is silent.
    pub(super) fn release(&mut self, warn: &mut impl FnMut(RunnerWarning)) {
        self.end_visible(warn);
        if let Some(redactor) = &mut self.redactor {
            let mut safe = Vec::new();
            redactor.release(&mut safe);
            self.take_safe(&safe, warn);
        }
        if let Some(filter) = &mut self.filter {
            filter.release();
            self.write_out();
        }
    }

    /// Ends the filter; later output is passed through.
    pub(super) fn end_filter(&mut self, exit_code: Option<i32>) {
        let Some(mut filter) = self.filter.take() else { return };
        let full = self.record.as_ref().map(|record| {
            let place = record.place();
            if self.record_broke {
                FullOutput::new(format!("{place} (until it could not be written)"))
            } else if record.left_out() > 0 {
                FullOutput::new(format!("{place} (its first {} bytes)", record.written()))
            } else if record.prints_lines() {
                FullOutput::command(place.to_string())
            } else {
                FullOutput::new(place.to_string())
            }
        });
        filter.set_exit_code(exit_code);
        if let Some(full) = full {
            filter.set_full_output(full);
        }
        self.report.output = filter.end().unwrap_or_default();
    }

    /// Ends the open line, so that passed-through output does not continue a line that the filter has cut.
    fn end_line(&mut self) {
        let mut buffer = self.buffer.0.borrow_mut();
        if self.report.output.cut && buffer.last().is_some_and(|byte| *byte != b'\n') {
            buffer.push(b'\n');
        }
    }

    /// Writes the buffer to the output.
    fn write_out(&mut self) {
        let mut buffer = self.buffer.0.borrow_mut();
        if !buffer.is_empty() && self.report.error.is_none() {
            let written = self.output.write_all(&buffer).and_then(|()| self.output.flush());
            if let Err(error) = written {
                self.report.error = Some(Error::write(error));
            }
        }
        buffer.clear();
        // A filter may have written much at once.
        buffer.shrink_to(2 * READ);
    }

    pub(super) fn end(
        mut self,
        status: ExitStatus,
        warn: &mut impl FnMut(RunnerWarning),
    ) -> RunReport {
        let code = exit_code(status);
        self.end_visible(warn);
        let mut redaction = None;
        if let Some(mut redactor) = self.redactor.take() {
            let mut safe = Vec::new();
            let redacted = redactor.end(&mut safe);
            redaction = Some((*redactor.text_report(), redacted));
            self.take_safe(&safe, warn);
        }
        self.end_filter(code);
        self.write_out();
        let Self { mut report, mut counted, record, invisible, .. } = self;
        add_passed(&mut report.output, &counted.end().unwrap_or_default());
        if let Some((read, redacted)) = redaction {
            report.output.add_redaction(&read, redacted);
        }
        report.status = status;
        report.invisible = invisible.map_or(0, |filter| filter.report().total());
        report.output.exit_code = code;
        report.output.full_output = None;
        let lost = report.error.as_ref().and_then(Error::io_error);
        let lost = lost.is_some_and(|error| error.kind() != IoKind::BrokenPipe);
        if let Some(record) = record.filter(|_| self.keep || report.output.cut || lost) {
            let complete = !self.record_broke && record.left_out() == 0;
            let place = record.place();
            match record.keep() {
                Ok(()) => {
                    report.record_complete = complete;
                    report.output.full_output = Some(place.to_string());
                    report.record = Some(place);
                }
                Err(error) => {
                    report.record_failed = true;
                    warn(RunnerWarning::RecordLost(error));
                }
            }
        }
        report
    }
}

/// Returns the exit code, or that of a shell for a command that a signal killed.
#[cfg(unix)]
fn exit_code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| Some(128 + status.signal()?))
}

/// Returns the exit code.
#[cfg(not(unix))]
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// Adds the sizes of passed-through output to those of filtered output.
fn add_passed(report: &mut CommandReport, passed: &CommandReport) {
    report.bytes_in += passed.bytes_in;
    report.bytes_out += passed.bytes_out;
    report.chars_in += passed.chars_in;
    report.chars_out += passed.chars_out;
    report.lines_in += passed.lines_in;
    report.lines_out += passed.lines_out;
}
