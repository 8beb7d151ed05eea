//! An attempt to rewrite a result, and the parts of the result after their filter.

use std::ops::Range;

use tamis::{CallOptions, SkipReason};
use tamis_text::cut::Query;

use super::block_text::BlockText;
use super::blocks::Block;
use super::replaced::Replaced;
use super::run::{FormOutputs, JsonRun, Texts};
use super::task::Context;
use crate::jsonrpc::find::Found;
use crate::jsonrpc::head::{Parts, ResultPart};
use crate::jsonrpc::splice::Splice;
use crate::policy::tool_call::ListedSchema;
use crate::rules::ToolFilter;
use crate::spool::Spool;

/// Replacements in a message.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) splice: Splice,
    /// Holds the new bytes.
    pub(crate) scratch: Spool,
    /// The credentials and other values that were replaced.
    pub(crate) redacted: Replaced,
}

impl Rewritten {
    /// Returns no replacements.
    pub(crate) fn nothing() -> Self {
        Self {
            splice: Splice::default(),
            scratch: Spool::from_vec(Vec::new()),
            redacted: Replaced::default(),
        }
    }
}

/// One attempt to rewrite a result.
pub(crate) struct ResultRewrite<'a> {
    pub(crate) message: &'a Spool,
    pub(crate) texts: &'a Texts<'a>,
    pub(crate) result: &'a Range<u64>,
    pub(crate) parts: &'a Parts<ResultPart>,
    pub(crate) blocks: &'a [Block<'a>],
    pub(crate) filter: &'a ToolFilter,
    pub(crate) forms: FormOutputs<'a>,
    pub(crate) options: CallOptions,
    pub(crate) is_error: bool,
    /// The schema that the list of tools has for the result.
    pub(crate) listed: ListedSchema,
    /// The most bytes of each form of the result.
    pub(crate) cap: Option<u64>,
    pub(crate) context: &'a Context,
    pub(crate) tool: &'a str,
    /// The words of the call.
    pub(crate) query: &'a Query,
}

/// The parts of a result after their filter.
pub(crate) struct FilteredParts<'a> {
    pub(crate) structured: StructuredPart<'a>,
    pub(crate) wrapped: Option<Wrapped<'a>>,
    /// One for each block. Blocks without a text have none.
    pub(crate) texts: Vec<Option<BlockText>>,
}

/// `structuredContent` after its filter.
#[expect(clippy::large_enum_variant, reason = "there is one for each result")]
pub(crate) enum StructuredPart<'a> {
    /// The result lacks it, or it is treated as a text.
    Absent,
    Filtered(StructuredRun<'a>),
    Withheld,
    /// It only repeats texts, and is not sent: the rules for text decide about them.
    InTexts,
}

/// The filtered `structuredContent`.
pub(crate) struct StructuredRun<'a> {
    pub(crate) found: &'a Found,
    pub(crate) run: JsonRun,
    pub(crate) is_object: bool,
}

impl StructuredPart<'_> {
    pub(crate) fn run(&self) -> Option<&StructuredRun<'_>> {
        match self {
            Self::Filtered(run) => Some(run),
            Self::Absent | Self::Withheld | Self::InTexts => None,
        }
    }
}

impl FilteredParts<'_> {
    /// Returns whether no part has what the filter selects.
    pub(crate) fn have_missed(&self) -> bool {
        let of_texts = self.texts.iter().filter_map(|text| match text {
            Some(BlockText::Json(run)) => Some(run.as_ref()),
            _ => None,
        });
        let structured = self.structured.run().map(|structured| &structured.run);
        let mut runs = structured.into_iter().chain(of_texts).peekable();
        runs.peek().is_some()
            && runs.all(|run| {
                run.report.fallback.is_some() || run.report.skipped == Some(SkipReason::Shape)
            })
    }

    /// Returns whether a part has once what its items share.
    pub(crate) fn is_factored(&self) -> bool {
        let of_texts = self
            .texts
            .iter()
            .flatten()
            .any(|text| matches!(text, BlockText::Json(run) if run.report.factored.is_some()));
        of_texts || self.structured.run().is_some_and(|it| it.run.report.factored.is_some())
    }

    /// Returns the credentials and other values that were replaced. Texts in addition to a structured result mostly repeat it,
    /// so of each kind the larger count is taken.
    pub(crate) fn redacted(&self) -> Replaced {
        let mut replaced = Replaced::default();
        for text in self.texts.iter().flatten().filter_map(BlockText::redacted) {
            replaced.add_all(text);
        }
        if let Some(structured) = self.structured.run() {
            replaced.take_larger(&structured.run.redacted);
        }
        replaced
    }
}

/// A `structuredContent` that only repeats the text of a block.
pub(crate) struct Wrapped<'a> {
    pub(crate) found: &'a Found,
    /// Its string, with quotes.
    pub(crate) string: Range<u64>,
    /// Whether the text is the content of a file rather than a result.
    pub(crate) is_file: bool,
}
