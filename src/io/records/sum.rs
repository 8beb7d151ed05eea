//! Adds up the reports of all records.
//!
//! The sum does not depend on the stream: its input is one report or error per record.

use std::collections::HashMap;

use tamis_json::error::Error;
use tamis_json::test_work::{WorkKind, count, words};

use crate::report::{
    FailureReport, InnerReport, MissedPath, PayloadPath, PlanStep, Report, add_counts,
};

/// The sum so far.
#[derive(Debug)]
pub(super) struct ReportSum {
    /// The word for a record in messages.
    record: &'static str,
    pub(super) report: Report,
    /// There are records to which the filter was not applied.
    unfiltered: bool,
    /// Lengths of the payloads, if at least one of them was cut.
    lengths: u64,
    cut: bool,
    roots: Option<Option<PayloadPath>>,
    /// The report's list of missed paths, each with the number of records that missed it and the last of them. Each
    /// record may miss ten thousand, and lists a path as often as it was selected.
    missed: HashMap<String, (u64, u64)>,
    /// Number of records whose missed paths are known.
    judged: u64,
    /// Numbers of records that fell back, and of those without a summary. The report has the first message of each.
    fallbacks: u64,
    uncompacted: u64,
    /// The error of the first bad record.
    first_bad: Option<Error>,
    failed: Option<FailureReport>,
}

impl ReportSum {
    pub(super) fn new(record: &'static str) -> Self {
        Self {
            record,
            report: Report::default(),
            unfiltered: false,
            lengths: 0,
            cut: false,
            roots: None,
            missed: HashMap::new(),
            judged: 0,
            fallbacks: 0,
            uncompacted: 0,
            first_bad: None,
            failed: None,
        }
    }

    /// Adds a good record.
    pub(super) fn add(&mut self, number: u64, one: &Report) {
        let record = self.record;
        let sum = &mut self.report;
        self.unfiltered |= !one.applied;
        sum.original_bytes += one.original_bytes;
        sum.result_bytes += one.result_bytes;
        // The key is present as soon as one record has it, and then counts all.
        let before = sum.result_bytes - one.result_bytes;
        if let Some(bytes) = one.output_bytes {
            sum.output_bytes = Some(sum.output_bytes.unwrap_or(before) + bytes);
        } else if let Some(bytes) = &mut sum.output_bytes {
            *bytes += one.result_bytes;
        }
        sum.duplicates_dropped += one.duplicates_dropped;
        sum.base64_omitted += one.base64_omitted;
        sum.base64_omitted_bytes += one.base64_omitted_bytes;
        add_counts(&mut sum.redacted, &one.redacted);
        sum.held_peak_bytes = sum.held_peak_bytes.max(one.held_peak_bytes);
        sum.tail_unread |= one.tail_unread;
        sum.items_seen = added(sum.items_seen, one.items_seen);
        sum.where_dropped += one.where_dropped;
        sum.kind_kept += one.kind_kept;
        sum.omitted_members += one.omitted_members;
        sum.projection_skipped += one.projection_skipped;
        sum.items_kept = added(sum.items_kept, one.items_kept);
        let length = one.items_truncated_from.or(one.items_at_least).or(one.items_seen);
        self.lengths += length.unwrap_or(0);
        self.cut |= one.items_truncated_from.is_some();
        // A sum that includes a lower bound is a lower bound.
        if one.items_at_least.is_some() {
            sum.items_at_least = Some(0);
        }
        self.judged += u64::from(one.select_judged);
        for path in &one.partial_miss {
            count(WorkKind::Names, 1 + words(path.len()));
            match self.missed.get_mut(path) {
                Some((_, last)) if *last == number => {}
                Some((records, last)) => (*records, *last) = (*records + 1, number),
                None => {
                    self.missed.insert(path.clone(), (1, number));
                    sum.partial_miss.push(path.clone());
                }
            }
        }
        sum.skipped = sum.skipped.or(one.skipped);
        if let Some(why) = &one.fallback {
            self.fallbacks += 1;
            sum.fallback.get_or_insert_with(|| format!("{record} {number}: {why}"));
        }
        if let Some(why) = &one.compact_error {
            self.uncompacted += 1;
            sum.compact_error.get_or_insert_with(|| format!("{record} {number}: {why}"));
        }
        InnerReport::add_all(&mut sum.inner, &one.inner);
        sum.content_hidden |= one.content_hidden;
        if let Some(one) = one.factored {
            sum.factored.get_or_insert_default().add(one);
        }
        sum.factor_skipped = sum.factor_skipped.or(one.factor_skipped);
        if let Some(one) = one.left_out {
            let sum = sum.left_out.get_or_insert_default();
            sum.blocks += one.blocks;
            sum.words += one.words;
        }
        sum.budget_applied |= one.budget_applied;
        sum.budget_exceeded |= one.budget_exceeded;
        if let Some(one) = &one.budget_cuts {
            sum.budget_cuts.get_or_insert_default().add(one);
        }
        sum.prefer_skipped = sum.prefer_skipped.or(one.prefer_skipped);
        sum.budget_limit = sum.budget_limit.or(one.budget_limit);
        sum.budget_original_bytes = added(sum.budget_original_bytes, one.budget_original_bytes);
        sum.budget_result_bytes = added(sum.budget_result_bytes, one.budget_result_bytes);
        sum.tokens_limit = sum.tokens_limit.or(one.tokens_limit);
        sum.tokens_original = added(sum.tokens_original, one.tokens_original);
        sum.tokens_result = added(sum.tokens_result, one.tokens_result);
        sum.tokens_estimated |= one.tokens_estimated;
        match &mut self.roots {
            None => self.roots = Some(one.root.clone()),
            Some(root) if !is_same(root.as_ref(), one.root.as_ref()) => *root = None,
            Some(_) => {}
        }
    }

    /// Notes that the rest of the stream is not read.
    pub(super) fn stop(&mut self) {
        self.report.tail_unread = true;
    }

    /// Counts bytes of a bad record.
    pub(super) fn add_bad_bytes(&mut self, bytes: u64) {
        self.report.original_bytes += bytes;
    }

    /// Counts bytes that were held for something other than a document.
    pub(super) fn add_peak(&mut self, bytes: u64) {
        self.report.held_peak_bytes = self.report.held_peak_bytes.max(bytes);
    }

    /// Adds a bad record.
    pub(super) fn fail(&mut self, number: u64, held_peak: u64, error: &Error) {
        self.add_peak(held_peak);
        if self.failed.is_none() {
            let message = format!("{} {number}: {}", self.record, error.message());
            let error = error.moved(message, error.offset().unwrap_or(0));
            self.failed = Some(FailureReport::from(&error));
            self.first_bad = Some(error);
        }
    }

    /// Returns the error of the first bad record, once.
    pub(super) fn take_first_bad(&mut self) -> Option<Error> {
        self.first_bad.take()
    }

    /// Returns the report of all records, with the plan of one.
    pub(super) fn report(&self, plan: Vec<PlanStep>) -> Report {
        let record = self.record;
        let mut report = self.report.clone();
        report.error.clone_from(&self.failed);
        report.applied = !self.unfiltered && self.failed.is_none();
        if report.items_at_least.is_some() {
            report.items_at_least = Some(self.lengths);
        } else if self.cut {
            report.items_truncated_from = Some(self.lengths);
        }
        let missed = report.partial_miss.iter();
        let by_all = |(records, _): &(u64, u64)| *records == self.judged;
        let missed = missed.filter(|path| self.missed.get(*path).is_some_and(by_all));
        report.missed = missed.map(|path| MissedPath { path: path.clone(), meant: None }).collect();
        report.root = self.roots.clone().flatten();
        report.plan = plan;
        report.plan.push(PlanStep::Records(record));
        for (why, records) in
            [(&mut report.fallback, self.fallbacks), (&mut report.compact_error, self.uncompacted)]
        {
            if let Some(why) = why
                && records > 1
            {
                let more = records - 1;
                let plural = if more == 1 { "" } else { "s" };
                why.push_str(&format!(" (and {more} more {record}{plural})"));
            }
        }
        report
    }
}

fn added(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (one, other) => one.or(other),
    }
}

/// Compares two roots, which are short and usually empty. The address of an empty string is invalid, and `memcmp`
/// can take longer with an invalid address than everything else that is done for a record.
fn is_same(one: Option<&PayloadPath>, other: Option<&PayloadPath>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.as_str().bytes().eq(other.as_str().bytes()),
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use tamis_json::test_work::done;

    use super::ReportSum;
    use crate::report::Report;

    /// Each record may miss all paths: joining their lists is linear in their length, not quadratic.
    #[test]
    fn missed_paths_are_joined_in_linear_work() {
        let cost = |paths: usize| {
            let mut sum = ReportSum::new("line");
            let missed = |from: usize| (from..from + paths).map(|path| format!("a{path:06}.b"));
            done();
            for record in 0..10 {
                let partial_miss = missed(record % 2).collect();
                sum.add(record as u64, &Report { partial_miss, ..Report::default() });
            }
            let report = sum.report(Vec::new());
            assert!(
                report.partial_miss.into_iter().eq(missed(0).chain([format!("a{paths:06}.b")]))
            );
            done().iter().sum::<u64>()
        };
        assert!(cost(20_000) <= 5 * cost(10_000) / 2);
        assert!(cost(10_000) <= 10 * 10_000 * 4, "units for ten records");
    }
}
