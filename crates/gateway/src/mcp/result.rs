//! Rewrites the result of a tool: `structuredContent`, and the texts of `content`.

use std::ops::Range;
use std::sync::Arc;

use tamis::spec::{Budget, Omitted};
use tamis::{CallOptions, Limits};

use super::block_text::{BlockContext, BlockText};
use super::blocks::{self, Block};
use super::failure::Failure;
use super::memory::Named;
use super::notice::{Omission, Told};
use super::open_calls::ToolCall;
use super::run::{self, FormOutputs, JsonRun, RunError, Source, Texts};
use super::stored::{Room, StoredPart, StoredResult, ToStore};
use super::task::{Context, Record};
use crate::jsonrpc::find::{FindError, Found, ValueKind};
use crate::jsonrpc::head::{Parts, ResultPart, short_text};
use crate::jsonrpc::splice::Splice;
use crate::record::RuleSource;
use crate::rules::{StoredForm, Structured, ToolFilter};
use crate::spool::Spool;
use crate::store::{LostReason, OmittedUnit, Remedy};

/// Replacements in a message.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) splice: Splice,
    /// Holds the new bytes.
    pub(super) scratch: Spool,
}

impl Rewritten {
    /// Returns no replacements.
    pub(super) fn nothing() -> Self {
        Self { splice: Splice::default(), scratch: Spool::from_vec(Vec::new()) }
    }
}

/// Filters the result that is a range of a message.
pub(super) fn rewrite(
    message: &Spool,
    result: &Range<u64>,
    call: &ToolCall,
    context: &Context,
    record: &mut Record,
) -> Result<Rewritten, Failure> {
    if let Some(reason) = call.filter.refuses {
        return Err(Failure(reason));
    }
    let parts =
        Parts::<ResultPart>::find(message, result.clone()).map_err(|error| match error {
            FindError::NotJson | FindError::Incomplete | FindError::Limit => Failure::TOO_COMPLEX,
            FindError::Io => Failure::IO,
        })?;
    let kind = parts.last(ResultPart::ResultType).map(|found| short_text(message, found));
    if call.filter.removes_for_safety
        && kind.is_some_and(|kind| kind.as_deref() != Some("complete"))
    {
        return Err(Failure::UNKNOWN_FORM);
    }
    let blocks = blocks::read(message, &parts, call.filter.removes_for_safety)?;
    remember_resources(message, &blocks, call, context)?;
    if call.options.raw() && call.filter.redacts.is_none() && !context.is_too_long(result) {
        return Ok(Rewritten::nothing());
    }
    let mut filter = Arc::clone(&call.filter);
    let is_error = match parts.last(ResultPart::IsError) {
        Some(found) => message.to_vec(found.span.clone(), 8).is_ok_and(|it| it == b"true"),
        None => false,
    };
    let spool = context.proxy.limits().spool;
    let texts = Texts::new(message, spool);
    let mut cap = None;
    loop {
        let room = Room::reserve(context, &filter);
        let is_profile = !filter.is_of_user() && !filter.keeps_everything;
        let lossless = || context.proxy.lossless().filter(|_| is_profile).cloned();
        if room.is_missing()
            && let Some(lossless) = lossless()
        {
            // The catalog and profiles never cut what cannot be fetched back.
            record.reason = Some(NOT_SHORTENED);
            filter = lossless;
            continue;
        }
        let rewrite = ResultRewrite {
            message,
            texts: &texts,
            result,
            parts: &parts,
            blocks: &blocks,
            filter: &filter,
            forms: FormOutputs::of(&filter, is_error && filter.minds_errors, spool),
            options: options(call, &filter, context, is_error, cap),
            is_error,
            cap,
            context,
            tool: &call.tool,
        };
        let Attempt { rewritten, remedy, is_worthwhile, has_missed } = rewrite.run(room)?;
        if has_missed
            && filter.source == RuleSource::Catalog
            && let Some(profile) = context.proxy.profile()
        {
            // The server is not the one that the filter was written for, or its results look different.
            filter = profile;
            continue;
        }
        if !is_worthwhile && let Some(lossless) = lossless() {
            filter = lossless;
            continue;
        }
        if matches!(remedy, Some(Remedy::Lost(LostReason::NoRoom | LostReason::Unreachable)))
            && let Some(lossless) = lossless()
        {
            record.reason = Some(NOT_SHORTENED);
            filter = lossless;
            continue;
        }
        let most = context.proxy.limits().output;
        let is_long = rewritten.splice.length(message.len()) > most;
        if is_long && cap.is_none() && context.limits_output && context.proxy.store().is_some() {
            // Each form of the result gets a share, since escapes make texts longer.
            cap = Some(most / 4);
            continue;
        }
        if let Some(Remedy::Retrieve(handle) | Remedy::Recall(handle)) = remedy {
            record.handle = Some(handle.to_string());
        }
        return Ok(rewritten);
    }
}

/// The reason in the log for a result that a profile would have shortened.
const NOT_SHORTENED: &str = "not shortened, because the store has no room";

fn options(
    call: &ToolCall,
    filter: &ToolFilter,
    context: &Context,
    is_error: bool,
    cap: Option<u64>,
) -> CallOptions {
    let spool = context.proxy.limits().spool;
    let limits = Limits::new().with_held(spool.held).with_spill(spool.spill);
    let options = call.options.clone();
    let options = options.with_omitted(Omitted::Silent).with_limits(limits);
    let options = options.with_is_error(is_error && filter.minds_errors);
    match cap {
        // The limit of a profile is smaller.
        Some(cap) if filter.max_tokens.is_none() => options.with_budget(Budget::Bytes(cap)),
        _ => options,
    }
}

/// Remembers the resources that a result names: reading them must not return what the filter removes.
fn remember_resources(
    message: &Spool,
    blocks: &[Block<'_>],
    call: &ToolCall,
    context: &Context,
) -> Result<(), Failure> {
    for uri in blocks.iter().flat_map(|block| &block.uris) {
        match short_text(message, uri) {
            Some(uri) => context.memory.add(Named::Resource, &context.scope, &uri, call),
            None if call.filter.removes_for_safety => return Err(Failure::UNKNOWN_FORM),
            None => {}
        }
    }
    Ok(())
}

/// One attempt to rewrite a result.
pub(super) struct ResultRewrite<'a> {
    pub(super) message: &'a Spool,
    pub(super) texts: &'a Texts<'a>,
    pub(super) result: &'a Range<u64>,
    pub(super) parts: &'a Parts<ResultPart>,
    pub(super) blocks: &'a [Block<'a>],
    pub(super) filter: &'a ToolFilter,
    forms: FormOutputs<'a>,
    options: CallOptions,
    is_error: bool,
    /// The most bytes of each form of the result.
    cap: Option<u64>,
    pub(super) context: &'a Context,
    tool: &'a str,
}

/// The outcome of an attempt.
struct Attempt {
    rewritten: Rewritten,
    /// How what was left out can be fetched, if anything was.
    remedy: Option<Remedy>,
    /// Whether the result is shorter than one that keeps everything.
    is_worthwhile: bool,
    /// Whether no part of the result has what the filter selects.
    has_missed: bool,
}

/// Returns whether no part of a result has what the filter selects.
fn has_missed(structured: Option<&StructuredRun<'_>>, texts: &[Option<BlockText>]) -> bool {
    let of_texts = texts.iter().filter_map(|text| match text {
        Some(BlockText::Json(run)) => Some(run.as_ref()),
        _ => None,
    });
    let mut runs =
        structured.map(|structured| &structured.run).into_iter().chain(of_texts).peekable();
    runs.peek().is_some() && runs.all(|run| run.report.filter_error.is_some())
}

/// Returns the number of credentials that were replaced in a result. Texts in addition to a structured result mostly repeat it.
fn redacted(structured: Option<&StructuredRun<'_>>, texts: &[Option<BlockText>]) -> u64 {
    let of_texts = texts.iter().flatten().map(BlockText::redacted).sum();
    structured.map_or(0, |structured| structured.run.redacted).max(of_texts)
}

/// About the bytes of a notice.
const NOTICE: u64 = 160;

/// The filtered `structuredContent`.
pub(super) struct StructuredRun<'a> {
    pub(super) found: &'a Found,
    pub(super) run: JsonRun,
    pub(super) is_object: bool,
}

impl ResultRewrite<'_> {
    fn run(self, room: Room) -> Result<Attempt, Failure> {
        let mut scratch = Spool::new(self.context.proxy.limits().spool);
        let wrapped = self.wrapped()?;
        let repeats_text = wrapped.is_none() && self.wraps_text()?;
        let (mut structured, mut withheld) = match &wrapped {
            Some(_) => (None, false),
            None => match self.structured(&mut scratch) {
                Err(_) if repeats_text => (None, true),
                structured => structured?,
            },
        };
        // Rules may have removed the copy.
        let repeats_text = repeats_text && structured.as_ref().is_none_or(|it| it.run.len() > 2);
        if repeats_text {
            (structured, withheld) = (None, true);
        }
        let has_structured = structured.is_some() || (withheld && !repeats_text);
        let mut texts = self.texts(has_structured, wrapped.is_some(), &mut scratch)?;
        if let Some(run) = &structured
            && self.wraps_values(run, &texts, &scratch)?
        {
            (structured, withheld) = (None, true);
        }
        if let Some(structured) = &structured {
            self.drop_copies(structured, &mut texts, &scratch)?;
        }
        if !self.filter.removes_for_safety && has_missed(structured.as_ref(), &texts) {
            let (rewritten, remedy) = (Rewritten::nothing(), None);
            let missed = Attempt { rewritten, remedy, is_worthwhile: true, has_missed: true };
            if self.filter.source == RuleSource::Catalog && self.context.proxy.profile().is_some() {
                return Ok(missed);
            }
        }
        let omission = self.omission(structured.as_ref(), &texts);
        if omission.is_some_and(|omission| self.costs_more_than_it_saves(&omission)) {
            let (rewritten, remedy) = (Rewritten::nothing(), None);
            return Ok(Attempt { rewritten, remedy, is_worthwhile: false, has_missed: false });
        }
        let redacted = redacted(structured.as_ref(), &texts);
        let remedy = omission.map(|_| {
            let stored = self.stored(structured.as_ref(), &texts);
            let to_store = ToStore { result: &stored, tool: self.tool, redacted };
            room.store(self.texts, &to_store, self.context, self.filter, &self.forms)
        });
        let told = Told { omission: omission.zip(remedy), redacted };
        let splice =
            self.assemble(structured, wrapped.as_ref(), withheld, &texts, told, &scratch)?;
        let rewritten = Rewritten { splice, scratch };
        Ok(Attempt { rewritten, remedy, is_worthwhile: true, has_missed: false })
    }

    /// Whether a profile removed less than the notice about it takes. A result over the limit of the profile is cut in
    /// any case.
    fn costs_more_than_it_saves(&self, omission: &Omission) -> bool {
        let fits = self.filter.max_tokens.is_some_and(|tokens| omission.bytes_in <= tokens * 4);
        !self.filter.is_own()
            && fits
            && omission.bytes_in.saturating_sub(omission.bytes_out) < NOTICE
    }

    /// Filters `structuredContent`. The second value says that it has to be withheld.
    fn structured(
        &self,
        scratch: &mut Spool,
    ) -> Result<(Option<StructuredRun<'_>>, bool), Failure> {
        let found = self.parts.last(ResultPart::Structured);
        let Some(found) = found.filter(|found| found.kind != ValueKind::Null) else {
            return Ok((None, false));
        };
        let source = Source::Value(found.span.clone());
        match run::json(self.texts, &source, self.filter, &self.options, scratch) {
            Ok(run) => {
                let first = scratch.to_vec(run.output.start..run.output.start + 1, 1)?;
                let is_object = first == b"{";
                Ok((Some(StructuredRun { found, run, is_object }), false))
            }
            // The result of a failed call rarely has the expected members.
            Err(RunError::Failed(_)) if self.is_error && self.filter.removes_for_safety => {
                Ok((None, true))
            }
            Err(RunError::Failed(failure)) => Err(failure),
            Err(RunError::NotJson) => Err(Failure("it is not valid JSON")),
        }
    }

    /// Filters the texts of all blocks. Blocks without a text stay.
    fn texts(
        &self,
        has_structured: bool,
        is_wrapped: bool,
        scratch: &mut Spool,
    ) -> Result<Vec<Option<BlockText>>, Failure> {
        let mut room = self.filter.max_tokens.map(|tokens| tokens * 4).or(self.cap);
        let mut texts = Vec::with_capacity(self.blocks.len());
        for block in self.blocks {
            // Rules cannot read text in Base64. It is treated as text that they do not cover.
            if block.hides_text && (!self.filter.keeps_text || self.filter.redacts.is_some()) {
                if !has_structured {
                    return Err(Failure::TEXT);
                }
                texts.push(Some(BlockText::Dropped { is_cut: false }));
                continue;
            }
            let Some(found) = block.text else {
                texts.push(None);
                continue;
            };
            let context = BlockContext {
                filter: self.filter,
                options: &self.options,
                is_error: self.is_error,
                has_structured,
                is_wrapped,
                room: room.filter(|_| !self.options.raw() || self.cap.is_some()),
            };
            let before = scratch.len();
            let text = context.filter(self.texts, found, scratch)?;
            let length = match &text {
                BlockText::Same => found.span.end - found.span.start,
                _ => scratch.len() - before,
            };
            room = room.map(|room| room.saturating_sub(length));
            texts.push(Some(text));
        }
        Ok(texts)
    }

    /// Whether `structuredContent` is removed, so that clients show the text.
    pub(super) fn drops(&self, structured: &StructuredRun<'_>) -> bool {
        self.filter.structured == Structured::Drop
            // Before 2026-07-28 it has to be an object.
            || (!structured.is_object && !self.context.is_modern)
    }

    /// Returns what was left out. `None`: nothing.
    fn omission(
        &self,
        structured: Option<&StructuredRun<'_>>,
        texts: &[Option<BlockText>],
    ) -> Option<Omission> {
        if self.options.raw() && self.cap.is_none() {
            return None;
        }
        let mut omissions: Vec<(bool, Omission)> = Vec::new();
        if let Some(StructuredRun { found, run, .. }) = structured {
            omissions.push(self.of_json(&Source::Value(found.span.clone()), run));
        }
        let mut others = Vec::new();
        for (block, text) in self.blocks.iter().zip(texts) {
            let (Some(found), Some(text)) = (block.text, text) else { continue };
            let source = Source::characters(found);
            let (shown, gap, bytes_in) = (None, None, source.len().saturating_sub(2));
            let unit = OmittedUnit::Values;
            others.push(match text {
                BlockText::Json(run) => self.of_json(&source, run),
                BlockText::Text(range, report) => {
                    let bytes_out = range.end - range.start;
                    // The numbers of lines and bytes are those of the text that the filter left.
                    let is_exact = report.filtered_out == 0;
                    let (unit, gap, of) = match report.gap_lines {
                        _ if !is_exact || report.left_out == 0 => (unit, None, 0),
                        Some(lines) => (OmittedUnit::Lines, Some(lines), report.lines),
                        None if report.changed => (unit, None, 0),
                        None => {
                            let last = (report.gap_start + report.left_out).saturating_sub(1);
                            (OmittedUnit::Bytes, Some((report.gap_start, last)), report.bytes)
                        }
                    };
                    let shown = gap.map(|(first, last)| (of - (last + 1 - first), Some(of)));
                    let is_cut = report.left_out > 0 || !is_exact;
                    (is_cut, Omission { unit, shown, gap, bytes_in: report.bytes, bytes_out })
                }
                BlockText::Dropped { is_cut } => {
                    (*is_cut, Omission { unit, shown, gap, bytes_in, bytes_out: 0 })
                }
                BlockText::Same | BlockText::Escaped(_) | BlockText::Withheld => {
                    (false, Omission { unit, shown, gap, bytes_in, bytes_out: bytes_in })
                }
            });
        }
        // Beside a structured result, texts are mostly copies of it, and are counted only if they were cut themselves.
        if structured.is_none() || omissions.iter().all(|(cut, _)| !cut) {
            omissions.append(&mut others);
        }
        if omissions.iter().all(|(cut, _)| !cut) {
            return None;
        }
        let unit = OmittedUnit::Values;
        match omissions.as_slice() {
            [(_, one)] => Some(*one),
            several => Some(Omission {
                unit,
                shown: None,
                gap: None,
                bytes_in: several.iter().map(|(_, part)| part.bytes_in).sum(),
                bytes_out: several.iter().map(|(_, part)| part.bytes_out).sum(),
            }),
        }
    }

    /// Returns whether something was left out of a JSON value, and what.
    fn of_json(&self, source: &Source, run: &JsonRun) -> (bool, Omission) {
        let report = &run.report;
        let of = report.items_seen.or(report.filter_items_truncated_from);
        let shown = report.items_kept.zip(Some(of));
        let shown =
            shown.filter(|(shown, of)| of.is_none_or(|of| of > *shown) || report.tail_unread);
        let is_counted = shown.is_some()
            || report.budget_applied
            || report.tail_unread
            || report.base64_omitted_bytes > 0;
        let is_cut = is_counted || (!self.filter.keeps_everything && self.shrank(source, run));
        let unit = if shown.is_some() { OmittedUnit::Items } else { OmittedUnit::Values };
        (is_cut, Omission { unit, shown, gap: None, bytes_in: run.bytes_in, bytes_out: run.len() })
    }

    /// Whether an output lacks more than white space, and what was removed for safety.
    fn shrank(&self, source: &Source, run: &JsonRun) -> bool {
        if self.filter.renders && !matches!(self.filter.stored, StoredForm::Nothing) {
            return true;
        }
        if run.len() >= run.bytes_in || self.filter.shows_all_that_is_stored {
            return false;
        }
        let fetchable = match &self.filter.stored {
            // Nobody may know how much was removed.
            StoredForm::Nothing if self.filter.removes_for_safety => return false,
            // White space hardly ever makes up more than half of a document.
            StoredForm::Nothing | StoredForm::Source if run.len() * 2 < run.bytes_in => {
                return true;
            }
            StoredForm::Nothing | StoredForm::Source => run::minified(self.texts, source),
            StoredForm::Program(_) => self.forms.length(self.texts, source),
        };
        fetchable.is_some_and(|fetchable| run.len() < fetchable)
    }

    /// Returns what is stored: the structured result, else the only JSON, else all blocks.
    fn stored(
        &self,
        structured: Option<&StructuredRun<'_>>,
        texts: &[Option<BlockText>],
    ) -> StoredResult {
        let with_text = || self.blocks.iter().zip(texts).filter(|(block, _)| block.text.is_some());
        let cuts_text = with_text().any(|(_, text)| match text {
            Some(BlockText::Text(_, report)) => report.left_out > 0 || report.filtered_out > 0,
            Some(BlockText::Dropped { is_cut }) => *is_cut,
            _ => false,
        });
        let json = |text: &Option<BlockText>| matches!(text, Some(BlockText::Json(_)));
        if let Some(StructuredRun { found, run, .. }) = structured
            && !cuts_text
        {
            return StoredResult::Json(Source::Value(found.span.clone()), run.report.root.clone());
        }
        let mut jsons = with_text().filter(|(_, text)| json(text));
        if let (Some((block, Some(BlockText::Json(run)))), None, false) =
            (jsons.next(), jsons.next(), cuts_text)
            && let Some(found) = block.text
        {
            return StoredResult::Json(Source::characters(found), run.report.root.clone());
        }
        let mut all = with_text();
        if let (Some((block, text)), None, None) = (all.next(), all.next(), structured)
            && !json(text)
            && let Some(found) = block.text
        {
            return StoredResult::Text(Source::characters(found));
        }
        let part = |(block, text): (&Block<'_>, &Option<BlockText>)| match (block.text, text) {
            (Some(found), Some(BlockText::Json(_))) => StoredPart::Json(Source::characters(found)),
            (Some(found), _) => StoredPart::Text(Source::characters(found)),
            (None, _) => StoredPart::Nothing,
        };
        let structured = structured.map(|structured| Source::Value(structured.found.span.clone()));
        StoredResult::Blocks(self.blocks.iter().zip(texts).map(part).collect(), structured)
    }
}
