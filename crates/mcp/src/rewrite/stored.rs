//! Stores a result that something was cut from.

use tamis::json::StringEncoder;
use tamis::spec::Redact;
use tamis::text::TextRedactor;
use tamis::{PayloadPath, Sink};
use tamis_store::{EntryMeta, EntryShape, LostReason, Remedy, Reservation, StoreError};

use super::block_text::BlockText;
use super::blocks::Block;
use super::copies::is_copy;
use super::digest::{Digest, DigestSink};
use super::replaced::Replaced;
use super::result_parts::{FilteredParts, ResultRewrite, StructuredRun};
use super::run::{FormOutputs, RunError, Source, Texts, read};
use super::task::Context;
use crate::policy::failure::Failure;
use crate::rules::{StoredForm, ToolFilter};
use crate::spool::Spool;

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
    /// One JSON value.
    Json {
        source: Source,
        /// The path of its payload.
        items: Option<PayloadPath>,
        /// Whether it is an object with one string, which is also the text of the result.
        wraps_text: bool,
    },
    /// One text.
    Text(Source),
    /// All blocks, and the structured result if there is one.
    Blocks(Vec<StoredPart>, Option<Source>),
}

impl ResultRewrite<'_> {
    /// Returns what is stored: the structured result, else the only JSON, else all blocks. `cut_texts`: whether something was left out of
    /// each block.
    pub(crate) fn stored(
        &self,
        filtered: &FilteredParts<'_>,
        cut_texts: &[bool],
        scratch: &Spool,
    ) -> Result<StoredResult, Failure> {
        let (structured, texts) = (filtered.structured.run(), &filtered.texts);
        let with_text = || self.blocks.iter().zip(texts).filter(|(block, _)| block.text.is_some());
        let wraps_text = structured.is_some() && self.repeated_text()?.is_some();
        let mut cuts_text = false;
        for (text, _) in texts.iter().zip(cut_texts).filter(|(_, is_cut)| **is_cut) {
            cuts_text |= match (text, structured) {
                // JSON that the structured result has as well is stored with it.
                (Some(BlockText::Json(run)), Some(structured)) => {
                    !wraps_text && !is_copy(scratch, &structured.run, run)?
                }
                (Some(BlockText::Json(_)), None) => false,
                _ => true,
            };
        }
        let json = |text: &Option<BlockText>| matches!(text, Some(BlockText::Json(_)));
        if let Some(StructuredRun { found, run, .. }) = structured
            && !cuts_text
        {
            return Ok(StoredResult::Json {
                source: Source::Value(found.span.clone()),
                items: run.report.root.clone(),
                wraps_text,
            });
        }
        let mut jsons = with_text().filter(|(_, text)| json(text));
        if let (Some((block, Some(BlockText::Json(run)))), None, false) =
            (jsons.next(), jsons.next(), cuts_text)
            && let Some(found) = block.text
        {
            let (source, items) = (Source::characters(found), run.report.root.clone());
            return Ok(StoredResult::Json { source, items, wraps_text: false });
        }
        let mut all = with_text();
        if let (Some((block, text)), None, None) = (all.next(), all.next(), structured)
            && !json(text)
            && let Some(found) = block.text
        {
            return Ok(StoredResult::Text(Source::characters(found)));
        }
        let part = |(block, text): (&Block<'_>, &Option<BlockText>)| match (block.text, text) {
            (Some(found), Some(BlockText::Json(_))) => StoredPart::Json(Source::characters(found)),
            (Some(found), _) => StoredPart::Text(Source::characters(found)),
            (None, _) => StoredPart::Nothing,
        };
        let structured = structured.map(|structured| Source::Value(structured.found.span.clone()));
        Ok(StoredResult::Blocks(self.blocks.iter().zip(texts).map(part).collect(), structured))
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
    /// Reserves room for a result of a filter that may cut something. `bytes`: about the size of what is stored.
    pub(crate) fn reserve(context: &Context, filter: &ToolFilter, bytes: u64) -> Self {
        if matches!(filter.stored, StoredForm::Nothing) {
            return Self::NotStored;
        }
        match context.proxy.store().map(|store| store.reserve_for(&context.scope, bytes)) {
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
            StoredResult::Json { items: Some(items), .. } => {
                EntryMeta::json(tool).with_items(items.as_str())
            }
            StoredResult::Json { items: None, .. } | StoredResult::Blocks(..) => {
                EntryMeta::json(tool)
            }
            StoredResult::Text(_) => EntryMeta::text(tool),
        };
        let shape = match result {
            StoredResult::Json { wraps_text: true, .. } => EntryShape::WrapsText,
            StoredResult::Blocks(parts, structured) => EntryShape::Blocks {
                count: parts.len() as u64,
                has_structured: structured.is_some(),
            },
            StoredResult::Json { .. } | StoredResult::Text(_) => EntryShape::Same,
        };
        let proxy = &context.proxy;
        let meta = meta
            .with_origin(proxy.origin(), proxy.server_name().as_deref())
            .with_altered(context.is_cleaned || filter.stores_less())
            .with_respelled(matches!(filter.stored, StoredForm::Program(_)))
            .with_shape(shape);
        let mut writer = reservation.begin(context.scope.clone(), meta);
        let written = match result {
            StoredResult::Json { source, .. } => form.json(texts, source, &mut writer),
            StoredResult::Text(source) => form.text(texts, source, &mut writer),
            StoredResult::Blocks(parts, structured) => {
                form.blocks(texts, parts, structured.as_ref(), &mut writer)
            }
        };
        if written.is_err() && !writer.has_failed() {
            return Remedy::Lost(LostReason::NotStored);
        }
        let changes = written.unwrap_or_default();
        // More may be replaced in what is stored than in what is shown.
        writer.set_redacted(redacted.max(changes.redacted));
        if changes.is_altered {
            writer.set_altered();
        }
        match writer.finish() {
            Ok(handle) if context.proxy.recalls() => Remedy::Recall(handle),
            Ok(handle) => Remedy::Retrieve(handle),
            Err(StoreError::TooLarge(limit)) => Remedy::Lost(LostReason::TooLarge(limit)),
            Err(StoreError::Unreachable(_)) => Remedy::Lost(LostReason::Unreachable),
            Err(_) => Remedy::Lost(LostReason::NoRoom),
        }
    }
}

/// The form in which values are stored.
struct Form<'a> {
    stored: &'a StoredForm,
    outputs: &'a FormOutputs<'a>,
    /// The rules with which all texts are searched.
    redacts: Option<&'a Redact>,
}

/// The differences between a part of a result and what is stored of it.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Number of values that were replaced.
    redacted: u64,
    /// Whether a text has other characters.
    is_altered: bool,
}

impl Changes {
    fn and(self, other: Self) -> Self {
        Self {
            redacted: self.redacted + other.redacted,
            is_altered: self.is_altered || other.is_altered,
        }
    }
}

impl Form<'_> {
    /// Writes a JSON value without what was removed for safety.
    fn json(
        &self,
        texts: &Texts<'_>,
        source: &Source,
        out: &mut dyn Sink,
    ) -> Result<Changes, RunError> {
        match self.stored {
            StoredForm::Nothing => Err(RunError::Failed(Failure("it is not stored"))),
            StoredForm::Source => copy(texts, source, out),
            StoredForm::Program(_) => {
                let redacted = self.outputs.write(texts, source, out)?;
                Ok(Changes { redacted, is_altered: false })
            }
        }
    }

    /// Writes a text without what is searched for. The search applies escape sequences, as a terminal does.
    fn text(
        &self,
        texts: &Texts<'_>,
        source: &Source,
        out: &mut dyn Sink,
    ) -> Result<Changes, RunError> {
        let is_altered = texts.is_lossy(source);
        let Some(rule) = self.redacts else {
            copy(texts, source, out)?;
            return Ok(Changes { redacted: 0, is_altered });
        };
        let mut redactor: TextRedactor = self.outputs.redactor(rule)?;
        let mut before = Digest::default();
        let mut out = DigestSink { out, digest: Digest::default() };
        read(texts, source, |chunk| {
            before.add(chunk);
            redactor.write(chunk, &mut out);
            Ok(())
        })?;
        let mut replaced = Replaced::default();
        replaced.add(&redactor.end(&mut out));
        let is_altered = is_altered || before != out.digest;
        Ok(Changes { redacted: replaced.count(), is_altered })
    }

    /// Writes an object with all blocks, and the structured result before them.
    fn blocks(
        &self,
        texts: &Texts<'_>,
        parts: &[StoredPart],
        structured: Option<&Source>,
        out: &mut dyn Sink,
    ) -> Result<Changes, RunError> {
        let mut changes = Changes::default();
        out.write(b"{");
        if let Some(structured) = structured {
            out.write(b"\"structuredContent\":");
            changes = self.json(texts, structured, out)?;
            out.write(b",");
        }
        out.write(b"\"blocks\":[");
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                out.write(b",");
            }
            let new = match part {
                StoredPart::Json(source) => self.json(texts, source, out)?,
                StoredPart::Text(source) => {
                    out.write(b"\"");
                    let mut string = StringEncoder::new(&mut *out);
                    let new = self.text(texts, source, &mut string)?;
                    out.write(b"\"");
                    new
                }
                StoredPart::Nothing => {
                    out.write(b"null");
                    Changes::default()
                }
            };
            changes = changes.and(new);
        }
        out.write(b"]}");
        Ok(changes)
    }
}

/// Writes a source as it is.
fn copy(texts: &Texts<'_>, source: &Source, out: &mut dyn Sink) -> Result<Changes, RunError> {
    read(texts, source, |chunk| {
        out.write(chunk);
        Ok(())
    })?;
    Ok(Changes::default())
}
