//! Filters the contents of a resource that a filtered result named.
//!
//! Without this, a client could read what the filter of the tool removed.

use std::ops::Range;

use tamis::PayloadPath;

use super::block_text::{BlockContext, BlockText, TextBudget};
use super::notice::{NoticeFacts, Omission};
use super::omission::{Comparison, costs_more_than_it_saves};
use super::replaced::Replaced;
use super::result::omitted;
use super::result_parts::Rewritten;
use super::run::{FormOutputs, Source, Texts};
use super::stored::{Room, StoredPart, StoredResult, ToStore};
use super::task::Context;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::splice::{Piece, Splice, cut_members};
use crate::jsonrpc::text;
use crate::policy::failure::{Failure, MESSAGE_WITHHELD};
use crate::policy::tool_call::{ListedSchema, ToolCall};
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
    let Some(contents) = contents else {
        // Only an error has no contents.
        let is_strict = filter.removes_for_safety;
        return if is_strict { Err(Failure::UNKNOWN_FORM) } else { Ok(Rewritten::nothing()) };
    };
    if filter.removes_for_safety {
        check_form(contents, items, texts)?;
    }
    let room = Room::reserve(context, filter, contents.span.end - contents.span.start);
    if room.is_missing() && !filter.is_of_user() {
        filter = context.proxy.lossless().unwrap_or(filter);
    }
    let spool = context.proxy.limits().spool;
    let (mut scratch, unescaped) = (Spool::new(spool), Texts::new(message, spool));
    let options = call.options.clone().with_omitted(omitted(filter));
    let mut left = context.limit(filter, &options);
    let mut budget = TextBudget::of(filter, &options);
    let mut new = NewContents::default();
    let has_places = texts.len() > 1;
    let forms = FormOutputs::of(filter, false, spool, options.marks());
    let comparison = Comparison { filter, texts: &unescaped, forms: &forms };
    for found in texts.iter().filter(|found| found.kind == ValueKind::String) {
        let block = BlockContext {
            filter,
            options: &options,
            listed: ListedSchema::Nothing,
            is_error: false,
            has_structured: false,
            is_file: false,
            room: left,
            budget,
            query: &call.query,
            proxy: &context.proxy,
        };
        let before = scratch.len();
        let output = block.filter(&unescaped, found, &mut scratch)?;
        let bytes_in = Source::characters(found).len().saturating_sub(2);
        let bytes_out =
            if matches!(output, BlockText::Same) { bytes_in } else { scratch.len() - before };
        left = left.map(|left| left.saturating_sub(bytes_out));
        if let Some(budget) = budget.as_mut().filter(|_| !matches!(output, BlockText::Json(_))) {
            budget.take(bytes_out);
        }
        let place =
            if has_places { format!("/blocks/{}", new.stored.len()) } else { String::new() };
        let is_cut = comparison.cuts(found, &output);
        new.parts.push((is_cut, comparison.omission(found, &output, &place)));
        new.replace(found, items, output);
    }
    let NewContents { mut splice, dropped, stored, root, parts, redacted } = new;
    let shown = (stored.len() - dropped.len()) as u64;
    let blocks = (!dropped.is_empty()).then_some((shown, stored.len() as u64));
    let kept = items.len() - dropped.len();
    cut_members(message, &contents.span, dropped, &mut splice)?;
    let omission = Omission::of_parts(&parts, blocks);
    let costs_more =
        |omission| costs_more_than_it_saves(filter, context.limit(filter, &options), omission);
    if omission.as_ref().is_some_and(costs_more) && !filter.removes_for_safety {
        return Ok(Rewritten::nothing());
    }
    let omission = omission.map(|omission| {
        let result = match stored.as_slice() {
            [StoredPart::Json(source)] => {
                StoredResult::Json { source: source.clone(), items: root, wraps_text: false }
            }
            [StoredPart::Text(source)] => StoredResult::Text(source.clone()),
            _ => StoredResult::Blocks(stored, None),
        };
        let redacted = redacted.count();
        let to_store = ToStore { result: &result, tool: &call.tool, redacted };
        let omission = Omission { tool: context.proxy.retrieval_tool(), ..omission };
        (omission, room.store(&unescaped, &to_store, context, filter, &forms))
    });
    add_notices(
        &mut splice,
        contents,
        kept,
        NoticeFacts { omission, redacted: redacted.count(), factored: None },
        message,
    )?;
    Ok(Rewritten { splice, scratch, redacted })
}

/// Checks that contents have a form that rules can read.
fn check_form(contents: &Found, items: &[Found], texts: &[Found]) -> Result<(), Failure> {
    let is_known = contents.kind == ValueKind::Array
        && items.iter().all(|item| item.kind == ValueKind::Object)
        && texts.iter().all(|text| text.kind == ValueKind::String)
        // Rules cannot read binary contents.
        && texts.len() >= items.len();
    if !is_known {
        return Err(Failure::UNKNOWN_FORM);
    }
    let repeats = texts.windows(2).any(|two| match two {
        [first, second] => first.indices == second.indices,
        _ => false,
    });
    if repeats { Err(Failure::AMBIGUOUS) } else { Ok(()) }
}

/// The outputs for the texts so far, and the parts that they leave out.
#[derive(Default)]
struct NewContents<'a> {
    splice: Splice,
    /// Contents that are dropped.
    dropped: Vec<&'a Found>,
    stored: Vec<StoredPart>,
    /// The path of the items in the last JSON text.
    root: Option<PayloadPath>,
    /// Whether something was left out of each text, and what.
    parts: Vec<(bool, Omission)>,
    redacted: Replaced,
}

impl<'a> NewContents<'a> {
    /// Replaces a text by its output.
    fn replace(&mut self, found: &Found, items: &'a [Found], output: BlockText) {
        output.redacted().into_iter().for_each(|replaced| self.redacted.add_all(replaced));
        let source = Source::characters(found);
        let inner = found.span.start + 1..found.span.end.saturating_sub(1);
        self.stored.push(match &output {
            BlockText::Json(_) => StoredPart::Json(source),
            _ => StoredPart::Text(source),
        });
        match output {
            BlockText::Json(run) => {
                self.root = run.report.root;
                self.splice.replace(inner, Piece::Quoted(run.output));
            }
            BlockText::Text(range, _) => self.splice.replace(inner, Piece::Quoted(range)),
            BlockText::Dropped { .. } => {
                self.dropped.extend(items.iter().find(|item| item.indices == found.indices));
            }
            BlockText::Withheld => {
                let sentence = text::quoted(MESSAGE_WITHHELD).into_bytes();
                self.splice.replace(found.span.clone(), Piece::Bytes(sentence));
            }
            // Images in the contents of a resource stay text.
            BlockText::Same | BlockText::Image(_) => {}
        }
    }
}

/// Adds the notices, as further contents of text. `left`: the number of contents before them.
fn add_notices(
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
