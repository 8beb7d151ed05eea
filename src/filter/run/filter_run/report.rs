//! The report of a run, and the facts that a first pass has found.

use std::collections::HashSet;
use std::sync::Arc;

use tamis_json::nearest::ComparisonBudget;

use super::restoring::FactoredInput;
use super::{FilterRun, RunPhase};
use crate::filter::compile::call::Skips;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::document_facts::DocumentFacts;
use crate::filter::run::items::SHOWN;
use crate::filter::run::lookahead::Probe;
use crate::filter::run::pipe::{Pipe, Stage};
use crate::filter::run::redact_error::redact_report;
use crate::filter::run::shape_search::ShapeSearch;
use crate::report::{MissedPath, PlanStep, Report, SkipReason};

impl FilterRun {
    /// Returns whether a first pass can find out more than what is known.
    pub(in crate::filter) fn looks_beyond(&self, facts: DocumentFacts) -> bool {
        match &self.pipe {
            _ if facts.is_factored => false,
            Some(pipe) => pipe.first().is_some_and(Stage::is_looking),
            // If no branch holds, there is nothing more to find out.
            None => self.phase == RunPhase::Branch && facts.branch.is_none(),
        }
    }

    /// Returns what the first pass has found out. A fact is absent as long as later bytes may
    /// change it.
    pub(in crate::filter) fn found(&self) -> DocumentFacts {
        let choice = self.choosing.as_ref().and_then(|choosing| choosing.ahead.probe().decided());
        DocumentFacts {
            // If the branch was known, only its payload is new.
            branch: choice.filter(|_| self.facts.branch.is_none()).map(|(branch, _)| branch),
            payload: self.pipe.as_ref().and_then(Pipe::first).and_then(Stage::decided),
            is_factored: self.restoring.as_ref().is_some_and(FactoredInput::is_factored),
        }
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(in crate::filter) fn steps(&self) -> u64 {
        let seeking = self.seeking.as_ref().map_or(0, |seeking| seeking.ahead.steps());
        let shaping = self.shaping.as_ref().map_or(0, |shaping| shaping.ahead.steps());
        let choosing = self.choosing.as_ref().map_or(0, |choosing| choosing.ahead.steps());
        seeking + shaping + choosing + self.pipe.as_ref().map_or(0, Pipe::steps)
    }

    /// Returns the steps of the stages after the first one, and the bytes read to shorten strings.
    #[cfg(test)]
    pub(in crate::filter) fn output_steps(&self) -> (u64, u64) {
        self.pipe.as_ref().map_or((0, 0), Pipe::output_steps)
    }

    /// Adds probable corrections to the first selected paths that were not found. Messages name no more than these.
    pub(in crate::filter) fn suggest(&self, missed: &mut [MissedPath]) {
        let Some(pipe) = &self.pipe else { return };
        let mut pairs = ComparisonBudget::default();
        for one in missed.iter_mut().take(SHOWN) {
            one.meant = pipe.correction(&one.path, &mut pairs);
        }
    }

    /// Returns the report with the plan and with suggestions for missed paths.
    pub(in crate::filter) fn report(&self) -> Report {
        let mut report = self.tally();
        // A path may be selected twice, under two keys.
        let mut known = HashSet::new();
        let missed = report.partial_miss.iter().filter(|path| known.insert(path.as_str()));
        report.missed = missed.map(|path| MissedPath { path: path.clone(), meant: None }).collect();
        self.suggest(&mut report.missed);
        report.plan = self.whole_plan();
        report
    }

    /// Returns the plan of the branch that was chosen, or that of the program.
    pub(super) fn whole_plan(&self) -> Vec<PlanStep> {
        let after = self.pipe.as_ref().and_then(Pipe::plan);
        let mut plan = match (&self.branch, after) {
            (None, Some(rest)) => self.program.plan_of_strings(&rest),
            (None, None) => self.program.plan_with(&self.options),
            (Some((_, program)), _) => self.program.plan_of_branch(program, &self.options),
        };
        if self.has_left_shape() {
            let at = usize::from(self.program.compiled().extract.is_some());
            plan.insert(at.min(plan.len()), PlanStep::Requires);
        }
        if self.seeking.is_some() && self.phase != RunPhase::Extract {
            // Whether or not the value was found.
            plan.retain(|step| !matches!(step, PlanStep::Extract { .. }));
            plan.insert(0, PlanStep::Extract { may_lack: true });
        }
        plan
    }

    /// Returns whether the document is not of the shape that was searched for last.
    fn has_left_shape(&self) -> bool {
        let of_shape = self.shaping.as_ref().map(|shaping| shaping.program.compiled());
        of_shape.is_some_and(|of_shape| !Arc::ptr_eq(of_shape, self.program.compiled()))
    }

    /// Returns whether the document is of no shape that rules are for.
    fn is_other_shape(&self) -> bool {
        let has_fallback = |shaping: &ShapeSearch| shaping.program.compiled().fallback.is_some();
        self.has_left_shape() && !self.shaping.as_deref().is_some_and(has_fallback)
    }

    /// Adds the reason why no document of this call is factored.
    fn report_factor(&self, report: &mut Report) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let spec = &program.compiled().spec;
        let policy = SizePolicy::new(spec, self.options.policy());
        if policy.factor && report.error.is_none() && report.factored.is_none() {
            let skip = program.compiled().factor_skip(&policy);
            report.factor_skipped = report.factor_skipped.or(skip);
        }
    }

    /// Returns the report without the plan.
    pub(in crate::filter) fn tally(&self) -> Report {
        // A final newline is not part of the document, so its byte does not count.
        let newline = u64::from(self.last == b'\n');
        let consumed = match self.failure.as_ref().and_then(|failure| failure.offset) {
            Some(offset) => offset,
            None => self.consumed.saturating_sub(newline),
        };
        let written = self.pipe.as_ref().map_or(0, Pipe::written);
        let other_shape = self.is_other_shape().then_some(SkipReason::Shape);
        let mut report = Report {
            applied: self.applies && other_shape.is_none() && self.failure.is_none(),
            original_bytes: consumed,
            result_bytes: written,
            skipped: self.skips.map(Skips::reason).or(other_shape),
            held_peak_bytes: self.meter.peak(),
            branch: self.branch.as_ref().map(|(branch, _)| *branch),
            error: self.failure.clone(),
            ..Report::default()
        };
        if let Some(pipe) = &self.pipe {
            pipe.report(&mut report);
            // An output stage has replaced the size, so the size of the actual output is reported, too.
            let same = report.result_bytes == written;
            report.output_bytes = (!same).then_some(written);
        }
        redact_report(&self.program, &mut report);
        self.report_factor(&mut report);
        report
    }
}
