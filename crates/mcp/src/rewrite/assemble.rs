//! Puts the replacements of a result together.

use std::ops::Range;

use super::block_text::BlockText;
use super::images::{self, Image};
use super::notice::{self, NoticeFacts};
use super::result_parts::{FilteredParts, ResultRewrite, StructuredPart, StructuredRun};
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::ResultPart;
use crate::jsonrpc::splice::{Piece, Splice, cut_members, end_of};
use crate::jsonrpc::text;
use crate::policy::clients::ClientReads;
use crate::policy::failure::{Failure, MESSAGE_WITHHELD};
use crate::policy::tool_call::ListedSchema;
use crate::spool::Spool;

impl ResultRewrite<'_> {
    /// Returns the replacements.
    pub(crate) fn assemble(
        &self,
        filtered: FilteredParts<'_>,
        facts: NoticeFacts,
        scratch: &Spool,
    ) -> Result<Splice, Failure> {
        let typed = self.typed(&filtered, facts, scratch)?;
        let FilteredParts { structured, wrapped, texts } = filtered;
        let mut splice = Splice::default();
        let mut dropped = Vec::new();
        let mut has_json_text = false;
        let mut texts_left = 0;
        let mut removed = None;
        let mut has_member = false;
        for (block, text) in self.blocks.iter().zip(&texts) {
            let Some(text) = text else { continue };
            let Some(found) = block.text else {
                // It has text in Base64.
                dropped.push(block.element);
                continue;
            };
            if let Some(wrapped) = &wrapped {
                if self.drops_wrapped(text) {
                    removed = Some(wrapped.found);
                } else {
                    has_member = self.replace_wrapped(wrapped, text, facts, &mut splice)?;
                    if self.drops_wrapped_block() {
                        dropped.push(block.element);
                        continue;
                    }
                }
            }
            // The client shows the structured result, which has its own copy.
            if typed.is_some() && self.shows_structured() {
                dropped.push(block.element);
                continue;
            }
            texts_left += 1;
            let inner = found.span.start + 1..found.span.end.saturating_sub(1);
            match text {
                BlockText::Json(run) => {
                    has_json_text = true;
                    if run.len() != run.bytes_in || self.filter.removes_for_safety {
                        splice.replace(inner, Piece::Quoted(run.output.clone()));
                    }
                }
                BlockText::Same | BlockText::Text(..) => {
                    if let Some(piece) = text.piece() {
                        splice.replace(inner, piece);
                    }
                }
                BlockText::Image(image) => {
                    splice.replace(block.element.span.clone(), Piece::Bytes(image.block()));
                }
                BlockText::Withheld => {
                    let sentence = text::quoted(MESSAGE_WITHHELD).into_bytes();
                    splice.replace(found.span.clone(), Piece::Bytes(sentence));
                }
                BlockText::Dropped { .. } => {
                    dropped.push(block.element);
                    texts_left -= 1;
                }
            }
        }
        let mut added: Vec<Vec<u8>> = Vec::new();
        if self.shows_images() {
            let structured = self.parts.last(ResultPart::Structured);
            let shown = |text: &Option<BlockText>| match text {
                Some(BlockText::Image(image)) => Some(Image::clone(image)),
                _ => None,
            };
            let mut images: Vec<Image> = texts.iter().filter_map(shown).collect();
            let in_place = images.len();
            let searched = self.blocks.iter().zip(&texts);
            let searched = searched.filter(|(_, text)| shown(text).is_none());
            for found in searched.filter_map(|(block, _)| block.text).chain(structured) {
                images::find(self.message, &found.span, &mut images)?;
            }
            added.extend(images.iter().skip(in_place).map(Image::block));
        }
        let structured = match typed {
            Some(typed) => {
                has_member = typed.has_member;
                self.replace_typed(typed, &mut splice)?;
                StructuredPart::Absent
            }
            None => structured,
        };
        match structured {
            StructuredPart::Absent => {}
            StructuredPart::Withheld | StructuredPart::InTexts => {
                removed = self.parts.last(ResultPart::Structured);
                if texts_left == 0 {
                    let sentence = text::quoted(MESSAGE_WITHHELD);
                    added.push(format!("{{\"type\":\"text\",\"text\":{sentence}}}").into_bytes());
                }
            }
            StructuredPart::Filtered(structured) => {
                let is_servers = matches!(self.listed, ListedSchema::Servers { .. });
                let needs_text = !structured.is_object && facts.omission.is_some() && !is_servers;
                if self.drops(&structured) || needs_text {
                    removed = Some(structured.found);
                    if !has_json_text {
                        let output = structured.run.output;
                        added.push(self.text_block(output, scratch)?);
                        texts_left += 1;
                    }
                } else {
                    has_member =
                        self.replace_structured(&structured, facts, scratch, &mut splice)?;
                }
            }
        }
        let shows_structured = self.shows_structured();
        if let Some(factored) = facts.factored
            && (!has_member || (texts_left > 0 && !shows_structured))
        {
            added.push(notice::block(factored.sentence()).into_bytes());
        }
        if let Some(sentence) = facts.replaced() {
            added.push(notice::block(&sentence).into_bytes());
        }
        if let Some((omission, remedy)) = facts.omission
            && (!has_member || (texts_left > 0 && !shows_structured))
        {
            added.push(omission.block(remedy).into_bytes());
        }
        self.note_in_meta(facts, &mut splice)?;
        self.finish_content(&mut splice, &dropped, &added, removed)?;
        Ok(splice)
    }

    /// Returns whether the schema of the server may forbid our member.
    pub(crate) fn has_closed_schema(&self) -> bool {
        self.listed == ListedSchema::Servers { is_open: false }
    }

    /// Returns whether the client shows nothing but the structured result, if there is one.
    pub(crate) fn shows_structured(&self) -> bool {
        self.context.reads == ClientReads::Structured
    }

    /// Returns a block with an output as its text.
    fn text_block(&self, output: Range<u64>, scratch: &Spool) -> Result<Vec<u8>, Failure> {
        let mut block = Spool::new(self.context.proxy.limits().spool);
        let mut splice = Splice::default();
        splice.insert(0, b"{\"type\":\"text\",\"text\":\"".to_vec());
        splice.replace(0..0, Piece::Quoted(output));
        splice.insert(0, b"\"}".to_vec());
        let nothing = Spool::from_vec(Vec::new());
        splice.write(&nothing, 0..0, scratch, &mut block)?;
        Ok(block.into_vec()?)
    }

    /// Replaces `structuredContent`, with our member at its end. Returns whether it has one.
    fn replace_structured(
        &self,
        structured: &StructuredRun<'_>,
        facts: NoticeFacts,
        scratch: &Spool,
        splice: &mut Splice,
    ) -> Result<bool, Failure> {
        let StructuredRun { found, run, is_object } = structured;
        let has_facts =
            facts.omission.is_some() || facts.factored.is_some() && run.report.factored.is_some();
        if !is_object || !has_facts || self.has_closed_schema() {
            if run.len() != run.bytes_in || self.filter.removes_for_safety {
                splice.replace(found.span.clone(), Piece::Scratch(run.output.clone()));
            }
            return Ok(false);
        }
        let name = notice::member_name(scratch, run.output.clone())?;
        let comma = if run.len() > 2 { "," } else { "" };
        let factored = facts.factored.filter(|_| run.report.factored.is_some());
        let member = NoticeFacts { factored, ..facts }.member(&name).unwrap_or_default();
        let body = run.output.start..run.output.end - 1;
        splice.replace(found.span.clone(), Piece::Scratch(body));
        splice.insert(found.span.end, format!("{comma}{member}}}").into_bytes());
        Ok(true)
    }

    /// Drops and adds blocks, and removes `structuredContent`.
    fn finish_content(
        &self,
        splice: &mut Splice,
        dropped: &[&Found],
        added: &[Vec<u8>],
        removed: Option<&Found>,
    ) -> Result<(), Failure> {
        let content = self.parts.last(ResultPart::Content);
        let content = content.filter(|content| content.kind == ValueKind::Array);
        let blocks = added.join(&b","[..]);
        match (content, removed) {
            (Some(content), removed) => {
                let left = self.blocks.len() - dropped.len();
                cut_members(self.message, &content.span, dropped.iter().copied(), splice)?;
                if !added.is_empty() {
                    let (at, _) = end_of(self.message, &content.span)?;
                    let comma: &[u8] = if left > 0 { b"," } else { b"" };
                    splice.insert(at, [comma, &blocks].concat());
                }
                if removed.is_some() {
                    let all = self.parts.all(ResultPart::Structured);
                    cut_members(self.message, self.result, all, splice)?;
                }
            }
            (None, _) if added.is_empty() && removed.is_none() => {}
            // There are only structured results: the blocks take their place.
            (None, Some(removed)) => {
                let member = [b"\"content\":[".as_slice(), &blocks, b"]"].concat();
                splice.replace(removed.start..removed.span.end, Piece::Bytes(member));
            }
            (None, None) => {
                let (at, comma) = end_of(self.message, self.result)?;
                let comma: &[u8] = if comma { b"," } else { b"" };
                splice.insert(at, [comma, b"\"content\":[", &blocks, b"]"].concat());
            }
        }
        Ok(())
    }
}
