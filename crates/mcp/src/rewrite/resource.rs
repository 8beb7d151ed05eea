//! Filters the contents of a resource that a filtered result named.
//!
//! Without this, a client could read what the filter of the tool removed.

use std::ops::Range;

use tamis::spec::Omitted;
use tamis_store::OmittedUnit;

use super::block_text::{BlockContext, BlockText};
use super::notice::{NoticeFacts, Omission};
use super::result_parts::Rewritten;
use super::run::{FormOutputs, Source, Texts};
use super::stored::{Room, StoredPart, StoredResult, ToStore};
use super::task::Context;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::splice::{Piece, Splice, cut_members};
use crate::jsonrpc::text;
use crate::policy::failure::{Failure, MESSAGE_WITHHELD};
use crate::policy::tool_call::ToolCall;
use crate::spool::Spool;

/// Returns the replacements in the result of `resources/read`. `contents` is the array, and `items` and `texts` are its
/// elements and their texts.
pub(crate) fn rewrite(
    message: &Spool,
    call: &ToolCall,
    contents: Option<&Found>,
    items: &[Found],
    texts: &[Found],
    context: &Context,
) -> Result<Rewritten, Failure> {
    let mut filter = &call.filter;
    if let Some(reason) = filter.refuses {
        return Err(Failure(reason));
    }
    let is_strict = filter.removes_for_safety;
    let Some(contents) = contents else {
        // Only an error has no contents.
        return if is_strict { Err(Failure::UNKNOWN_FORM) } else { Ok(Rewritten::nothing()) };
    };
    let is_known = contents.kind == ValueKind::Array
        && items.iter().all(|item| item.kind == ValueKind::Object)
        && texts.iter().all(|text| text.kind == ValueKind::String)
        // Rules cannot read binary contents.
        && texts.len() >= items.len();
    if is_strict && !is_known {
        return Err(Failure::UNKNOWN_FORM);
    }
    let repeats = texts.windows(2).any(|two| match two {
        [first, second] => first.indices == second.indices,
        _ => false,
    });
    if is_strict && repeats {
        return Err(Failure::AMBIGUOUS);
    }
    let room = Room::reserve(context, filter);
    if room.is_missing() && !filter.is_of_user() {
        filter = context.proxy.lossless().unwrap_or(filter);
    }
    let mut scratch = Spool::new(context.proxy.limits().spool);
    let unescaped = Texts::new(message, context.proxy.limits().spool);
    let options = call.options.clone().with_omitted(Omitted::Silent);
    let mut left = filter.max_tokens.map(|tokens| tokens * 4);
    let mut splice = Splice::default();
    let mut dropped = Vec::new();
    let mut stored = Vec::new();
    let mut cut: Option<Omission> = None;
    let mut redacted = 0;
    for found in texts.iter().filter(|found| found.kind == ValueKind::String) {
        let block = BlockContext {
            filter,
            options: &options,
            is_error: false,
            has_structured: false,
            is_wrapped: false,
            room: left,
        };
        let before = scratch.len();
        let new = block.filter(&unescaped, found, &mut scratch)?;
        redacted += new.redacted();
        let source = Source::characters(found);
        let inner = found.span.start + 1..found.span.end.saturating_sub(1);
        let bytes_in = source.len().saturating_sub(2);
        let length = if matches!(new, BlockText::Same) { bytes_in } else { scratch.len() - before };
        left = left.map(|left| left.saturating_sub(length));
        let mut is_cut = false;
        let mut part = StoredPart::Text(source.clone());
        match new {
            BlockText::Same => {}
            BlockText::Json(run) => {
                part = StoredPart::Json(source);
                let report = &run.report;
                is_cut = report.budget_applied || report.items_seen > report.items_kept;
                splice.replace(inner, Piece::Quoted(run.output));
            }
            BlockText::Text(range, report) => {
                is_cut = report.left_out > 0 || report.filtered_out > 0;
                splice.replace(inner, Piece::Quoted(range));
            }
            BlockText::Escaped(range) => splice.replace(inner, Piece::Scratch(range)),
            BlockText::Withheld => {
                let sentence = text::quoted(MESSAGE_WITHHELD).into_bytes();
                splice.replace(found.span.clone(), Piece::Bytes(sentence));
            }
            BlockText::Dropped { is_cut: no_room } => {
                is_cut = no_room;
                dropped.extend(items.iter().find(|item| item.indices == found.indices));
            }
        }
        stored.push(part);
        let (sum_in, sum_out) = cut.map_or((0, 0), |cut| (cut.bytes_in, cut.bytes_out));
        if is_cut || cut.is_some() {
            cut = Some(Omission {
                unit: OmittedUnit::Values,
                gap: None,
                shown: None,
                bytes_in: sum_in + bytes_in,
                bytes_out: sum_out + length,
            });
        }
    }
    let dropped_items = dropped.len();
    cut_members(message, &contents.span, dropped, &mut splice)?;
    let omission = cut.map(|omission| {
        let result = match stored.as_slice() {
            [StoredPart::Json(source)] => StoredResult::Json(source.clone(), None),
            [StoredPart::Text(source)] => StoredResult::Text(source.clone()),
            _ => StoredResult::Blocks(stored, None),
        };
        let forms = FormOutputs::of(filter, false, context.proxy.limits().spool);
        let to_store = ToStore { result: &result, tool: &call.tool, redacted };
        let remedy = room.store(&unescaped, &to_store, context, filter, &forms);
        (omission, remedy)
    });
    let left = items.len() - dropped_items;
    tell(&mut splice, contents, left, NoticeFacts { omission, redacted }, message)?;
    Ok(Rewritten { splice, scratch })
}

/// Adds the notices, as further contents of text. `left`: the number of contents before them.
fn tell(
    splice: &mut Splice,
    contents: &Found,
    left: usize,
    facts: NoticeFacts,
    message: &Spool,
) -> Result<(), Failure> {
    let omission = facts.omission.map(|(omission, remedy)| omission.notice(remedy).to_string());
    let sentences: Vec<String> = facts.replaced().into_iter().chain(omission).collect();
    if sentences.is_empty() {
        return Ok(());
    }
    let range: Range<u64> = contents.span.clone();
    let (at, _) = crate::jsonrpc::splice::end_of(message, &range)?;
    let added = sentences.iter().enumerate().map(|(index, sentence)| {
        let comma = if left + index == 0 { "" } else { "," };
        let sentence = text::quoted(sentence);
        format!("{comma}{{\"uri\":\"tamis:notice\",\"text\":{sentence}}}")
    });
    splice.insert(at, added.collect::<String>().into_bytes());
    Ok(())
}
