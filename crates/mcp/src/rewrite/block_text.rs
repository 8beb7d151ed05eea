//! Filters the text of one block.
//!
//! ```text
//! text ─ begins like JSON? ─ yes ─▶ the programs ─ valid ──▶ Json
//!           │ no                        │ not one JSON value
//!           └──────────────▶ policy ◀───┘
//!                              ├─ the filter removes for safety: dropped, withheld or failed closed
//!                              └─ else: text filter ─▶ imitations marked ─▶ cut to its room
//! ```

use std::ops::Range;

use memchr::memchr;
use tamis::spec::Budget;
use tamis::text::{TextFilter, TextProgram, TextRedactor, TextSpec};
use tamis::{CallOptions, Limits, Sink};
use tamis_text::cut::Query;

use super::data_urls::DataUrls;
use super::images::Image;
use super::replaced::Replaced;
use super::run::{self, JsonRun, RunError, Source, Texts};
use super::text_cut::{TextCut, TextCutReport, TextRoom};
use super::typed;
use crate::jsonrpc::find::Found;
use crate::jsonrpc::splice::Piece;
use crate::policy::failure::Failure;
use crate::policy::proxy::Proxy;
use crate::policy::tool_call::ListedSchema;
use crate::rules::ToolFilter;
use crate::spool::Spool;

/// The least room in which a text is cut. With less room, the block is left out.
const LEAST_ROOM: u64 = 256;

/// The outcome for the text of a block.
#[derive(Debug)]
pub(crate) enum BlockText {
    /// It is unchanged.
    Same,
    /// It was one JSON value, and this is the output.
    Json(Box<JsonRun>),
    /// It was another text; the range in the scratch spool has its new characters.
    Text(Range<u64>, TextCutReport),
    /// It was an image, which takes the place of the block.
    Image(Box<Image>),
    /// A sentence takes its place, because the message of the failed call is withheld.
    Withheld,
    /// The block is dropped.
    Dropped {
        /// Whether there was no room for it, so that it can be fetched.
        is_cut: bool,
    },
}

impl BlockText {
    /// Returns the credentials and other values that were replaced in the text. `None`: none could be.
    pub(crate) fn redacted(&self) -> Option<&Replaced> {
        match self {
            Self::Json(run) => Some(&run.redacted),
            Self::Text(_, report) => Some(&report.redacted),
            Self::Same | Self::Image(_) | Self::Withheld | Self::Dropped { .. } => None,
        }
    }

    /// Returns the new content of the string. `None`: it is unchanged, or has no place.
    pub(crate) fn piece(&self) -> Option<Piece> {
        match self {
            Self::Json(run) => Some(Piece::Quoted(run.output.clone())),
            Self::Text(range, _) => Some(Piece::Quoted(range.clone())),
            Self::Same | Self::Image(_) | Self::Withheld | Self::Dropped { .. } => None,
        }
    }
}

/// The budget of texts that are not JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextBudget {
    whole: TextRoom,
    /// Bytes that are left of it, four for each token.
    left: u64,
}

impl TextBudget {
    /// Returns the budget of a filter or of the call. `None`: neither has one, or a profile has the limit.
    pub(crate) fn of(filter: &ToolFilter, options: &CallOptions) -> Option<Self> {
        if filter.max_tokens.is_some() || options.raw() {
            return None;
        }
        let whole = TextRoom::of_budget(written_budget(filter, options)?)?;
        Some(Self { whole, left: whole.bytes() })
    }

    /// Takes what a text has used.
    pub(crate) fn take(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }

    fn room(self) -> TextRoom {
        self.whole.at_most(self.left)
    }

    /// Returns whether a text of this length has no room left. The first text is cut to any budget.
    fn is_spent(self, bytes: u64) -> bool {
        self.left < LEAST_ROOM.min(self.whole.bytes()).min(bytes)
    }
}

/// Returns the budget of the call, or else that of the filter.
pub(super) fn written_budget(filter: &ToolFilter, options: &CallOptions) -> Option<Budget> {
    let of_rules = || filter.programs.iter().rev().find_map(|program| program.spec().budget);
    options.budget().or_else(of_rules)
}

/// The circumstances of a block.
#[derive(Debug)]
pub(crate) struct BlockContext<'a> {
    pub(crate) filter: &'a ToolFilter,
    pub(crate) options: &'a CallOptions,
    /// The schema that the list of tools has for the result.
    pub(crate) listed: ListedSchema,
    pub(crate) is_error: bool,
    /// Whether the result has `structuredContent`.
    pub(crate) has_structured: bool,
    /// Whether the text is the content of a file, and not the JSON of a result.
    pub(crate) is_file: bool,
    /// Bytes that all further texts of the result may have.
    pub(crate) room: Option<u64>,
    /// The most that all further texts that are not JSON may have, if the user has written a budget.
    pub(crate) budget: Option<TextBudget>,
    /// The words of the call.
    pub(crate) query: &'a Query,
    pub(crate) proxy: &'a Proxy,
}

impl BlockContext<'_> {
    /// Filters the text of a block, and writes what it becomes to the end of `scratch`.
    pub(crate) fn filter(
        &self,
        texts: &Texts<'_>,
        text: &Found,
        scratch: &mut Spool,
    ) -> Result<BlockText, Failure> {
        let source = Source::characters(text);
        if !self.filter.removes_for_safety && self.is_inner_notice(texts, &source)? {
            return Ok(BlockText::Same);
        }
        if self.room.is_some_and(|room| room < LEAST_ROOM && room < source.len()) {
            return Ok(BlockText::Dropped { is_cut: true });
        }
        // A string with half of a character is not JSON text, also if it is read without it.
        if !texts.is_lossy(&source)
            && run::looks_like_json(texts, &source)
            && (!self.is_file || self.is_long_line(texts, &source)?)
        {
            let limited;
            let options = match self.room {
                None => self.options,
                Some(room) => {
                    limited = self.options.clone().with_budget(Budget::Bytes(room));
                    &limited
                }
            };
            let filter = match self.listed {
                ListedSchema::Nothing => run::json,
                _ => typed::whole_items,
            };
            match filter(texts, &source, self.filter, options, scratch) {
                Ok(run) => return Ok(BlockText::Json(Box::new(run))),
                Err(RunError::NotJson) => {}
                Err(RunError::Failed(_)) if self.withholds_messages() => {
                    return Ok(BlockText::Withheld);
                }
                Err(RunError::Failed(failure)) => return Err(failure),
            }
        }
        self.plain(texts, &source, scratch)
    }

    /// Whether a text has to be cut and is a single line, which cannot be cut between lines.
    fn is_long_line(&self, texts: &Texts<'_>, source: &Source) -> Result<bool, Failure> {
        let Some(room) = self.room.filter(|room| *room < source.len()) else { return Ok(false) };
        let (mut length, mut first_break) = (0, None);
        let read = run::read(texts, source, |text| {
            if first_break.is_none() {
                first_break = memchr(b'\n', text).map(|at| length + at as u64 + 1);
            }
            length += text.len() as u64;
            Ok(())
        });
        match read {
            Ok(()) => Ok(length > room && first_break.is_none_or(|end| end == length)),
            Err(RunError::NotJson) => Ok(false),
            Err(RunError::Failed(failure)) => Err(failure),
        }
    }

    /// Whether the call failed, and its messages do not pass.
    fn withholds_messages(&self) -> bool {
        self.is_error && self.filter.removes_for_safety && !self.filter.keeps_error_text
    }

    fn plain(
        &self,
        texts: &Texts<'_>,
        source: &Source,
        scratch: &mut Spool,
    ) -> Result<BlockText, Failure> {
        let is_empty = source.len() <= 2;
        if self.filter.removes_for_safety && !is_empty {
            let keeps =
                if self.is_error { self.filter.keeps_error_text } else { self.filter.keeps_text };
            if self.withholds_messages() {
                return Ok(BlockText::Withheld);
            }
            if !keeps && self.has_structured {
                return Ok(BlockText::Dropped { is_cut: false });
            }
            if !keeps {
                return Err(Failure::TEXT);
            }
        }
        if self.options.raw() && self.filter.redacts.is_none() {
            return Ok(BlockText::Same);
        }
        if self.budget.is_some_and(|budget| budget.is_spent(source.len())) {
            return Ok(BlockText::Dropped { is_cut: true });
        }
        let start = scratch.len();
        match self.shorten(texts, source, scratch) {
            Ok(report)
                if report.changed
                    || !report.redacted.is_empty()
                    || report.marked
                    || report.left_out > 0 =>
            {
                Ok(BlockText::Text(start..scratch.len(), report))
            }
            Ok(_) => {
                scratch.truncate(start);
                Ok(BlockText::Same)
            }
            // A program has cut a character in two. If nothing is left out, the escape of its half stays.
            Err(RunError::NotJson) if !texts.is_lossy(source) => {
                scratch.truncate(start);
                texts.replace_lone_surrogates(source);
                self.plain(texts, source, scratch)
            }
            Err(RunError::NotJson) => Err(Failure::TEXT),
            Err(RunError::Failed(failure)) => Err(failure),
        }
    }

    /// Returns whether the text is the notice of a proxy between this one and the server, whose handle that one knows.
    fn is_inner_notice(&self, texts: &Texts<'_>, source: &Source) -> Result<bool, Failure> {
        if !self.proxy.inner_tools.may_have_written(source.len()) {
            return Ok(false);
        }
        let mut text = Vec::new();
        let read = run::read(texts, source, |chunk| {
            text.extend_from_slice(chunk);
            Ok(())
        });
        Ok(read.is_ok() && self.proxy.inner_tools.has_written(&text))
    }

    /// Applies the text filter and the limit.
    fn shorten(
        &self,
        texts: &Texts<'_>,
        source: &Source,
        scratch: &mut Spool,
    ) -> Result<TextCutReport, RunError> {
        let held = usize::try_from(self.options.limits().held()).unwrap_or(usize::MAX);
        let room = match (self.room, self.budget.map(TextBudget::room)) {
            (Some(bytes), Some(budget)) => Some(budget.at_most(bytes)),
            (Some(bytes), None) => Some(TextRoom::of_profile(bytes)),
            (None, budget) => budget,
        };
        let mut cut = TextCut::new(scratch, room, held, self.query);
        // A text filter with rules marks imitations itself.
        let marks = |program: &TextProgram| *program.spec() != TextSpec::new();
        if self.filter.text.as_ref().is_some_and(marks) {
            cut = cut.of_marked_text();
        }
        let mut shown = DataUrls::new(&mut cut, self.filter.leaves_out_base64());
        let (mut changed, mut marked, mut filtered_out) = (false, false, 0);
        let (mut lines_in, mut bytes_in) = (0, 0);
        let mut redacted = Replaced::default();
        let redacts = self.filter.redacts.as_ref();
        let redactor = |redact| TextRedactor::of(redact, &Limits::new());
        let mut redactor = redacts.map(redactor).transpose()?;
        redactor = redactor.map(|redactor| redactor.with_marks(self.options.marks()));
        match &self.filter.text {
            None => {
                run::read(texts, source, |text| {
                    match &mut redactor {
                        None => shown.write(text),
                        Some(redactor) => redactor.write(text, &mut shown),
                    }
                    Ok(())
                })?;
                if let Some(redactor) = &mut redactor {
                    redacted.add(&redactor.end(&mut shown));
                }
            }
            Some(program) => {
                let mut filter = TextFilter::new(program, &mut shown);
                // The text without credentials.
                let mut safe = Vec::new();
                run::read(texts, source, |text| {
                    let Some(redactor) = &mut redactor else { return Ok(filter.write(text)?) };
                    safe.clear();
                    redactor.write(text, &mut safe);
                    Ok(filter.write(&safe)?)
                })?;
                if let Some(redactor) = &mut redactor {
                    safe.clear();
                    redacted.add(&redactor.end(&mut safe));
                    filter.write(&safe)?;
                }
                let report = filter.end()?;
                changed = report.changed;
                marked = report.lines_marked > 0;
                // Headings and marks are lines of the output, too.
                let left_out = report.lines_removed + report.lines_folded + report.lines_left_out;
                filtered_out = left_out.max(report.lines_in.saturating_sub(report.lines_out));
                lines_in = report.lines_in;
                bytes_in = report.bytes_in;
            }
        }
        let url_bytes = shown.end();
        changed |= url_bytes > 0;
        let report = cut.end();
        let bytes = (report.bytes + url_bytes).max(bytes_in);
        let marked = marked || report.marked;
        Ok(TextCutReport {
            url_bytes,
            marked,
            filtered_out,
            lines_in,
            bytes,
            changed,
            redacted,
            ..report
        })
    }
}
