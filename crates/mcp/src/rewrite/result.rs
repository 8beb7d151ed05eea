//! Rewrites the result of a tool: `structuredContent`, and the texts of `content`.
//!
//! The filter of the call rewrites it. There are more ways, and each is tried only if an earlier one falls short:
//!
//! | attempt | if |
//! |---|---|
//! | the careful level | the result is not of the shape of the tight level of the catalog |
//! | the profile | the result is not of the shape of a filter of the catalog, or has nothing that it selects |
//! | the filter that keeps every value | the catalog or a profile saves nothing, or cuts what cannot be stored |
//! | these four with a limit of bytes | the result is longer than clients accept |

use std::ops::Range;
use std::sync::Arc;

use tamis::spec::{Budget, Omitted, Prefer};
use tamis::{CallOptions, Limits, Program};
use tamis_store::{Handle, LostReason, Remedy};

use super::block_text::{BlockContext, BlockText, TextBudget, written_budget};
use super::blocks::{self, Block};
use super::images;
use super::notice::{FactorNotice, NoticeFacts, Omission};
use super::omission::costs_more_than_it_saves;
use super::result_parts::{FilteredParts, ResultRewrite, Rewritten, StructuredPart, StructuredRun};
use super::run::{self, FormOutputs, RunError, Source, Texts};
use super::stored::{Room, StoredResult, ToStore};
use super::task::{Context, Record, bytes_of};
use super::text_cut::TextRoom;
use super::typed;
use crate::jsonrpc::find::{FindError, ValueKind};
use crate::jsonrpc::head::{Parts, ResultPart, short_text};
use crate::policy::failure::Failure;
use crate::policy::memory::Named;
use crate::policy::tool_call::{ListedSchema, ToolCall};
use crate::record::{CallOutcome, RuleSource};
use crate::rules::{Structured, ToolFilter};
use crate::spool::Spool;

/// Filters the result that is a range of a message.
pub(crate) fn rewrite(
    message: &Spool,
    result: &Range<u64>,
    call: &ToolCall,
    context: &Context,
    record: &mut Record,
) -> Result<Rewritten, Failure> {
    let rewritten = filtered(message, result, call, context, record);
    let Err(failure) = rewritten else { return rewritten };
    if call.listed != ListedSchema::Ours || call.filter.removes_for_safety {
        return Err(failure);
    }
    // Clients refuse the original.
    let Some(splice) = typed::original(message, result, call, context)? else {
        return Err(failure);
    };
    (record.outcome, record.reason) = (CallOutcome::FailedOpen, Some(failure.0));
    Ok(Rewritten { splice, ..Rewritten::nothing() })
}

/// Filters the result by the first attempt that does not fall short.
fn filtered(
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
    let listed = call.listed;
    let is_raw = call.options.raw() && listed != ListedSchema::Ours;
    if is_raw && call.filter.redacts.is_none() && !context.is_too_long(result) {
        return Ok(Rewritten::nothing());
    }
    let is_error = match parts.last(ResultPart::IsError) {
        Some(found) => message.to_vec(found.span.clone(), 8).is_ok_and(|it| it == b"true"),
        None => false,
    };
    let spool = context.proxy.limits().spool;
    let texts = Texts::new(message, spool);
    let mut next = Attempt::FIRST;
    for attempt in Attempt::ALL {
        let Some(filter) = attempt.filter(call, context).filter(|_| attempt == next) else {
            continue;
        };
        let cap = attempt.cap(context);
        let options = options(call, &filter, context, is_error, cap);
        let options = match factors(call, &filter, context, &parts, is_error) {
            Some(factors) => options.with_factor(factors),
            None => options,
        };
        let options = match listed {
            ListedSchema::Nothing => options,
            _ => typed::options(options),
        };
        let rewrite = ResultRewrite {
            message,
            texts: &texts,
            result,
            parts: &parts,
            blocks: &blocks,
            filter: &filter,
            forms: FormOutputs::of(
                &filter,
                is_error && filter.minds_errors,
                spool,
                call.options.marks(),
            ),
            options,
            is_error,
            listed,
            cap,
            context,
            tool: &call.tool,
            query: &call.query,
        };
        match rewrite.run()? {
            Tried::Done(rewritten, handle) => {
                if let Some(handle) = handle {
                    record.handle = Some(handle.to_string());
                }
                return Ok(rewritten);
            }
            Tried::Short(shortfall) => {
                if shortfall == Shortfall::NoRoom {
                    record.reason = Some(NOT_SHORTENED);
                }
                next = attempt.after(shortfall, call);
            }
        }
    }
    // Not reached: an attempt falls short only if there is the one after it.
    Err(Failure::TOO_COMPLEX)
}

/// Returns whether what items share is written once. `None`: a filter of the user decides.
///
/// While the listing has an output schema, structured results must fit it, and their texts must remain equal to them.
fn factors(
    call: &ToolCall,
    filter: &ToolFilter,
    context: &Context,
    parts: &Parts<ResultPart>,
    is_error: bool,
) -> Option<bool> {
    if filter.is_of_user() {
        return None;
    }
    let structured = parts.last(ResultPart::Structured);
    let has_structured = structured.is_some_and(|found| found.kind != ValueKind::Null);
    let fits_schema = !(filter.keeps_everything && has_structured);
    Some(context.factors && fits_schema && !is_error && !call.options.raw())
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
    let options = call.options.clone().with_omitted(omitted(filter));
    let options = options.with_limits(limits).with_query(call.query.clone());
    let options = options.with_is_error(is_error && filter.minds_errors);
    match (filter.max_tokens, context.limit(filter, &options), cap) {
        (Some(tokens), Some(limit), _) if limit < bytes_of(tokens) => {
            options.with_budget(Budget::Bytes(limit))
        }
        (None, _, Some(cap)) => {
            let written = written_budget(filter, &options).and_then(TextRoom::of_budget);
            let is_smaller = written.is_some_and(|room| room.bytes() <= cap);
            if is_smaller { options } else { options.with_budget(Budget::Bytes(cap)) }
        }
        _ => options,
    }
}

/// Returns how an output says what is missing. Where a budget chooses parts, marks say which ones. Otherwise the notice says where
/// items end.
pub(super) fn omitted(filter: &ToolFilter) -> Omitted {
    let chooses = |program: &Program| program.spec().prefer == Some(Prefer::Information);
    if filter.programs.iter().any(chooses) { Omitted::Mark } else { Omitted::Silent }
}

/// A way to rewrite a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    filter: FilterChoice,
    /// Whether each form of the result has a limit of bytes.
    is_capped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterChoice {
    /// The filter of the call.
    Own,
    /// The next level of that filter.
    Next,
    Profile,
    Lossless,
}

/// Why an attempt is not the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortfall {
    /// No part of the result is of the shape of a filter of the catalog, or has what it selects: the server is not the
    /// one that the filter was written for, or its results look different.
    Missed,
    /// The result is not shorter than one that keeps everything.
    NoGain,
    /// The store has no room. The catalog and profiles never cut what cannot be fetched back.
    NoRoom,
    /// The result is longer than clients accept.
    TooLong,
}

impl Attempt {
    const FIRST: Self = Self { filter: FilterChoice::Own, is_capped: false };

    /// All attempts, in order: what is tried after a shortfall is further down.
    const ALL: [Self; 8] = [
        Self::FIRST,
        Self { filter: FilterChoice::Next, is_capped: false },
        Self { filter: FilterChoice::Profile, is_capped: false },
        Self { filter: FilterChoice::Lossless, is_capped: false },
        Self { filter: FilterChoice::Own, is_capped: true },
        Self { filter: FilterChoice::Next, is_capped: true },
        Self { filter: FilterChoice::Profile, is_capped: true },
        Self { filter: FilterChoice::Lossless, is_capped: true },
    ];

    /// Returns the attempt after this one.
    fn after(self, shortfall: Shortfall, call: &ToolCall) -> Self {
        match shortfall {
            Shortfall::Missed if self.filter == FilterChoice::Own && call.filter.next.is_some() => {
                Self { filter: FilterChoice::Next, ..self }
            }
            Shortfall::Missed => Self { filter: FilterChoice::Profile, ..self },
            Shortfall::NoGain | Shortfall::NoRoom => {
                Self { filter: FilterChoice::Lossless, ..self }
            }
            Shortfall::TooLong => Self { is_capped: true, ..self },
        }
    }

    fn filter(self, call: &ToolCall, context: &Context) -> Option<Arc<ToolFilter>> {
        match self.filter {
            FilterChoice::Own => Some(Arc::clone(&call.filter)),
            FilterChoice::Next => call.filter.next.clone(),
            FilterChoice::Profile => context.proxy.profile(&call.tool),
            FilterChoice::Lossless => context.proxy.lossless().cloned(),
        }
    }

    /// Returns the most bytes of each form of the result: a share, since escapes make texts longer.
    fn cap(self, context: &Context) -> Option<u64> {
        self.is_capped.then_some(context.proxy.limits().output / 4)
    }
}

/// The outcome of an attempt.
enum Tried {
    /// The result, and where the whole of it is stored.
    Done(Rewritten, Option<Handle>),
    Short(Shortfall),
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

impl ResultRewrite<'_> {
    fn run(self) -> Result<Tried, Failure> {
        let mut scratch = Spool::new(self.context.proxy.limits().spool);
        let filtered = self.filter_parts(&mut scratch)?;
        if self.has_profile() && filtered.have_missed() {
            return Ok(Tried::Short(Shortfall::Missed));
        }
        let cut = self.omission(&filtered, &scratch)?;
        let (rewritten, remedy) = match cut {
            Some((omission, _))
                if costs_more_than_it_saves(
                    self.filter,
                    self.context.limit(self.filter, &self.options),
                    &omission,
                ) =>
            {
                if self.can_keep_everything() {
                    return Ok(Tried::Short(Shortfall::NoGain));
                }
                (Rewritten::nothing(), None)
            }
            cut => self.finish(filtered, cut, scratch)?,
        };
        let handle = match remedy {
            Some(Remedy::Retrieve(handle) | Remedy::Recall(handle)) => Some(handle),
            Some(Remedy::Lost(LostReason::NoRoom | LostReason::Unreachable))
                if self.can_keep_everything() =>
            {
                return Ok(Tried::Short(Shortfall::NoRoom));
            }
            _ => None,
        };
        if self.is_too_long(&rewritten) {
            return Ok(Tried::Short(Shortfall::TooLong));
        }
        Ok(Tried::Done(rewritten, handle))
    }

    /// Whether the filter that keeps every value may replace this one.
    fn can_keep_everything(&self) -> bool {
        !self.filter.is_of_user()
            && !self.filter.keeps_everything
            && self.context.proxy.lossless().is_some()
    }

    /// Whether the profile may replace this filter.
    fn has_profile(&self) -> bool {
        let removes = self.filter.removes_for_safety;
        self.filter.source == RuleSource::Catalog
            && self
                .context
                .proxy
                .profile(self.tool)
                .is_some_and(|profile| profile.removes_for_safety || !removes)
    }

    /// Whether a result is longer than clients accept, and a limit of bytes may help.
    fn is_too_long(&self, rewritten: &Rewritten) -> bool {
        let length = rewritten.splice.length(self.message.len());
        self.cap.is_none()
            && length > self.context.proxy.limits().output
            && self.context.limits_output
            && self.context.proxy.store().is_some()
    }

    /// Filters all parts of the result, and drops those that only repeat others.
    fn filter_parts(&self, scratch: &mut Spool) -> Result<FilteredParts<'_>, Failure> {
        let wrapped = self.wrapped()?;
        let mut structured = match &wrapped {
            Some(_) => StructuredPart::Absent,
            None => self.structured_unless_text(scratch)?,
        };
        let has_structured =
            matches!(structured, StructuredPart::Filtered(_) | StructuredPart::Withheld);
        // A filter for this tool knows that the text is a result.
        let is_file =
            !self.filter.is_own() && wrapped.as_ref().is_some_and(|wrapped| wrapped.is_file);
        let mut texts = self.texts(has_structured, is_file, scratch)?;
        if let StructuredPart::Filtered(run) = &structured {
            if self.wraps_values(run, &texts, scratch)? {
                structured = StructuredPart::InTexts;
            } else {
                self.drop_copies(run, &mut texts, scratch)?;
            }
        }
        Ok(FilteredParts { structured, wrapped, texts })
    }

    /// Stores the result if something was left out, and puts the replacements together.
    fn finish(
        &self,
        filtered: FilteredParts<'_>,
        cut: Option<(Omission, StoredResult)>,
        scratch: Spool,
    ) -> Result<(Rewritten, Option<Remedy>), Failure> {
        let redacted = filtered.redacted();
        let count = redacted.count();
        let omission = match cut {
            Some((omission, stored)) => {
                let to_store = ToStore { result: &stored, tool: self.tool, redacted: count };
                // Only a result of which a part is left out needs room.
                let room = Room::reserve(self.context, self.filter, omission.bytes_in);
                let remedy =
                    room.store(self.texts, &to_store, self.context, self.filter, &self.forms);
                let hint = self.hint(&omission, &filtered, &scratch)?;
                let tool = self.context.proxy.retrieval_tool();
                Some((Omission { hint, tool, ..omission }, remedy))
            }
            None => None,
        };
        let remedy = omission.map(|(_, remedy)| remedy);
        let factored = filtered.is_factored().then(|| self.factor_notice());
        let facts = NoticeFacts { omission, redacted: count, factored };
        let splice = self.assemble(filtered, facts, &scratch)?;
        Ok((Rewritten { splice, scratch, redacted }, remedy))
    }

    /// Returns the notice about a factored document: an explanation, but only once for a client with a session.
    fn factor_notice(&self) -> FactorNotice {
        let has_session = !Arc::ptr_eq(&self.context.memory, &self.context.proxy.memory);
        let was_explained = has_session && self.context.memory.explain();
        if was_explained { FactorNotice::Short } else { FactorNotice::Full }
    }

    /// Filters `structuredContent`, unless it only repeats texts.
    fn structured_unless_text(&self, scratch: &mut Spool) -> Result<StructuredPart<'_>, Failure> {
        let repeats_text = self.wraps_text()?;
        match self.structured(scratch) {
            // Rules have removed the copy.
            Ok(StructuredPart::Filtered(structured)) if structured.run.len() <= 2 => {
                Ok(StructuredPart::Filtered(structured))
            }
            _ if repeats_text => Ok(StructuredPart::InTexts),
            structured => structured,
        }
    }

    /// Filters `structuredContent`.
    fn structured(&self, scratch: &mut Spool) -> Result<StructuredPart<'_>, Failure> {
        let found = self.parts.last(ResultPart::Structured);
        let Some(found) = found.filter(|found| found.kind != ValueKind::Null) else {
            return Ok(StructuredPart::Absent);
        };
        let source = Source::Value(found.span.clone());
        let filter = match self.listed {
            ListedSchema::Nothing => run::json,
            _ => typed::whole_items,
        };
        match filter(self.texts, &source, self.filter, &self.options, scratch) {
            Ok(run) => {
                let first = scratch.to_vec(run.output.start..run.output.start + 1, 1)?;
                let is_object = first == b"{";
                Ok(StructuredPart::Filtered(StructuredRun { found, run, is_object }))
            }
            // The result of a failed call rarely has the expected members.
            Err(RunError::Failed(_)) if self.is_error && self.filter.removes_for_safety => {
                Ok(StructuredPart::Withheld)
            }
            Err(RunError::Failed(failure)) => Err(failure),
            Err(RunError::NotJson) => Err(Failure::NOT_JSON),
        }
    }

    /// Filters the texts of all blocks. Blocks without a text stay.
    fn texts(
        &self,
        has_structured: bool,
        is_file: bool,
        scratch: &mut Spool,
    ) -> Result<Vec<Option<BlockText>>, Failure> {
        let mut room = self.context.limit(self.filter, &self.options).or(self.cap);
        let mut budget = TextBudget::of(self.filter, &self.options);
        let mut texts = Vec::with_capacity(self.blocks.len());
        let mut images = 0;
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
                listed: self.listed,
                is_error: self.is_error,
                has_structured,
                is_file,
                room: room.filter(|_| !self.options.raw() || self.cap.is_some()),
                budget,
                query: self.query,
                proxy: &self.context.proxy,
            };
            let before = scratch.len();
            let image = match self.shows_images() && images < images::MOST {
                true => images::of_text(self.texts, found)?,
                false => None,
            };
            images += usize::from(image.is_some());
            let text = match image {
                Some(image) => BlockText::Image(Box::new(image)),
                None => context.filter(self.texts, found, scratch)?,
            };
            let length = match &text {
                BlockText::Same => found.span.end - found.span.start,
                _ => scratch.len() - before,
            };
            room = room.map(|room| room.saturating_sub(length));
            if let Some(budget) = budget.as_mut().filter(|_| !matches!(text, BlockText::Json(_))) {
                budget.take(length);
            }
            texts.push(Some(text));
        }
        Ok(texts)
    }

    /// Whether images in strings become blocks: by the filters of the catalog and of profiles, which leave out base64.
    pub(crate) fn shows_images(&self) -> bool {
        self.filter.leaves_out_base64() && !self.is_error
    }

    /// Whether `structuredContent` is removed, so that clients show the text.
    pub(crate) fn drops(&self, structured: &StructuredRun<'_>) -> bool {
        if matches!(self.listed, ListedSchema::Servers { .. }) {
            return false;
        }
        self.filter.structured == Structured::Drop
            // Before 2026-07-28 it has to be an object.
            || (!structured.is_object && !self.context.is_modern)
    }
}
