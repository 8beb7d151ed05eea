//! Results of a listed type: `structuredContent` that fits the schema in the list of tools.
//!
//! | the schema in the list | `structuredContent` |
//! |---|---|
//! | the server's, which the filter keeps valid | the server's, filtered |
//! | that of the filter | the filtered `structuredContent`, or the JSON of the only text |
//! | that of the filter, and the result does not fit it | an object with the text |
//!
//! Code reads such results. Nothing is cut inside of an item, and there are no marks: a budget leaves out items from the end. The notice is in `_meta`, and in an open object also in a member of it.

use std::ops::Range;

use tamis::CallOptions;
use tamis::spec::{Budget, Omitted, Prefer};

use super::block_text::BlockText;
use super::blocks::{self, Block};
use super::notice::NoticeFacts;
use super::result_parts::{FilteredParts, ResultRewrite};
use super::run::{self, JsonRun, RunError, Source, Texts};
use super::task::Context;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{Parts, ResultPart};
use crate::jsonrpc::splice::{Piece, Splice, end_of};
use crate::jsonrpc::text;
use crate::policy::failure::{Failure, MESSAGE_WITHHELD};
use crate::policy::tool_call::{ListedSchema, ToolCall};
use crate::rules::{OutputCheck, OutputType, ToolFilter};
use crate::spool::Spool;

/// The longest value that is compared with a schema.
const LONGEST: usize = 4 << 20;
/// The largest budget.
const LARGEST: u64 = 1 << 40;

/// Returns options under which a budget leaves out items only, without marks.
pub(super) fn options(options: CallOptions) -> CallOptions {
    let options = options.with_prefer(Prefer::Order).with_omitted(Omitted::Silent);
    options.with_min_items(0).with_factor(false)
}

/// Filters a JSON value. A budget that is too small for one item would be kept by cutting inside of it, so it grows.
pub(super) fn whole_items(
    texts: &Texts<'_>,
    source: &Source,
    filter: &ToolFilter,
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<JsonRun, RunError> {
    let mut options = options.clone();
    loop {
        let run = run::json(texts, source, filter, &options, scratch)?;
        let of_spec = || filter.programs.last().and_then(|program| program.spec().budget);
        let larger = match (run.report.budget_applied, run.report.items_kept) {
            (false, _) | (true, Some(1..)) => None,
            // Nothing is an item.
            (true, None) if options.budget() != Some(Budget::Bytes(LARGEST)) => {
                Some(Budget::Bytes(LARGEST))
            }
            (true, None) => None,
            (true, Some(0)) => match options.budget().or_else(of_spec) {
                Some(Budget::Bytes(bytes)) if bytes < LARGEST => Some(Budget::Bytes(bytes * 4)),
                Some(Budget::Tokens(tokens)) if tokens < LARGEST => {
                    Some(Budget::Tokens(tokens * 4))
                }
                _ => None,
            },
        };
        let Some(larger) = larger else { return Ok(run) };
        scratch.truncate(run.output.start);
        options = options.with_budget(larger);
    }
}

impl ResultRewrite<'_> {
    /// Returns the `structuredContent` of the type of the filter. `None`: clients do not know that type.
    pub(crate) fn typed(
        &self,
        filtered: &FilteredParts<'_>,
        facts: NoticeFacts,
        scratch: &Spool,
    ) -> Result<Option<TypedContent>, Failure> {
        let structured = filtered.structured.run();
        // The result of a failed call needs none, but what it has must fit.
        if self.listed != ListedSchema::Ours || (self.is_error && structured.is_none()) {
            return Ok(None);
        }
        let Some((output_type, check)) = output_type(self.filter, self.context) else {
            return Ok(None);
        };
        let member = facts.member("_tamis").filter(|_| self.shows_structured());
        let only_text = only_json(&filtered.texts);
        let values = structured.map(|structured| &structured.run.output).into_iter();
        for value in values.chain(only_text) {
            if value.end - value.start > LONGEST as u64 {
                continue;
            }
            let object = output_type.object(scratch.to_vec(value.clone(), LONGEST)?);
            if let Some(with_member) = with_member(&object, member.as_deref())
                && check.fits(&with_member)
            {
                let pieces = vec![Piece::Bytes(with_member)];
                return Ok(Some(TypedContent { pieces, has_member: true }));
            }
            if check.fits(&object) {
                let pieces = vec![Piece::Bytes(object)];
                return Ok(Some(TypedContent { pieces, has_member: false }));
            }
        }
        let mut content = TypedContent::text(output_type);
        match structured.filter(|_| only_text.is_none()) {
            Some(structured) => {
                content.pieces.push(Piece::Quoted(structured.run.output.clone()));
            }
            None => content.push_texts(self.blocks, &filtered.texts),
        }
        Ok(Some(content.end(member.filter(|_| check.is_open))))
    }

    /// Writes the `structuredContent` of a type.
    pub(crate) fn replace_typed(
        &self,
        typed: TypedContent,
        splice: &mut Splice,
    ) -> Result<(), Failure> {
        let structured = self.parts.last(ResultPart::Structured);
        typed.write(self.message, self.result, structured, splice)
    }

    /// Writes the notice to `_meta`.
    pub(crate) fn note_in_meta(
        &self,
        facts: NoticeFacts,
        splice: &mut Splice,
    ) -> Result<(), Failure> {
        // The protocol does not define it, so a filter that removes for safety would remove it again.
        let is_sent = self.listed != ListedSchema::Nothing && !self.filter.removes_for_safety;
        let Some(member) = facts.member("tamis").filter(|_| is_sent) else { return Ok(()) };
        let meta = self.parts.last(ResultPart::Meta);
        match meta.filter(|found| found.kind == ValueKind::Object) {
            Some(found) => {
                let (at, comma) = end_of(self.message, &found.span)?;
                let comma = if comma { "," } else { "" };
                splice.insert(at, format!("{comma}{member}").into_bytes());
            }
            None if meta.is_some() => {}
            None => {
                let (at, comma) = end_of(self.message, self.result)?;
                let comma = if comma { "," } else { "" };
                splice.insert(at, format!("{comma}\"_meta\":{{{member}}}").into_bytes());
            }
        }
        Ok(())
    }
}

/// Returns the changes that make an unfiltered result fit the type of its filter, after the filter failed. `None`: it fits as it is,
/// or cannot be read.
pub(super) fn original(
    message: &Spool,
    result: &Range<u64>,
    call: &ToolCall,
    context: &Context,
) -> Result<Option<Splice>, Failure> {
    let Some((output_type, _)) = output_type(&call.filter, context) else { return Ok(None) };
    let Ok(parts) = Parts::<ResultPart>::find(message, result.clone()) else { return Ok(None) };
    let is_error = match parts.last(ResultPart::IsError) {
        Some(found) => message.to_vec(found.span.clone(), 8).is_ok_and(|it| it == b"true"),
        None => false,
    };
    let structured = parts.last(ResultPart::Structured);
    if is_error && structured.is_none() {
        return Ok(None);
    }
    let blocks = blocks::read(message, &parts, false)?;
    let mut content = TypedContent::text(output_type);
    let texts: Vec<_> = blocks.iter().map(|_| Some(BlockText::Same)).collect();
    content.push_texts(&blocks, &texts);
    let mut splice = Splice::default();
    content.end(None).write(message, result, structured, &mut splice)?;
    Ok(Some(splice))
}

/// Returns the type of a filter's results, if clients can use it.
fn output_type<'a>(
    filter: &'a ToolFilter,
    context: &Context,
) -> Option<(&'a OutputType, &'a OutputCheck)> {
    let output_type = filter.output_type.as_deref()?;
    Some((output_type, output_type.check(context.proxy.schema_compiler())?))
}

/// The `structuredContent` of a type.
pub(crate) struct TypedContent {
    pieces: Vec<Piece>,
    /// Whether it has the notice.
    pub(crate) has_member: bool,
}

impl TypedContent {
    /// Begins an object with the text of a result.
    fn text(output_type: &OutputType) -> Self {
        let begin = format!("{{\"{}\":\"", output_type.text_name());
        Self { pieces: vec![Piece::Bytes(begin.into_bytes())], has_member: false }
    }

    /// Adds the texts of blocks, each after a line break.
    fn push_texts(&mut self, blocks: &[Block<'_>], texts: &[Option<BlockText>]) {
        for (block, text) in blocks.iter().zip(texts) {
            let (Some(found), Some(text)) = (block.text, text) else { continue };
            if matches!(text, BlockText::Dropped { .. } | BlockText::Image(_)) {
                continue;
            }
            if self.pieces.len() > 1 {
                self.pieces.push(Piece::Bytes(b"\\n".to_vec()));
            }
            let sentence = || text::quoted(MESSAGE_WITHHELD).trim_matches('"').as_bytes().to_vec();
            let inner = found.span.start + 1..found.span.end.saturating_sub(1);
            self.pieces.push(match text {
                BlockText::Withheld => Piece::Bytes(sentence()),
                text => text.piece().unwrap_or(Piece::Message(inner)),
            });
        }
    }

    /// Ends the object, with the notice.
    fn end(mut self, member: Option<String>) -> Self {
        self.has_member = member.is_some();
        let end = member.map_or_else(|| "\"}".to_owned(), |member| format!("\",{member}}}"));
        self.pieces.push(Piece::Bytes(end.into_bytes()));
        self
    }

    /// Writes it in place of `structuredContent`, or to the end of the result.
    fn write(
        self,
        message: &Spool,
        result: &Range<u64>,
        structured: Option<&Found>,
        splice: &mut Splice,
    ) -> Result<(), Failure> {
        let at = match structured {
            Some(found) => {
                splice.replace(found.span.clone(), Piece::Cut);
                found.span.end
            }
            None => {
                let (at, comma) = end_of(message, result)?;
                let comma = if comma { "," } else { "" };
                splice.insert(at, format!("{comma}\"structuredContent\":").into_bytes());
                at
            }
        };
        for piece in self.pieces {
            splice.replace(at..at, piece);
        }
        Ok(())
    }
}

/// Returns an object with our member at its end. `None`: there is no member, or the object may have one of the same name.
fn with_member(object: &[u8], member: Option<&str>) -> Option<Vec<u8>> {
    let member = member.filter(|_| memchr::memmem::find(object, b"\"_tamis\"").is_none())?;
    let open = object.trim_ascii_end().strip_suffix(b"}")?;
    let comma: &[u8] = if open.trim_ascii() == b"{" { b"" } else { b"," };
    Some([open, comma, member.as_bytes(), b"}"].concat())
}

/// Returns the place of the only text of a result, if it is a JSON value.
fn only_json(texts: &[Option<BlockText>]) -> Option<&Range<u64>> {
    let mut texts = texts.iter().flatten();
    match (texts.next(), texts.next()) {
        (Some(BlockText::Json(run)), None) => Some(&run.output),
        _ => None,
    }
}
