//! The parts that a filter left out of a result.

use tamis::{BudgetCuts, CutPlace, CutPlaceUnit, PayloadPath};
use tamis_store::OmittedUnit;

use super::block_text::BlockText;
use super::cursor;
use super::hint::Hint;
use super::notice::{Omission, ShortPointer};
use super::result_parts::{FilteredParts, ResultRewrite, StructuredRun};
use super::run::{self, JsonRun, Source};
use crate::policy::failure::Failure;
use crate::rules::StoredForm;
use crate::spool::Spool;

/// About the bytes of a notice.
const NOTICE: u64 = 160;
/// A result is replaced only if it becomes shorter by these bytes, and by a twentieth.
const LEAST_SAVED: u64 = 200;

impl ResultRewrite<'_> {
    /// Returns what was left out. `None`: nothing.
    pub(crate) fn omission(&self, filtered: &FilteredParts<'_>) -> Option<Omission> {
        let structured = filtered.structured.run();
        if self.options.raw() && self.cap.is_none() {
            return None;
        }
        let mut omissions: Vec<(bool, Omission)> = Vec::new();
        if let Some(StructuredRun { found, run, .. }) = structured {
            omissions.push(self.of_json(&Source::Value(found.span.clone()), run));
        }
        let (mut others, hint) = (Vec::new(), Hint::default());
        for (block, text) in self.blocks.iter().zip(&filtered.texts) {
            let (Some(found), Some(text)) = (block.text, text) else { continue };
            let source = Source::characters(found);
            let (shown, gap, bytes_in) = (None, None, source.len().saturating_sub(2));
            let (unit, place) = (OmittedUnit::Values, ShortPointer::default());
            let has_others = false;
            others.push(match text {
                BlockText::Json(run) => self.of_json(&source, run),
                BlockText::Text(range, report) => {
                    let bytes_out = range.end - range.start;
                    // The numbers of lines and bytes are those of the text that the filter left.
                    let is_exact = report.filtered_out == 0;
                    let (unit, gap, of) = match report.gap_lines {
                        _ if !is_exact || report.left_out == 0 => (unit, None, 0),
                        Some(lines) => (OmittedUnit::Lines, Some(lines), report.lines),
                        // Neither has the stored text the marks of lines.
                        None if report.changed || report.marked => (unit, None, 0),
                        None => (OmittedUnit::Bytes, report.gap_bytes, report.bytes),
                    };
                    // Some of the parts between the first and the last that are left out may be shown.
                    let left_out = match unit {
                        OmittedUnit::Lines => report.lines_left_out,
                        _ => report.left_out,
                    };
                    let shown = gap.map(|_| (of.saturating_sub(left_out), Some(of)));
                    // A filter of lines says how many it left, but not which. The stored text has all of them.
                    let (unit, shown, gap) = match is_exact {
                        true => (unit, shown, gap),
                        false => {
                            let left_out = report.filtered_out + report.lines_left_out;
                            let of = report.lines_in;
                            let left = of.saturating_sub(left_out);
                            (OmittedUnit::Lines, Some((left, Some(of))), Some((1, of)))
                        }
                    };
                    let is_cut = report.left_out > 0 || !is_exact;
                    (
                        is_cut,
                        Omission {
                            unit,
                            shown,
                            gap,
                            place,
                            has_others: false,
                            bytes_in: report.bytes,
                            bytes_out,
                            hint,
                        },
                    )
                }
                BlockText::Dropped { is_cut } => (
                    *is_cut,
                    Omission { unit, shown, gap, place, has_others, bytes_in, bytes_out: 0, hint },
                ),
                BlockText::Same | BlockText::Escaped(_) | BlockText::Withheld => (
                    false,
                    Omission {
                        unit,
                        shown,
                        gap,
                        place,
                        has_others,
                        bytes_in,
                        bytes_out: bytes_in,
                        hint,
                    },
                ),
            });
        }
        // In addition to a structured result, texts are mostly copies of it, and are counted only if they were cut themselves.
        if structured.is_none() || omissions.iter().all(|(cut, _)| !cut) {
            omissions.append(&mut others);
        }
        if omissions.iter().all(|(cut, _)| !cut) {
            return None;
        }
        let texts = filtered.texts.iter().flatten();
        let (of, dropped) = texts.fold((0, 0), |(of, dropped), text| {
            (of + 1, dropped + u64::from(matches!(text, BlockText::Dropped { is_cut: true })))
        });
        let (unit, shown) = match dropped {
            0 => (OmittedUnit::Values, None),
            _ => (OmittedUnit::Blocks, Some((of - dropped, Some(of)))),
        };
        match omissions.as_slice() {
            [(_, one)] => Some(*one),
            several => Some(Omission {
                unit,
                shown,
                gap: None,
                place: ShortPointer::default(),
                has_others: false,
                bytes_in: several.iter().map(|(_, part)| part.bytes_in).sum(),
                bytes_out: several.iter().map(|(_, part)| part.bytes_out).sum(),
                hint,
            }),
        }
    }

    /// Returns what else the notice should say, if the result is a list that was cut.
    pub(crate) fn hint(
        &self,
        omission: &Omission,
        filtered: &FilteredParts<'_>,
        scratch: &Spool,
    ) -> Result<Hint, Failure> {
        if omission.unit == OmittedUnit::Values {
            return Ok(Hint::default());
        }
        let structured = filtered.structured.run().map(|structured| &structured.run);
        let texts = filtered.texts.iter().filter_map(|text| match text {
            Some(BlockText::Json(run)) => Some(&**run),
            _ => None,
        });
        let mut cursor = None;
        for run in structured.into_iter().chain(texts) {
            let cuts = run.report.budget_cuts.as_ref().and_then(|cuts| cuts.largest.as_ref());
            let list = cuts.map(|cut| cut.pointer.as_str());
            let list = list.or(run.report.root.as_ref().map(PayloadPath::as_str));
            let is_factored = run.report.factored.is_some();
            cursor = cursor.or(cursor::find(scratch, run.output.clone(), list, is_factored)?);
        }
        Ok(Hint { cursor, argument: self.context.proxy.shrinking_argument(self.tool) })
    }

    /// Returns whether something was left out of a JSON value, and what.
    fn of_json(&self, source: &Source, run: &JsonRun) -> (bool, Omission) {
        let report = &run.report;
        let of = report.items_seen.or(report.items_truncated_from);
        let shown = report.items_kept.zip(Some(of));
        let shown =
            shown.filter(|(shown, of)| of.is_none_or(|of| of > *shown) || report.tail_unread);
        let is_counted = shown.is_some()
            || report.budget_applied
            || report.tail_unread
            || report.base64_omitted_bytes > 0;
        let is_cut = is_counted || (!self.filter.keeps_everything && self.shrank(source, run));
        let unit = if shown.is_some() { OmittedUnit::Items } else { OmittedUnit::Values };
        let (bytes_in, bytes_out, hint) = (run.bytes_in, run.plain_len(), Hint::default());
        let mut omission = Omission {
            unit,
            shown,
            gap: None,
            place: ShortPointer::default(),
            has_others: false,
            bytes_in,
            bytes_out,
            hint,
        };
        if let Some(cuts) = &report.budget_cuts
            && let Some(cut) = &cuts.largest
        {
            omission.set_place(cut, report.root.as_ref().map(PayloadPath::as_str));
            // The stored text has the URLs in place of their marks, so offsets are others there.
            if omission.unit == OmittedUnit::Bytes && report.base64_omitted > 0 {
                (omission.shown, omission.gap) = (None, None);
            }
            omission.has_others = has_others(cuts, cut);
        }
        (is_cut, omission)
    }

    /// Whether an output lacks more than white space, and what was removed for safety.
    fn shrank(&self, source: &Source, run: &JsonRun) -> bool {
        if self.filter.renders && !matches!(self.filter.stored, StoredForm::Nothing) {
            return true;
        }
        if run.plain_len() >= run.bytes_in || self.filter.shows_all_that_is_stored {
            return false;
        }
        let fetchable = match &self.filter.stored {
            // Nobody may know how much was removed.
            StoredForm::Nothing if self.filter.removes_for_safety => return false,
            // White space hardly ever makes up more than half of a document.
            StoredForm::Nothing | StoredForm::Source if run.plain_len() * 2 < run.bytes_in => {
                return true;
            }
            StoredForm::Nothing | StoredForm::Source => run::minified(self.texts, source),
            StoredForm::Program(_) => self.forms.length(self.texts, source),
        };
        fetchable.is_some_and(|fetchable| run.plain_len() < fetchable)
    }

    /// Whether the catalog or a profile saved too little to be worth a notice. A result over the limit of the profile is cut
    /// in any case.
    pub(crate) fn costs_more_than_it_saves(&self, omission: &Omission) -> bool {
        let limit = self.context.limit(self.filter);
        // A little more than the limit passes whole.
        let fits = limit.is_some_and(|limit| omission.bytes_in <= limit / 10 * 11);
        let is_over = limit.is_some_and(|limit| omission.bytes_in > limit);
        let least = LEAST_SAVED.max(omission.bytes_in / if is_over { 10 } else { 20 });
        !self.filter.is_of_user()
            && fits
            && omission.bytes_in.saturating_sub(omission.bytes_out) < NOTICE + least
    }
}

impl Omission {
    /// Says where a budget left out the most. `payload`: the place of the items, to which a range refers without a pointer.
    fn set_place(&mut self, cut: &CutPlace, payload: Option<&str>) {
        let is_payload = payload == Some(cut.pointer.as_str());
        let unit = match cut.unit {
            CutPlaceUnit::Items => OmittedUnit::Items,
            CutPlaceUnit::Members => OmittedUnit::Members,
            CutPlaceUnit::Bytes => OmittedUnit::Bytes,
            _ => return,
        };
        let place =
            if is_payload { ShortPointer::default() } else { ShortPointer::of(&cut.pointer) };
        // A number or an offset without its place would mislead, and the items that are shown need not be the first ones.
        if !is_payload && !cut.pointer.is_empty() && place.text().is_none() {
            (self.unit, self.shown) = (OmittedUnit::Values, None);
            return;
        }
        (self.unit, self.place) = (unit, place);
        self.shown = Some((cut.shown, Some(cut.of)));
        self.gap = Some(cut.gap).filter(|_| unit != OmittedUnit::Members);
    }
}

/// Whether a budget cut more than this value.
fn has_others(cuts: &BudgetCuts, cut: &CutPlace) -> bool {
    let missing = cut.of - cut.shown.min(cut.of);
    let [items, members, strings] = match cut.unit {
        CutPlaceUnit::Items => [missing, 0, 0],
        CutPlaceUnit::Members => [0, missing, 0],
        _ => [0, 0, 1],
    };
    cuts.items > items || cuts.members > members || cuts.strings > strings
}
