//! The parts that a filter left out of a result.

use std::ops::Range;

use tamis::{BudgetCuts, CutPlace, CutPlaceUnit, PayloadPath, Report};
use tamis_store::{OmissionNotice, OmittedUnit};

use super::block_text::BlockText;
use super::blocks::Block;
use super::cursor;
use super::hint::Hint;
use super::notice::{Omission, ShortPointer};
use super::result_parts::{FilteredParts, ResultRewrite, StructuredRun};
use super::run::{self, FormOutputs, JsonRun, Source, Texts};
use super::stored::StoredResult;
use super::text_cut::TextCutReport;
use crate::jsonrpc::find::Found;
use crate::policy::failure::Failure;
use crate::rules::{StoredForm, ToolFilter};
use crate::spool::Spool;

/// About the bytes of a notice.
const NOTICE: u64 = 160;
/// A result is replaced only if it becomes shorter by these bytes, and by a twentieth.
const LEAST_SAVED: u64 = 200;

impl ResultRewrite<'_> {
    /// Returns what was left out, and what is stored, to which the places in the notice refer. `None`: nothing was.
    pub(crate) fn omission(
        &self,
        filtered: &FilteredParts<'_>,
        scratch: &Spool,
    ) -> Result<Option<(Omission, StoredResult)>, Failure> {
        let structured = filtered.structured.run();
        if self.options.raw() && self.cap.is_none() {
            return Ok(None);
        }
        let comparison = self.comparison();
        let source = |run: &StructuredRun<'_>| Source::Value(run.found.span.clone());
        let cuts_structured =
            structured.is_some_and(|it| comparison.cuts_json(&source(it), &it.run));
        let cuts = |(block, text): (&Block<'_>, &Option<BlockText>)| match (block.text, text) {
            (Some(found), Some(text)) => comparison.cuts(found, text),
            _ => false,
        };
        let cut_texts: Vec<bool> = self.blocks.iter().zip(&filtered.texts).map(cuts).collect();
        if !cuts_structured && !cut_texts.contains(&true) {
            return Ok(None);
        }
        let stored = self.stored(filtered, &cut_texts, scratch)?;
        let is_of_blocks = matches!(stored, StoredResult::Blocks(..));
        let place = |place: String| if is_of_blocks { place } else { String::new() };
        let mut omissions: Vec<(bool, Omission)> = Vec::new();
        if let Some(StructuredRun { run, .. }) = structured {
            let place = place("/structuredContent".to_owned());
            omissions.push((cuts_structured, comparison.omission_of_json(run, &place)));
        }
        // In addition to a structured result, texts are mostly copies of it, and are counted only if they were cut themselves.
        if is_of_blocks || !cuts_structured {
            for (index, (block, text)) in self.blocks.iter().zip(&filtered.texts).enumerate() {
                let (Some(found), Some(text)) = (block.text, text) else { continue };
                let is_cut = cut_texts.get(index).is_some_and(|is_cut| *is_cut);
                let place = place(format!("/blocks/{index}"));
                omissions.push((is_cut, comparison.omission(found, text, &place)));
            }
        }
        let texts = filtered.texts.iter().flatten();
        let (of, dropped) = texts.fold((0, 0), |(of, dropped), text| {
            (of + 1, dropped + u64::from(matches!(text, BlockText::Dropped { is_cut: true })))
        });
        // With a structured result, the blocks mostly repeat it.
        let blocks = (dropped > 0 && structured.is_none()).then_some((of - dropped, of));
        let omission = Omission::of_parts(&omissions, blocks);
        Ok(omission.map(|omission| (omission, stored)))
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
            cursor = cursor.or(cursor::find(scratch, run.output.clone(), list)?);
        }
        Ok(Hint { cursor, argument: self.context.proxy.shrinking_argument(self.tool) })
    }

    fn comparison(&self) -> Comparison<'_> {
        Comparison { filter: self.filter, texts: self.texts, forms: &self.forms }
    }
}

/// Compares outputs with what is stored.
pub(super) struct Comparison<'a> {
    pub(super) filter: &'a ToolFilter,
    pub(super) texts: &'a Texts<'a>,
    pub(super) forms: &'a FormOutputs<'a>,
}

impl Comparison<'_> {
    /// Returns whether something was left out of a text.
    pub(super) fn cuts(&self, found: &Found, text: &BlockText) -> bool {
        match text {
            BlockText::Json(run) => self.cuts_json(&Source::characters(found), run),
            BlockText::Text(_, report) => report.is_cut(),
            BlockText::Dropped { is_cut } => *is_cut,
            BlockText::Same | BlockText::Image(_) | BlockText::Withheld => false,
        }
    }

    /// Returns whether something was left out of a JSON value.
    fn cuts_json(&self, source: &Source, run: &JsonRun) -> bool {
        let report = &run.report;
        shown_items(report).is_some()
            || report.budget_applied
            || report.tail_unread
            || report.base64_omitted_bytes > 0
            || (!self.filter.keeps_everything && self.shrank(source, run))
    }

    /// Returns what was left out of a text. `place`: where it is in what is stored, if other values are stored with it.
    pub(super) fn omission(&self, found: &Found, text: &BlockText, place: &str) -> Omission {
        let length = Source::characters(found).len().saturating_sub(2);
        match text {
            BlockText::Json(run) => self.omission_of_json(run, place),
            BlockText::Text(range, report) => omission_of_text(range, report, place),
            BlockText::Dropped { .. } => {
                Omission { place: ShortPointer::of(place), ..Omission::of_values(length, 0) }
            }
            BlockText::Same | BlockText::Image(_) | BlockText::Withheld => {
                Omission::of_values(length, length)
            }
        }
    }

    /// Returns what was left out of a JSON value.
    fn omission_of_json(&self, run: &JsonRun, place: &str) -> Omission {
        let report = &run.report;
        // Items that were not counted are between those that were.
        let has_other_numbers = report.where_dropped > 0 && !self.filter.stores_kept_items();
        let shown = shown_items(report);
        let unit = if shown.is_some() { OmittedUnit::Items } else { OmittedUnit::Values };
        let whole = Omission::of_values(run.bytes_in, run.plain_len());
        let factored = run.plain_len() - run.len();
        let mut omission = Omission { unit, shown, has_other_numbers, factored, ..whole };
        let root = report.root.as_ref().map(PayloadPath::as_str);
        if !place.is_empty() && unit == OmittedUnit::Items {
            omission.place = ShortPointer::of(&format!("{place}{}", root.unwrap_or_default()));
            if omission.place.text().is_none() {
                (omission.unit, omission.shown) = (OmittedUnit::Values, None);
            }
        }
        let Some(cuts) = &report.budget_cuts else { return omission };
        let Some(cut) = &cuts.largest else { return omission };
        // The place is in an item that has another number.
        if has_other_numbers && root != Some(cut.pointer.as_str()) {
            return whole;
        }
        omission.set_place(cut, root, place);
        // The stored text has the URLs in place of their marks, so offsets are others there.
        if omission.unit == OmittedUnit::Bytes && report.base64_omitted > 0 {
            (omission.shown, omission.gap) = (None, None);
        }
        omission.has_others = has_others(cuts, cut);
        omission
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
}

/// Whether the catalog or a profile saved too little to be worth a notice. A result over the limit of the profile is cut in any case.
pub(super) fn costs_more_than_it_saves(
    filter: &ToolFilter,
    limit: Option<u64>,
    omission: &Omission,
) -> bool {
    // A little more than the limit passes whole.
    let fits = limit.is_some_and(|limit| omission.bytes_in <= limit / 10 * 11);
    let is_over = limit.is_some_and(|limit| omission.bytes_in > limit);
    let least = LEAST_SAVED.max(omission.bytes_in / if is_over { 10 } else { 20 });
    !filter.is_of_user()
        && fits
        && omission.bytes_in.saturating_sub(omission.bytes_out) < NOTICE + least
}

/// Returns how many items are shown, and of how many, if some are not.
fn shown_items(report: &Report) -> Option<(u64, Option<u64>)> {
    let of = report.items_seen.or(report.items_truncated_from);
    let shown = report.items_kept?;
    (of.is_none_or(|of| of > shown) || report.tail_unread).then_some((shown, of))
}

/// Returns what was left out of a text that is not JSON.
fn omission_of_text(range: &Range<u64>, report: &TextCutReport, place: &str) -> Omission {
    // The numbers of lines and bytes are those of the text that the filter left.
    let is_exact = report.filtered_out == 0;
    let (unit, gap, of) = match report.gap_lines {
        _ if !is_exact || report.left_out == 0 => (OmittedUnit::Values, None, 0),
        Some(lines) => (OmittedUnit::Lines, Some(lines), report.lines),
        // Neither has the stored text the marks of lines.
        None if report.changed || report.marked => (OmittedUnit::Values, None, 0),
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
    let whole = Omission::of_values(report.bytes, range.end - range.start);
    Omission { unit, shown, gap, place: ShortPointer::of(place), ..whole }
}

impl Omission {
    /// Returns what was left out of several parts, of which those with `true` were cut. `blocks`: how many are shown of how many,
    /// if some are not. `None`: nothing was cut.
    pub(super) fn of_parts(parts: &[(bool, Self)], blocks: Option<(u64, u64)>) -> Option<Self> {
        let cut = parts.iter().filter(|(is_cut, _)| *is_cut).map(|(_, part)| part);
        let count = cut.clone().count();
        let largest = cut.max_by_key(|part| part.bytes_in.saturating_sub(part.bytes_out))?;
        if let [(_, one)] = parts {
            return Some(*one);
        }
        let bytes_in = parts.iter().map(|(_, part)| part.bytes_in).sum();
        let bytes_out = parts.iter().map(|(_, part)| part.bytes_out).sum();
        let factored = parts.iter().map(|(_, part)| part.factored).sum();
        Some(match blocks {
            Some((shown, of)) => Self {
                unit: OmittedUnit::Blocks,
                shown: Some((shown, Some(of))),
                has_others: count as u64 > of - shown,
                factored,
                ..Self::of_values(bytes_in, bytes_out)
            },
            None => {
                let has_others = largest.has_others || count > 1;
                Self { has_others, bytes_in, bytes_out, factored, ..*largest }
            }
        })
    }

    /// Returns one that only knows sizes.
    fn of_values(bytes_in: u64, bytes_out: u64) -> Self {
        Self {
            unit: OmittedUnit::Values,
            shown: None,
            gap: None,
            place: ShortPointer::default(),
            has_others: false,
            has_other_numbers: false,
            bytes_in,
            bytes_out,
            factored: 0,
            hint: Hint::default(),
            tool: OmissionNotice::TOOL,
        }
    }

    /// Says where a budget left out the most. `payload`: the place of the items in the value. A range needs no pointer to them
    /// if nothing else is stored; otherwise `whole` is the place of the value.
    fn set_place(&mut self, cut: &CutPlace, payload: Option<&str>, whole: &str) {
        let is_payload = whole.is_empty() && payload == Some(cut.pointer.as_str());
        let pointer = format!("{whole}{}", cut.pointer);
        let unit = match cut.unit {
            CutPlaceUnit::Items => OmittedUnit::Items,
            CutPlaceUnit::Members => OmittedUnit::Members,
            CutPlaceUnit::Bytes => OmittedUnit::Bytes,
            _ => return,
        };
        let place = if is_payload { ShortPointer::default() } else { ShortPointer::of(&pointer) };
        // A number or an offset without its place would mislead, and the items that are shown need not be the first ones.
        if !is_payload && !pointer.is_empty() && place.text().is_none() {
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
