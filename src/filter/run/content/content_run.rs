//! The run of a `content` filter: detects the kind of document, extracts its text, and cuts it (seed: AIOS; SPEC §10).
//!
//! ```text
//! bytes ─▶ Sniff ─▶ Page ─▶ text ─▶ cut ─▶ sink
//!            │ └──▶ Text ─────────▶
//!            └────▶ Json: held; then its fields, each text or a page
//! ```
//! The output is never empty. If no text is found, it is the document itself, or a notice for a page whose text is
//! hidden. For this the document is held: a page until it has text, JSON until its end. Documents are processed in
//! pieces of fixed size, so that the result does not depend on chunks.

use std::sync::Arc;

use super::cleaner::ContentCleaner;
use super::fields::ContentFields;
use crate::content::{Cut, Decoder, From, Page, SNIFFED, Sizes, is_html};
use crate::error::{Error, ErrorKind, LimitName, Raise};
use crate::filter::compile::content::ContentRules;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::filter::run::hold::Hold;
use crate::limits::{Limits, Meter};
use crate::notice;
use crate::report::{ContentSource, Report};
use crate::sink::Sink;
use crate::spec::Budget;

/// The size of a piece.
const PIECE: usize = 16 << 10;
/// The notice for a page without visible text.
const HIDDEN: &str = "all text of the page is hidden";

#[derive(Debug)]
pub(super) struct ContentRun {
    compiled: Arc<CompiledProgram>,
    limits: Limits,
    pending: Vec<u8>,
    offset: u64,
    phase: ContentPhase,
    hold: Hold,
    meter: Meter,
    clean: ContentCleaner,
    cut: Cut,
    budget: Option<Budget>,
    sizes: Sizes,
    /// The source of the text, for the report.
    from: Option<ContentSource>,
    /// There was text other than white space.
    spoke: bool,
    /// The next text has to be separated from the previous one.
    apart: bool,
    /// Hidden text of a page was left out.
    hid: bool,
    note: Option<String>,
}

#[derive(Debug)]
enum ContentPhase {
    Sniff,
    Json,
    Page { decoder: Decoder, page: Box<Page>, holds: bool },
    Text(Decoder),
}

impl ContentRun {
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
            offset: 0,
            phase: ContentPhase::Sniff,
            hold: Hold::default(),
            meter: Meter::default(),
            clean: ContentCleaner::default(),
            cut: Cut::new(budget),
            budget,
            sizes: Sizes::default(),
            from: None,
            spoke: false,
            apart: false,
            hid: false,
            note: None,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.pending.clear();
        self.offset = 0;
        self.phase = ContentPhase::Sniff;
        self.hold = Hold::default();
        self.meter = Meter::default();
        self.clean = ContentCleaner::default();
        self.cut = Cut::new(self.budget);
        self.sizes = Sizes::default();
        (self.from, self.spoke, self.apart, self.note) = (None, false, false, None);
        self.hid = false;
    }

    fn markdown(&self) -> bool {
        self.compiled.content_rules().is_some_and(|rules| rules.markdown)
    }

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

    /// The document is complete.
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
            ContentPhase::Text(_) | ContentPhase::Sniff => {}
        }
        let mut rest = String::new();
        self.clean.end(&mut rest);
        self.put(&rest, sink);
        let Self { cut, sizes, .. } = self;
        *sizes = cut.end(&mut |text| sink.write(text.as_bytes()));
        self.hold.clear(&mut self.meter);
        Ok(())
    }

    /// Processes the pending bytes.
    fn piece(&mut self, last: bool, sink: &mut dyn Sink) -> Result<(), Error> {
        if matches!(self.phase, ContentPhase::Sniff) {
            if self.pending.is_empty() {
                let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
                return Err(Error::at(raise, 0, String::new()));
            }
            self.phase = self.sniff();
        }
        let piece = std::mem::take(&mut self.pending);
        self.offset += piece.len() as u64;
        match &mut self.phase {
            ContentPhase::Sniff => {}
            ContentPhase::Json => self.keep(&piece)?,
            ContentPhase::Text(decoder) => {
                let text = decoder.decode(&piece, last);
                self.from = Some(ContentSource::Text);
                self.say(&text, sink);
            }
            ContentPhase::Page { decoder, page, holds } => {
                let html = decoder.decode(&piece, last);
                let text = page.push(&html);
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
        if !last {
            self.pending = piece;
            self.pending.clear();
        }
        Ok(())
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), Error> {
        let Self { hold, limits, meter, .. } = self;
        hold.push(piece, limits, meter).map_err(|raise| Hold::place(&self.limits, raise))
    }

    /// Detects the kind of document from its first bytes.
    fn sniff(&self) -> ContentPhase {
        let beginning = self.pending.as_slice();
        let bare = beginning.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(beginning).trim_ascii_start();
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

    /// Emits text after cleaning it.
    fn say(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        self.spoke = self.spoke || text.contains(|char: char| !char.is_whitespace());
        let mut clean = String::with_capacity(text.len());
        if std::mem::take(&mut self.apart) {
            self.clean.push("\n\n", &mut clean);
        }
        self.clean.push(text, &mut clean);
        self.put(&clean, sink);
    }

    /// Emits text unless it is cut.
    fn put(&mut self, text: &str, sink: &mut dyn Sink) {
        self.cut.push(text, &mut |text| sink.write(text.as_bytes()));
    }

    /// Emits the notice for a page whose text is hidden.
    fn hidden(&mut self, sink: &mut dyn Sink) {
        let mut line = String::new();
        if std::mem::take(&mut self.apart) {
            self.clean.push("\n\n", &mut line);
        }
        self.clean.end(&mut line);
        line.push_str(&notice::cut("content", HIDDEN, None));
        self.put(&line, sink);
        self.spoke = true;
        self.note = Some(format!("{HIDDEN}, and left out"));
    }

    /// Finishes a page. Returns whether hidden text was left out.
    fn end_page(&mut self, page: Page, sink: &mut dyn Sink) -> bool {
        let (text, from, hid) = page.finish();
        self.from = Some(match from {
            From::Article => ContentSource::Article,
            From::Body => ContentSource::Body,
            From::Page => ContentSource::Page,
        });
        self.say(&text, sink);
        self.hid |= hid;
        hid
    }

    /// Reads a page without main content again and emits all of its text. If there is none, emits the page itself.
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

    /// Emits the document unchanged.
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

    /// Emits the text of the fields of a JSON response.
    fn end_json(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut hold = std::mem::take(&mut self.hold);
        let compiled = Arc::clone(&self.compiled);
        let Some(rules) = compiled.content_rules() else { return Ok(()) };
        let limits = self.limits.clone();
        let extract = rules.extract.as_ref().map(|program| (program, false));
        for (program, first) in extract.into_iter().chain([(&rules.usual, true)]) {
            match ContentFields::read(program, first, &mut hold, &limits) {
                Ok(fields) => {
                    let peak = fields.bytes();
                    self.meter
                        .charge(LimitName::Item, limits.item(), 0, peak)
                        .map_err(|raise| Error::at(raise, 0, String::new()))?;
                    for text in fields.texts() {
                        self.field(&text, sink);
                    }
                    self.meter.release(peak);
                    if self.spoke {
                        self.from = Some(ContentSource::Fields);
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Miss => {}
                // Plain text may begin like JSON.
                Err(error) if is_no_json(&error) => {
                    // A spec that names fields expects JSON. An invalid or truncated document is then an error.
                    if rules.extract.is_some() {
                        return Err(error);
                    }
                    let offset = error.offset().unwrap_or_default();
                    self.note = Some(format!(
                        "the document begins like JSON, but is invalid at byte {offset}: it is treated as text"
                    ));
                    let mut beginning = Vec::new();
                    hold.visit(
                        |piece| {
                            let room = SNIFFED.saturating_sub(beginning.len());
                            beginning.extend_from_slice(piece.get(..room).unwrap_or(piece));
                            Ok(beginning.len() < SNIFFED)
                        },
                        |raise| Hold::place(&limits, raise),
                    )?;
                    self.whole(hold, Decoder::new(&beginning), sink)?;
                    self.from = Some(ContentSource::Text);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.note = Some("no text was found in the response: it is unchanged".to_owned());
        self.apart = false;
        self.whole(hold, Decoder::new(b""), sink)
    }

    /// Emits the text of a field, which may be a page.
    fn field(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.trim().is_empty() {
            return;
        }
        if !is_html(text) {
            self.say(text.trim_end(), sink);
            self.apart = true;
            return;
        }
        let spoke = std::mem::take(&mut self.spoke);
        let mut hid = false;
        for mut page in [Page::new(self.markdown()), Page::again(self.markdown())] {
            let early = page.push(text);
            self.say(&early, sink);
            hid = self.end_page(page, sink);
            if self.spoke {
                break;
            }
        }
        if !self.spoke && hid {
            self.hidden(sink);
        } else if !self.spoke {
            self.say(text.trim_end(), sink);
        }
        self.apart = true;
        self.spoke |= spoke;
    }

    pub(super) fn report(&self, report: &mut Report) {
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_some() {
            return;
        }
        report.content_from = self.from;
        report.content_hidden = self.hid;
        report.filter_error.clone_from(&self.note);
        report.filter_applied = self.from != Some(ContentSource::Response);
        report.filter_result_bytes = self.sizes.bytes;
        let (true, Some(budget)) = (self.sizes.cut, self.budget) else { return };
        report.budget_applied = true;
        report.budget_original_bytes = Some(self.sizes.bytes);
        match budget {
            Budget::Bytes(limit) => report.budget_limit = Some(limit),
            Budget::Tokens(limit) => {
                report.tokens_limit = Some(limit);
                report.tokens_original = Some(self.sizes.original);
                report.tokens_result = Some(self.sizes.result);
                report.tokens_estimated = cfg!(not(feature = "tokens"));
            }
        }
    }
}

/// Returns whether an error means that the document is not JSON.
fn is_no_json(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding)
}
