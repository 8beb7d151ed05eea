//! The path of the bytes of an output through the states of a [`CommandFilter`].

use tamis_json::Sink;
use tamis_text::lines::pending_text::COMPARE_LIMIT_WITH_NOTICE;
use tamis_text::notice;

use super::{CommandFilter, CommandFilterState};
use crate::exit_variant::{ExitVariant, marking};
use crate::full_output::FullOutput;
use crate::machine_output::{self, DETECTION_LENGTH, OutputFormat};
use crate::output_filter::{mark_imitations, report_of};
use crate::report::{PassThroughReason, said};
use crate::rules::ExitCondition;
use tamis::text::TextReport;

/// Bytes that are written to the variants of a rule at once.
const PIECE: usize = 16 << 10;

impl<S: Sink> CommandFilter<S> {
    /// Filters the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let held = self.held();
        match &mut self.state {
            CommandFilterState::Detecting { head, .. } => {
                let room = DETECTION_LENGTH - head.len();
                let (now, later) = bytes.split_at(bytes.len().min(room));
                head.extend_from_slice(now);
                match machine_output::detect(head) {
                    OutputFormat::Unknown => {}
                    OutputFormat::Text => self.detected(false),
                    OutputFormat::Structured => self.detected(true),
                }
                if !later.is_empty() {
                    self.push(later);
                }
            }
            CommandFilterState::Rule { variants } => {
                if let [ExitVariant { pipeline, .. }] = variants.as_mut_slice() {
                    pipeline.write(bytes, &mut self.sink);
                    return;
                }
                // In pieces, so that the held outputs exceed the limit by about one piece at most.
                for bytes in bytes.chunks(PIECE) {
                    self.push_to_variants(bytes);
                }
            }
            CommandFilterState::Custom { raw, .. } => {
                if raw.len() + bytes.len() <= held {
                    raw.extend_from_slice(bytes);
                    return;
                }
                let raw = std::mem::take(raw);
                self.pass_through(PassThroughReason::TooLong, &raw);
                self.push(bytes);
            }
            CommandFilterState::Compound(run) => run.write(bytes, &mut self.sink),
            CommandFilterState::Steps(run) => run.write(bytes, &mut self.sink),
            CommandFilterState::PassThrough(pipeline) => pipeline.write(bytes, &mut self.sink),
        }
    }

    /// Bytes that may be held.
    pub(super) fn held(&self) -> usize {
        usize::try_from(self.limits.held()).unwrap_or(usize::MAX)
    }

    /// Leaves the state `Detecting`: the format of the output is known.
    pub(super) fn detected(&mut self, structured: bool) {
        let CommandFilterState::Detecting { head, variants } = &mut self.state else { return };
        let (head, variants) = (std::mem::take(head), std::mem::take(variants));
        if structured {
            self.pass_through(PassThroughReason::Structured, &head);
        } else {
            self.state = CommandFilterState::Rule { variants };
            self.push(&head);
        }
    }

    /// Passes the output through from now on, including `before`, which was held.
    fn pass_through(&mut self, reason: PassThroughReason, before: &[u8]) {
        let mut pipeline = marking(&self.limits);
        pipeline.write(before, &mut self.sink);
        self.state = CommandFilterState::PassThrough(pipeline);
        (self.filter, self.passed) = (None, Some(reason));
    }

    fn push_to_variants(&mut self, bytes: &[u8]) {
        let held = self.held();
        let CommandFilterState::Rule { variants } = &mut self.state else { return };
        if let [ExitVariant { pipeline, .. }] = variants.as_mut_slice() {
            return pipeline.write(bytes, &mut self.sink);
        }
        let mut waiting = 0;
        for ExitVariant { pipeline, out, .. } in variants.iter_mut() {
            pipeline.write(bytes, out);
            waiting += out.len();
        }
        if waiting > held {
            self.choose_failed();
        }
    }

    /// Drops all variants of the rule except the one for a failure, which keeps most.
    pub(super) fn choose_failed(&mut self) {
        let CommandFilterState::Rule { variants } = &mut self.state else { return };
        let of = |exit| variants.iter().position(|variant| variant.exit == exit);
        let place = of(ExitCondition::Failed).or_else(|| of(ExitCondition::Any)).unwrap_or(0);
        let mut chosen = variants.swap_remove(place);
        self.sink.write(&std::mem::take(&mut chosen.out));
        *variants = vec![chosen];
    }

    /// Runs the [`OutputFilter`] over the held output, if there is one, and leaves the state `PassThrough`. Returns
    /// what the filter did, or `None` if the output is passed through unchanged.
    pub(super) fn run_custom(&mut self) -> Option<TextReport> {
        let CommandFilterState::Custom { filter, command, raw } = &mut self.state else {
            return None;
        };
        let raw = std::mem::take(raw);
        let Ok(text) = std::str::from_utf8(&raw) else {
            self.pass_through(PassThroughReason::NotText, &raw);
            return None;
        };
        let result = filter.filter(command, text, self.exit_code.unwrap_or(-1)).output;
        let (mut out, lines_marked) = mark_imitations(text, result);
        let mut report = report_of(text, &out);
        report.lines_marked = lines_marked;
        let lines = report.lines_out;
        let without_notice = out.len();
        if self.writes_notice
            && let Some(said) = said(&report)
        {
            let full = self.full_output.as_ref().map(FullOutput::as_str);
            let notice = notice::cut(filter.name(), &said, full);
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&notice);
            out.push('\n');
        }
        let mut passing = marking(&self.limits);
        let is_longer = without_notice >= raw.len()
            || (out.len() >= raw.len() && raw.len() <= COMPARE_LIMIT_WITH_NOTICE);
        if is_longer {
            passing.write(&raw, &mut self.sink);
            self.state = CommandFilterState::PassThrough(passing);
            return None;
        }
        self.state = CommandFilterState::PassThrough(passing);
        self.sink.write(out.as_bytes());
        report.lines_out = lines + u64::from(out.len() > without_notice);
        report.bytes_out = out.len() as u64;
        report.chars_out = out.chars().count() as u64;
        Some(report)
    }
}
