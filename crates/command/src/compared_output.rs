//! [`ComparedOutput`]: the filtered output of several filters, which is written only if it is shorter than the raw one.

use tamis_json::sink::Sink;
use tamis_text::lines::pending_text::COMPARE_LIMIT_WITH_NOTICE;

use super::report::CommandReport;

/// Holds a short raw output and its filtered form until it is known which one is written.
pub(super) struct ComparedOutput {
    /// The raw output, as long as it may be preferred.
    raw: Option<Vec<u8>>,
    /// The filtered output that is not written yet, and the last byte before it.
    pub(super) out: Vec<u8>,
    last_byte: Option<u8>,
}

impl ComparedOutput {
    pub(super) fn new() -> Self {
        Self { raw: Some(Vec::new()), out: Vec::new(), last_byte: None }
    }

    /// Remembers bytes of the raw output.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        if let Some(raw) = &mut self.raw {
            raw.extend_from_slice(bytes);
        }
    }

    /// Writes the filtered output, once it is certain to be used.
    pub(super) fn write_out(&mut self, sink: &mut dyn Sink) {
        self.raw = self.raw.take().filter(|raw| raw.len() <= COMPARE_LIMIT_WITH_NOTICE);
        if self.raw.is_none() {
            self.last_byte = self.out.last().copied().or(self.last_byte);
            sink.write(&self.out);
            self.out.clear();
        }
    }

    /// Writes the filtered output if there is any: somebody waits for it.
    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        if !self.out.is_empty() {
            self.raw = None;
        }
        self.write_out(sink);
    }

    /// Ends the output, with the line that `note` returns for the report. `is_preferred` decides by the report and both lengths
    /// whether the raw output is used, if it is still held. Then nothing is written, and the raw output is returned.
    pub(super) fn end(
        &mut self,
        mut report: CommandReport,
        sink: &mut dyn Sink,
        note: impl FnOnce(&CommandReport) -> Option<String>,
        is_preferred: impl FnOnce(&CommandReport, usize, usize) -> bool,
    ) -> Result<CommandReport, Vec<u8>> {
        if let Some(note) = note(&report) {
            let last = self.out.last().copied().or(self.last_byte);
            let line_end = if last.is_none_or(|byte| byte == b'\n') { "" } else { "\n" };
            let note = format!("{line_end}{note}\n");
            report.lines_out += 1;
            report.bytes_out += note.len() as u64;
            report.chars_out += note.chars().count() as u64;
            self.out.extend_from_slice(note.as_bytes());
        }
        if let Some(raw) = self.raw.take()
            && is_preferred(&report, raw.len(), self.out.len())
        {
            return Err(raw);
        }
        self.write_out(sink);
        Ok(report)
    }
}
