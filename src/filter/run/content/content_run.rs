//! The run of a `content` filter: detects the kind of document, extracts its text, and cuts it (seed: AIOS; SPEC §10).
//!
//! ```text
//! bytes ─▶ Sniff ─▶ Page ─▶ text ─▶ cleaner ─▶ cut ─▶ sink
//!            │ └──▶ Text ─────────▶
//!            └────▶ Json: held; then its fields, each text or a page
//! ```
//! The output is never empty. If no text is found, it is the document itself, or a notice for a page whose text is
//! hidden. For this the document is held: a page until it has text, JSON until its end. Documents are processed in
//! pieces of fixed size, so that the result does not depend on chunks.
//!
//! | document | output | `content_from` | `fallback` |
//! |---|---|---|---|
//! | page with an article | the article | `Article` | |
//! | page with other content | the body without navigation | `Body` | |
//! | page without content | all of its visible text | `Page` | yes |
//! | page with hidden text only | a notice | `Page` | yes |
//! | page without text | unchanged | `Response` | yes |
//! | JSON with text in its fields | the texts, with blank lines between them | `Fields` | |
//! | JSON without such text | unchanged | `Response` | yes |
//! | begins like JSON, but is not; `extract` is given | none: an error | | |
//! | begins like JSON, but is not; no `extract` | as text | `Text` | yes |
//! | not text: an image, compressed data | a notice | `Response` | yes |
//! | only characters that are not shown | a notice | `Response` | yes |
//! | only ASCII white space | unchanged | `Text` | |
//! | everything else | as text | `Text` | |
//!
//! Text passes through [`ContentCleaner`] and [`Cut`] in all cases, so "unchanged" output is also cleaned and cut.

mod json_fields;

use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::tokens::CountTokens;
use tamis_text::MarkTable;
use tamis_text::controls::has_text;
use tamis_text::notice;
use tamis_text::secrets::{SecretSearch, TextForm};

use super::cleaner::ContentCleaner;
use crate::filter::compile::nested::ContentRules;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::filter::page::{
    Cut, Decoder, From, LeftOut, Page, PageText, SNIFFED, Sizes, TextLimit, binary_kind, is_html,
};
use crate::report::{ContentSource, Report, add_counts};
use crate::spec::Budget;

/// The size of a piece in bytes. The first piece has [`SNIFFED`] bytes.
const PIECE: usize = 16 << 10;
/// The notice for a page without visible text.
const HIDDEN: &str = "all text of the page is hidden";
/// The notice for a document of controls, of other characters that are not shown, or of a byte order mark.
const NOTHING: &str = "the input has only characters that are not shown";

/// The state of one document. [`restart`](Self::restart) begins the next one.
#[derive(Debug)]
pub(super) struct ContentRun {
    /// Has the rules, including the programs that select fields.
    compiled: Arc<CompiledProgram>,
    /// The limits of the call. `held` and `spill` bound `hold`, and `item` the selected fields.
    limits: Limits,
    /// The bytes of the next piece. Its allocation is reused.
    pending: Vec<u8>,
    /// The kind of the document, once it is known.
    phase: ContentPhase,
    /// The document so far, while it may be needed again.
    hold: Hold,
    /// Charged for `hold` and for the fields.
    meter: Meter,
    /// The first of the two steps between extracted text and the sink.
    clean: ContentCleaner,
    /// The next one: replaces credentials.
    secrets: Option<SecretSearch>,
    marks: Option<MarkTable>,
    /// Text that was searched for them. It may end within a character.
    searched: Vec<u8>,
    /// The last one: cuts the text at the budget.
    cut: Cut,
    /// The budget of the call, or that of the spec.
    budget: Option<Budget>,
    /// Counts the tokens of the budget.
    vocabulary: Option<&'static dyn CountTokens>,
    /// The sizes of the text and the output, known at the end.
    sizes: Sizes,
    /// The source of the text, for the report.
    from: Option<ContentSource>,
    /// A reader sees some of the text. If not, the end of the document tries another source.
    spoke: bool,
    /// Something was emitted, if only white space.
    began: bool,
    /// The document has a byte that is not ASCII white space.
    has_content: bool,
    /// The next text has to be separated from the previous one. Set after each field.
    apart: bool,
    /// Hidden text of a page was left out.
    hid: bool,
    /// Blocks of pages that are not part of their main texts.
    left_out: LeftOut,
    /// The warning for the report, if the output is not what the rules ask for.
    note: Option<String>,
}

/// The kind of the document. It never changes after the first piece.
#[derive(Debug)]
enum ContentPhase {
    /// The first piece is not complete.
    Sniff,
    /// The document begins like JSON. It is held until its end.
    Json,
    /// A page. It is also held while `holds` is set, until it certainly has text.
    Page { decoder: Decoder, page: Box<Page>, holds: bool },
    /// Any other text, which is emitted piece by piece.
    Text(Decoder),
    /// Not text. A notice says what it is; the document is left out.
    Binary,
}

impl ContentRun {
    /// Creates the run of the first document.
    pub(super) fn new(
        compiled: &Arc<CompiledProgram>,
        rules: &ContentRules,
        options: &CallOptions,
    ) -> Self {
        let budget = options.budget().or(rules.budget);
        Self {
            compiled: Arc::clone(compiled),
            limits: options.limits().clone(),
            pending: Vec::new(),
            phase: ContentPhase::Sniff,
            hold: Hold::default(),
            meter: Meter::default(),
            clean: ContentCleaner::default(),
            secrets: search_of(compiled, options.marks()),
            marks: options.marks().cloned(),
            searched: Vec::new(),
            cut: Cut::new(text_limit(budget, options.token_counter())),
            vocabulary: options.token_counter(),
            budget,
            sizes: Sizes::default(),
            from: None,
            spoke: false,
            began: false,
            has_content: false,
            apart: false,
            hid: false,
            left_out: LeftOut::default(),
            note: None,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.pending.clear();
        self.phase = ContentPhase::Sniff;
        self.hold = Hold::default();
        self.meter = Meter::default();
        self.clean = ContentCleaner::default();
        self.secrets = search_of(&self.compiled, self.marks.as_ref());
        self.searched.clear();
        self.cut = Cut::new(text_limit(self.budget, self.vocabulary));
        self.sizes = Sizes::default();
        (self.from, self.spoke, self.apart, self.note) = (None, false, false, None);
        (self.began, self.has_content, self.hid) = (false, false, false);
        self.left_out = LeftOut::default();
    }

    /// Returns whether pages become Markdown instead of plain text.
    fn markdown(&self) -> bool {
        self.compiled.content_rules().is_some_and(|rules| rules.markdown)
    }

    /// Adds a chunk to the pending bytes, and processes each piece that becomes complete.
    pub(super) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let mut rest = chunk;
        while !rest.is_empty() {
            let size = if matches!(self.phase, ContentPhase::Sniff) { SNIFFED } else { PIECE };
            let room = size.saturating_sub(self.pending.len()).max(1);
            let (now, later) = rest.split_at(rest.len().min(room));
            self.pending.extend_from_slice(now);
            rest = later;
            if self.pending.len() >= size {
                self.piece(false, sink)?;
            }
        }
        Ok(())
    }

    /// Ends the document: processes the last piece, tries other sources if there was no text, and ends the cut.
    ///
    /// # Errors
    /// The document is empty, invalid JSON from which a spec extracts fields, or too large to be held.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.piece(true, sink)?;
        match std::mem::replace(&mut self.phase, ContentPhase::Sniff) {
            ContentPhase::Json => self.end_json(sink)?,
            ContentPhase::Page { decoder, page, .. } => {
                self.end_page(*page, sink);
                if !self.spoke {
                    self.end_bare_page(&decoder, sink)?;
                }
            }
            ContentPhase::Text(_) | ContentPhase::Sniff | ContentPhase::Binary => {}
        }
        // A line that the cleaner still holds, then the text that the cut still holds.
        let mut rest = String::new();
        self.clean.end(&mut rest);
        self.put(&rest, sink);
        if !self.spoke && self.has_content {
            self.from = Some(ContentSource::Response);
            self.apart = self.began;
            self.notice(NOTHING, sink);
            self.note = Some(NOTHING.to_owned());
        }
        if let Some(secrets) = &mut self.secrets {
            secrets.end(&mut self.searched);
        }
        self.cut_searched(sink);
        let Self { cut, sizes, .. } = self;
        *sizes = cut.end(&mut |text| sink.write(text.as_bytes()));
        self.hold.clear(&mut self.meter);
        Ok(())
    }

    /// Processes the pending bytes. `last`: the document ends with them.
    fn piece(&mut self, last: bool, sink: &mut dyn Sink) -> Result<(), Error> {
        if matches!(self.phase, ContentPhase::Sniff) {
            if self.pending.is_empty() {
                let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
                return Err(Error::at(raise, 0, String::new()));
            }
            // The first piece is complete, or the document is shorter than it.
            self.phase = self.sniff();
            if let Some(kind) = self.binary() {
                self.phase = ContentPhase::Binary;
                self.from = Some(ContentSource::Response);
                self.notice(&format!("the input is {kind}, not text: it is left out"), sink);
                self.note = Some(format!("the input is {kind}, not text"));
            }
        }
        let piece = std::mem::take(&mut self.pending);
        self.has_content = self.has_content || !piece.trim_ascii_start().is_empty();
        match &mut self.phase {
            ContentPhase::Sniff | ContentPhase::Binary => {}
            ContentPhase::Json => self.keep(&piece)?,
            ContentPhase::Text(decoder) => {
                let text = decoder.decode(&piece, last);
                self.from = Some(ContentSource::Text);
                self.say(&text, sink);
            }
            ContentPhase::Page { decoder, page, holds } => {
                let html = decoder.decode(&piece, last);
                let text = page.push(&html);
                // The piece in which the first text is found need not be held: the page is not read again.
                let held = *holds && !page.has_text();
                if *holds && !held {
                    *holds = false;
                    self.hold.clear(&mut self.meter);
                }
                self.say(&text, sink);
                if held {
                    self.keep(&piece)?;
                }
            }
        }
        // Keep the allocation.
        if !last {
            self.pending = piece;
            self.pending.clear();
        }
        Ok(())
    }

    /// Holds a piece of the document. Fails if the limits are exceeded.
    fn keep(&mut self, piece: &[u8]) -> Result<(), Error> {
        let Self { hold, limits, meter, .. } = self;
        hold.push(piece, limits, meter).map_err(|raise| Hold::place(&self.limits, raise))
    }

    /// Detects the kind of document from its first bytes. A content type is not considered.
    fn sniff(&self) -> ContentPhase {
        let beginning = self.pending.as_slice();
        let bare = beginning.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(beginning).trim_ascii_start();
        // Scalars other than strings have no text, and plain text may begin like them.
        if matches!(bare.first(), Some(b'{' | b'[' | b'"')) {
            return ContentPhase::Json;
        }
        let decoder = Decoder::new(beginning);
        let text = decoder.again().decode(beginning, false);
        if is_html(&text) {
            let page = Box::new(Page::new(self.markdown()));
            return ContentPhase::Page { decoder, page, holds: true };
        }
        ContentPhase::Text(decoder)
    }

    /// Returns what the document is, if it is not text.
    fn binary(&self) -> Option<&'static str> {
        match self.phase {
            ContentPhase::Text(_) => binary_kind(&self.pending),
            _ => None,
        }
    }

    /// Emits text after cleaning it. Empty text changes no state.
    fn say(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        let mut clean = String::with_capacity(text.len());
        if std::mem::take(&mut self.apart) {
            self.clean.push("\n\n", &mut clean);
        }
        self.clean.push(text, &mut clean);
        // White space is not text, nor is what the cleaner drops.
        self.spoke |= self.clean.take_shown();
        self.put(&clean, sink);
    }

    /// Emits cleaned text unless it is cut. The cut also counts the text that it leaves out.
    fn put(&mut self, text: &str, sink: &mut dyn Sink) {
        self.began |= !text.is_empty();
        if let Some(secrets) = &mut self.secrets {
            secrets.write(text.as_bytes(), &mut self.searched);
            return self.cut_searched(sink);
        }
        self.cut.push(text, &mut |text| sink.write(text.as_bytes()));
    }

    /// Emits the complete characters of the text that was searched for credentials.
    fn cut_searched(&mut self, sink: &mut dyn Sink) {
        let Self { searched, cut, .. } = self;
        let text = match std::str::from_utf8(searched) {
            Ok(text) => text,
            Err(error) => {
                let complete = searched.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(complete).unwrap_or_default()
            }
        };
        cut.push(text, &mut |text| sink.write(text.as_bytes()));
        let len = text.len();
        searched.drain(..len);
    }

    /// Emits a notice as a line of its own. It is not cleaned: the cleaner would mark it as one of the input.
    fn notice(&mut self, what: &str, sink: &mut dyn Sink) {
        let mut line = String::new();
        if std::mem::take(&mut self.apart) {
            self.clean.push("\n\n", &mut line);
        }
        self.clean.end(&mut line);
        line.push_str(&notice::cut("content", what, None));
        self.put(&line, sink);
        self.spoke = true;
    }

    /// Emits the notice for a page whose text is hidden.
    fn hidden(&mut self, sink: &mut dyn Sink) {
        self.notice(HIDDEN, sink);
        self.note = Some(format!("{HIDDEN}, and left out"));
    }

    /// Finishes a page, emits the rest of its text and records its source. Returns whether hidden text was left out.
    fn end_page(&mut self, page: Page, sink: &mut dyn Sink) -> bool {
        let PageText { text, from, hidden: hid, left_out, notices } = page.finish();
        self.from = Some(match from {
            From::Article => ContentSource::Article,
            From::Body => ContentSource::Body,
            From::Page => ContentSource::Page,
        });
        // Text that nobody sees is dropped, since that of the next source may follow.
        if self.spoke || has_text(&text) {
            self.say(&text, sink);
        }
        self.left_out.blocks += left_out.blocks;
        self.left_out.words += left_out.words;
        if self.spoke {
            for what in &notices {
                self.apart = true;
                self.notice(what, sink);
            }
        }
        if let Some(what) =
            notices.into_iter().next().filter(|_| self.spoke && from != From::Article)
        {
            self.note = Some(what);
        }
        self.hid |= hid;
        hid
    }

    /// Reads a page without main content again and emits all of its text. If there is none, emits the page itself, or a
    /// notice if its text is hidden.
    ///
    /// The page is still held, because it had no text. `decoder` knows its encoding.
    fn end_bare_page(&mut self, decoder: &Decoder, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut hold = std::mem::take(&mut self.hold);
        let limits = self.limits.clone();
        let failed = |raise| Hold::place(&limits, raise);
        let mut page = Page::again(self.markdown());
        let mut again = decoder.again();
        hold.visit(
            |piece| {
                let text = page.push(&again.decode(piece, false));
                self.say(&text, sink);
                Ok(true)
            },
            failed,
        )?;
        let text = page.push(&again.decode(b"", true));
        self.say(&text, sink);
        let hid = self.end_page(page, sink);
        if self.spoke {
            let kept = if hid { "all of its text that is not hidden" } else { "all of its text" };
            self.note = Some(format!("no content was found in the page: {kept} is kept"));
            return Ok(());
        }
        if hid {
            self.hidden(sink);
            return Ok(());
        }
        self.note = Some("no text was found in the page: it is unchanged".to_owned());
        self.whole(hold, decoder.again(), sink)
    }

    /// Emits the document unchanged, apart from its encoding. `decoder` is at the start of the document.
    fn whole(
        &mut self,
        mut hold: Hold,
        mut decoder: Decoder,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.from = Some(ContentSource::Response);
        let limits = self.limits.clone();
        hold.visit(
            |piece| {
                let text = decoder.decode(piece, false);
                self.say(&text, sink);
                // Text that is cut off is still counted.
                Ok(!sink.is_closed())
            },
            |raise| Hold::place(&limits, raise),
        )?;
        let text = decoder.decode(b"", true);
        self.say(&text, sink);
        Ok(())
    }

    /// Adds to the report. After an error only the held bytes are reported.
    pub(super) fn report(&self, report: &mut Report) {
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_some() {
            return;
        }
        if let Some(secrets) = &self.secrets {
            add_counts(&mut report.redacted, &secrets.found());
        }
        report.content_from = self.from;
        report.content_hidden = self.hid;
        let LeftOut { blocks, words } = self.left_out;
        report.left_out = (blocks > 0).then_some(crate::report::LeftOut { blocks, words });
        report.fallback.clone_from(&self.note);
        report.applied = self.from != Some(ContentSource::Response);
        report.result_bytes = self.sizes.bytes;
        // The budget is only reported if it left something out.
        let (true, Some(budget)) = (self.sizes.cut, self.budget) else { return };
        report.budget_applied = true;
        report.budget_original_bytes = Some(self.sizes.bytes);
        match budget {
            Budget::Bytes(limit) => report.budget_limit = Some(limit),
            Budget::Tokens(limit) => {
                report.tokens_limit = Some(limit);
                report.tokens_original = Some(self.sizes.original);
                report.tokens_result = Some(self.sizes.result);
                report.tokens_estimated = self.vocabulary.is_none();
            }
        }
    }
}

/// Returns the limit of a text that a budget sets.
fn text_limit(
    budget: Option<Budget>,
    vocabulary: Option<&'static dyn CountTokens>,
) -> Option<TextLimit> {
    Some(match budget? {
        Budget::Bytes(bytes) => TextLimit::Bytes(bytes),
        Budget::Tokens(tokens) => TextLimit::Tokens(tokens, vocabulary),
    })
}

/// Returns the search for credentials in the content, if the program has one.
fn search_of(compiled: &CompiledProgram, marks: Option<&MarkTable>) -> Option<SecretSearch> {
    let rules = compiled.output.redact.as_ref()?.secrets.as_ref()?;
    let mut search = rules.filter(TextForm::Plain);
    search.set_marks(marks);
    Some(search)
}
