//! Decides which results are pruned, by the rules and the findings.
//!
//! The plan depends on the findings, not on the document. It runs when the findings are complete, so the number of
//! turns and the tokens of all prunable results are known.

use tamis_json::error::Raise;

use super::findings::{Entry, Finding, Findings, FindingsReader};
use super::program::CompiledPrune;
use super::report::{PruneRefusal, PruneReport, PrunedTool};
use super::spec::PruneSpec;
use super::survey::{Calls, HistoryCounts};

/// The decision for one history.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The start of the history that counts: the last of several members of the same name. All results before it are
    /// pruned.
    begin: u64,
    /// The range of offsets in which results may be pruned.
    from: u64,
    to: u64,
    /// The tokens of the prunable results not visited yet, and those of the newest ones, which are kept.
    left: u64,
    kept: u64,
}

impl Plan {
    /// Decides what is pruned and adds it to `report`, which already contains the size of the document.
    pub(super) fn new(
        findings: &mut Findings,
        calls: &Calls,
        counts: HistoryCounts,
        program: &CompiledPrune,
        now: u64,
        report: &mut PruneReport,
    ) -> Result<Self, Raise> {
        // The other rules apply where results are recorded and replaced.
        let &PruneSpec {
            keep_turns,
            protect_tokens,
            minimum_tokens,
            stop_at_summary,
            min_gain,
            protected: _,
            placeholder: _,
            now: _,
            count_tokens: _,
            keep_head: _,
            keep_tail: _,
            only_shorter: _,
        } = &program.spec;
        let nothing = Self::default();
        let turn = counts.turns_of_last.checked_sub(keep_turns);
        if turn.is_none() && !counts.several {
            return Ok(nothing);
        }
        let mut plan = Self { kept: protect_tokens, ..nothing };
        let mut reader = FindingsReader::default();
        let mut turns = 0;
        let mut to = None;
        while let Some(record) = reader.next(findings)? {
            match record {
                Finding::History(at) => {
                    (plan.begin, plan.from) = (at, at);
                    (turns, to) = (0, None);
                }
                Finding::Turn(at) => {
                    if Some(turns) == turn {
                        to = Some(at);
                        if !counts.several {
                            break;
                        }
                    }
                    turns += 1;
                }
                Finding::Summary(at) if stop_at_summary && to.is_none() => plan.from = at,
                Finding::Summary(_) | Finding::Result(_) => {}
            }
        }
        plan.to = if turn.is_none() { plan.begin } else { to.unwrap_or(u64::MAX) };
        if plan.kept > 0 {
            let mut reader = FindingsReader::default();
            while let Some(record) = reader.next(findings)? {
                if let Finding::Result(entry) = record
                    && plan.may_go(&entry)
                    && !plan.is_before(&entry)
                {
                    plan.left += entry.tokens;
                }
            }
        }
        plan.sum(findings, calls, program, now, report)?;
        if report.results_pruned == 0 {
            return Ok(Self::default());
        }
        // As in opencode, more than the minimum has to be removed; 0 disables the rule.
        let is_little_text = minimum_tokens > 0 && report.tokens_saved <= minimum_tokens;
        let refused = if is_little_text {
            PruneRefusal::MinimumTokens
        } else if min_gain > 0 && is_little(report, min_gain) {
            PruneRefusal::MinGain
        } else {
            return Ok(plan);
        };
        report.refused = Some(refused);
        report.results_pruned = 0;
        (report.bytes_saved, report.tokens_saved) = (0, 0);
        (report.first_changed, report.bytes_invalidated) = (None, None);
        report.tools.clear();
        Ok(Self::default())
    }

    /// Sums up what is pruned.
    fn sum(
        &self,
        findings: &mut Findings,
        calls: &Calls,
        program: &CompiledPrune,
        now: u64,
        report: &mut PruneReport,
    ) -> Result<(), Raise> {
        let mut plan = self.clone();
        let mut tools: Vec<PrunedTool> = Vec::new();
        let mut reader = FindingsReader::default();
        while let Some(record) = reader.next(findings)? {
            let Finding::Result(entry) = record else { continue };
            if !plan.goes(&entry) {
                continue;
            }
            let facts = entry.facts(calls.name(entry.tool));
            let mut saved = 0;
            for edit in &entry.edits {
                let comes = program.replacement(*edit, facts, now).len();
                saved += (edit.to - edit.from) as i64 - comes as i64;
            }
            report.first_changed.get_or_insert(entry.offset());
            report.results_pruned += 1;
            report.bytes_saved += saved;
            report.tokens_saved += entry.tokens;
            let number = entry.tool as usize;
            if tools.len() <= number {
                tools.resize_with(number + 1, PrunedTool::default);
            }
            if let Some(tool) = tools.get_mut(number) {
                tool.results += 1;
                tool.bytes_saved += saved;
                tool.tokens_saved += entry.tokens;
            }
        }
        for (number, tool) in (0..).zip(tools).filter(|(_, tool)| tool.results > 0) {
            report.tools.insert(calls.name(number).to_owned(), tool);
        }
        if let Some(first) = report.first_changed {
            let output = report.bytes.saturating_add_signed(-report.bytes_saved);
            report.bytes_invalidated = Some(output.saturating_sub(first));
        }
        Ok(())
    }

    fn may_go(&self, entry: &Entry) -> bool {
        self.is_before(entry) || (self.from..self.to).contains(&entry.offset())
    }

    /// Returns whether a result is in a history that is superseded by a later one.
    fn is_before(&self, entry: &Entry) -> bool {
        entry.offset() < self.begin
    }

    /// Returns whether a result is pruned. Must be called for all results in document order.
    pub(super) fn goes(&mut self, entry: &Entry) -> bool {
        if !self.may_go(entry) {
            return false;
        }
        if self.is_before(entry) {
            return true;
        }
        let left = self.left;
        self.left = left.saturating_sub(entry.tokens);
        self.kept == 0 || left > self.kept
    }
}

/// Returns whether fewer bytes are saved than `percent` of those that a provider has to read again.
fn is_little(report: &PruneReport, percent: u64) -> bool {
    let saved = u128::try_from(report.bytes_saved).unwrap_or(0);
    let anew = u128::from(report.bytes_invalidated.unwrap_or(0));
    saved * 100 < anew * u128::from(percent)
}
