//! Stores a result that something was cut from.

use tamis::json::StringEncoder;
use tamis::spec::Redact;
use tamis::text::TextRedactor;
use tamis::{PayloadPath, Sink};
use tamis_store::{EntryMeta, EntryWriter, Handle, LostReason, Remedy, Reservation, StoreError};

use super::block_text::BlockText;
use super::blocks::Block;
use super::result_parts::{FilteredParts, ResultRewrite, StructuredRun};
use super::run::{FormOutputs, RunError, Source, Texts, read};
use super::task::Context;
use crate::policy::failure::Failure;
use crate::rules::{StoredForm, ToolFilter};

/// A part of a result, as it is stored.
#[derive(Clone, Debug)]
pub(crate) enum StoredPart {
    Json(Source),
    Text(Source),
    /// A block without text.
    Nothing,
}

/// The parts of a result that are stored.
#[derive(Debug)]
pub(crate) enum StoredResult {
    /// One JSON value, and the path of its payload.
    Json(Source, Option<PayloadPath>),
    /// One text.
    Text(Source),
    /// All blocks, and the structured result if there is one.
    Blocks(Vec<StoredPart>, Option<Source>),
}

impl ResultRewrite<'_> {
    /// Returns what is stored: the structured result, else the only JSON, else all blocks.
    pub(crate) fn stored(&self, filtered: &FilteredParts<'_>) -> StoredResult {
        let (structured, texts) = (filtered.structured.run(), &filtered.texts);
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

/// A result that is stored, with what its reader has to know.
#[derive(Debug)]
pub(crate) struct ToStore<'a> {
    pub(crate) result: &'a StoredResult,
    pub(crate) tool: &'a str,
    /// Number of credentials that were replaced.
    pub(crate) redacted: u64,
}

/// Room in the store, before anything is cut.
#[derive(Debug)]
pub(crate) enum Room {
    Reserved(Reservation),
    /// There is no store, or the filter's results are not stored.
    NotStored,
    /// The store has no room.
    Full,
    /// The store cannot be reached.
    Away,
}

impl Room {
    /// Reserves room for a result of a filter that may cut something.
    pub(crate) fn reserve(context: &Context, filter: &ToolFilter) -> Self {
        if filter.keeps_everything || matches!(filter.stored, StoredForm::Nothing) {
            return Self::NotStored;
        }
        match context.proxy.store().map(|store| store.reserve_in(&context.scope)) {
            None => Self::NotStored,
            Some(Ok(reservation)) => Self::Reserved(reservation),
            Some(Err(StoreError::Unreachable(_))) => Self::Away,
            Some(Err(_)) => Self::Full,
        }
    }

    /// Returns whether results cannot be stored although they should be.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Full | Self::Away)
    }

    /// Stores a result, and returns how it can be fetched.
    pub(crate) fn store(
        self,
        texts: &Texts<'_>,
        to_store: &ToStore<'_>,
        context: &Context,
        filter: &ToolFilter,
        outputs: &FormOutputs<'_>,
    ) -> Remedy {
        let ToStore { result, tool, redacted } = *to_store;
        let redacts = filter.redacts.as_ref();
        let form = Form { stored: &filter.stored, outputs, redacts };
        let reservation = match self {
            Self::Reserved(reservation) => reservation,
            Self::NotStored => return Remedy::Lost(LostReason::NotStored),
            Self::Full => return Remedy::Lost(LostReason::NoRoom),
            Self::Away => return Remedy::Lost(LostReason::Unreachable),
        };
        let meta = match result {
            StoredResult::Json(_, None) | StoredResult::Blocks(..) => EntryMeta::json(tool),
            StoredResult::Json(_, Some(items)) => EntryMeta::json(tool).with_items(items.as_str()),
            StoredResult::Text(_) => EntryMeta::text(tool),
        };
        let proxy = &context.proxy;
        let meta = meta
            .with_origin(proxy.origin(), proxy.server_name().as_deref())
            .with_altered(context.is_cleaned || filter.stores_less());
        let mut writer = reservation.begin(context.scope.clone(), meta);
        writer.set_redacted(redacted);
        // The stored form of JSON is made by a program that has the rule.
        if let (StoredResult::Text(_), Some(rule)) = (result, redacts) {
            match outputs.redactor(rule) {
                Ok(redactor) => writer.redact_text(redactor),
                Err(_) => return Remedy::Lost(LostReason::NotStored),
            }
        }
        let written = match result {
            StoredResult::Json(source, _) => form.json(texts, source, &mut writer),
            StoredResult::Text(source) => text(texts, source, &mut writer),
            StoredResult::Blocks(parts, structured) => {
                form.blocks(texts, parts, structured.as_ref(), &mut writer)
            }
        };
        if written.is_err() && !writer.has_failed() {
            return Remedy::Lost(LostReason::NotStored);
        }
        match finish(writer) {
            Ok(handle) if context.proxy.recalls() => Remedy::Recall(handle),
            Ok(handle) => Remedy::Retrieve(handle),
            Err(StoreError::TooLarge(limit)) => Remedy::Lost(LostReason::TooLarge(limit)),
            Err(StoreError::Unreachable(_)) => Remedy::Lost(LostReason::Unreachable),
            Err(_) => Remedy::Lost(LostReason::NoRoom),
        }
    }
}

fn finish(writer: EntryWriter) -> Result<Handle, StoreError> {
    writer.finish()
}

/// The form in which values are stored.
struct Form<'a> {
    stored: &'a StoredForm,
    outputs: &'a FormOutputs<'a>,
    /// The rules with which all texts are searched.
    redacts: Option<&'a Redact>,
}

impl Form<'_> {
    /// Writes a JSON value without what was removed for safety.
    fn json(&self, texts: &Texts<'_>, source: &Source, out: &mut dyn Sink) -> Result<(), RunError> {
        match self.stored {
            StoredForm::Nothing => Err(RunError::Failed(Failure("it is not stored"))),
            StoredForm::Source => text(texts, source, out),
            StoredForm::Program(_) => self.outputs.write(texts, source, out),
        }
    }

    /// Writes an object with all blocks, and the structured result before them.
    fn blocks(
        &self,
        texts: &Texts<'_>,
        parts: &[StoredPart],
        structured: Option<&Source>,
        out: &mut dyn Sink,
    ) -> Result<(), RunError> {
        out.write(b"{");
        if let Some(structured) = structured {
            out.write(b"\"structuredContent\":");
            self.json(texts, structured, out)?;
            out.write(b",");
        }
        out.write(b"\"blocks\":[");
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                out.write(b",");
            }
            match part {
                StoredPart::Json(source) => self.json(texts, source, out)?,
                StoredPart::Text(source) => {
                    out.write(b"\"");
                    let mut string = StringEncoder::new(&mut *out);
                    match self.redacts {
                        None => text(texts, source, &mut string)?,
                        Some(redact) => {
                            safe_text(texts, source, self.outputs.redactor(redact)?, &mut string)?;
                        }
                    }
                    out.write(b"\"");
                }
                StoredPart::Nothing => out.write(b"null"),
            }
        }
        out.write(b"]}");
        Ok(())
    }
}

/// Writes a source as a terminal shows it, without what is searched for.
fn safe_text(
    texts: &Texts<'_>,
    source: &Source,
    mut redactor: TextRedactor,
    out: &mut dyn Sink,
) -> Result<(), RunError> {
    read(texts, source, |chunk| {
        redactor.write(chunk, out);
        Ok(())
    })?;
    redactor.end(out);
    Ok(())
}

/// Writes a source as it is.
fn text(texts: &Texts<'_>, source: &Source, out: &mut dyn Sink) -> Result<(), RunError> {
    read(texts, source, |chunk| {
        out.write(chunk);
        Ok(())
    })
}
