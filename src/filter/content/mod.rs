//! The run of a `content` filter: finds out what the document is, takes its text, and cuts it (seed: AIOS; SPEC §10).
//!
//! ```text
//! bytes ─▶ Sniff ─▶ Page ─▶ text ─▶ cut ─▶ sink
//!            │ └──▶ Text ─────────▶
//!            └────▶ Json: held, then its fields, each of them text or a page
//! ```
//!
//! Knows no HTML and no boundaries of sentences (`content` does). Never empty: where no text is found, the document is the
//! text, or, of a page whose text is hidden, a line that says so. For that the document waits in a hold: a page until it has text, JSON until its end. The document is handled in
//! pieces of the same places, however it comes.

mod clean;
mod fields;

use std::sync::Arc;

use super::hold::Hold;
use super::options::CallOptions;
use super::program::{Compiled, Program};
use crate::content::{Cut, Decoder, From, Page, SNIFFED, Sizes, is_html};
use crate::error::{Error, ErrorKind, LimitName, Raise};
use crate::limits::{Limits, Meter};
use crate::notice;
use crate::report::{ContentSource, Report};
use crate::sink::Sink;
use crate::spec::{Budget, Content, ContentFormat, OnError, Root, Spec};
use clean::ContentCleaner;
use fields::Fields;

/// Bytes that are handled at once.
const PIECE: usize = 16 << 10;
/// The note for a page that shows nothing.
const HIDDEN: &str = "all text of the page is hidden";
/// Members that have the content of a JSON answer, where it is not said which do.
const USUAL: [&str; 3] = ["content", "text", "body"];

/// The `content` of a spec, compiled.
#[derive(Debug)]
pub(super) struct ContentRules {
    markdown: bool,
    budget: Option<Budget>,
    /// Selects what is to be extracted, and what is looked for where that is not there.
    extract: Option<Program>,
    usual: Program,
}

#[derive(Debug)]
pub(super) struct ContentRun {
    compiled: Arc<Compiled>,
    limits: Limits,
    pending: Vec<u8>,
    offset: u64,
    phase: Phase,
    hold: Hold,
    meter: Meter,
    clean: ContentCleaner,
    cut: Cut,
    budget: Option<Budget>,
    sizes: Sizes,
    /// Where the text is from.
    from: Option<ContentSource>,
    /// Text that is more than white space has come.
    spoke: bool,
    /// A text has come, which another is to be kept apart from.
    apart: bool,
    /// A part of a page was left out because it is hidden.
    hid: bool,
    note: Option<String>,
}

#[derive(Debug)]
enum Phase {
    Sniff,
    Json,
    Page { decoder: Decoder, page: Box<Page>, holds: bool },
    Text(Decoder),
}

impl ContentRules {
    /// Compiles what a spec says of content.
    pub(super) fn compile(content: &Content) -> Result<Self, Error> {
        let select = |paths: &mut dyn Iterator<Item = &str>| {
            // Elements that are not objects have no fields, and are no error.
            let spec = Spec::new().root(Root::Object).on_error(OnError::Raw);
            let spec = paths
                .enumerate()
                .fold(spec, |spec, (number, path)| spec.select_as(number.to_string(), path));
            Program::compile(&spec)
        };
        let extract = match content.extract.as_slice() {
            [] => None,
            paths => {
                let mut paths = paths.iter().map(String::as_str);
                Some(select(&mut paths).map_err(|error| error.renamed("select", "extract"))?)
            }
        };
        Ok(Self {
            markdown: content.format == ContentFormat::Markdown,
            budget: Budget::Tokens(content.max_tokens).unless_zero(),
            extract,
            usual: select(&mut USUAL.into_iter())?,
        })
    }
}

impl ContentRun {
    pub(super) fn new(
        compiled: &Arc<Compiled>,
        rules: &ContentRules,
        options: &CallOptions,
    ) -> Self {
        let budget = options.call_budget().or(rules.budget);
        Self {
            compiled: Arc::clone(compiled),
            limits: options.limits_ref().clone(),
            pending: Vec::new(),
            offset: 0,
            phase: Phase::Sniff,
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
        self.phase = Phase::Sniff;
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
            let size = if matches!(self.phase, Phase::Sniff) { SNIFFED } else { PIECE };
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
        match std::mem::replace(&mut self.phase, Phase::Sniff) {
            Phase::Json => self.end_json(sink)?,
            Phase::Page { decoder, page, .. } => {
                self.end_page(*page, sink);
                if !self.spoke {
                    self.end_bare_page(&decoder, sink)?;
                }
            }
            Phase::Text(_) | Phase::Sniff => {}
        }
        let mut rest = String::new();
        self.clean.end(&mut rest);
        self.put(&rest, sink);
        let Self { cut, sizes, .. } = self;
        *sizes = cut.end(&mut |text| sink.write(text.as_bytes()));
        self.hold.clear(&mut self.meter);
        Ok(())
    }

    /// Handles what is pending.
    fn piece(&mut self, last: bool, sink: &mut dyn Sink) -> Result<(), Error> {
        if matches!(self.phase, Phase::Sniff) {
            if self.pending.is_empty() {
                let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
                return Err(Error::at(raise, 0, String::new()));
            }
            self.phase = self.sniff();
        }
        let piece = std::mem::take(&mut self.pending);
        self.offset += piece.len() as u64;
        match &mut self.phase {
            Phase::Sniff => {}
            Phase::Json => self.keep(&piece)?,
            Phase::Text(decoder) => {
                let text = decoder.decode(&piece, last);
                self.from = Some(ContentSource::Text);
                self.say(&text, sink);
            }
            Phase::Page { decoder, page, holds } => {
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

    /// Tells the kind of document from its beginning.
    fn sniff(&self) -> Phase {
        let beginning = self.pending.as_slice();
        let bare = beginning.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(beginning).trim_ascii_start();
        if matches!(bare.first(), Some(b'{' | b'[' | b'"')) {
            return Phase::Json;
        }
        let decoder = Decoder::new(beginning);
        let text = decoder.again().decode(beginning, false);
        if is_html(&text) {
            let page = Box::new(Page::new(self.markdown()));
            return Phase::Page { decoder, page, holds: true };
        }
        Phase::Text(decoder)
    }

    /// Text of the output.
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

    /// Text that leaves, unless it is cut.
    fn put(&mut self, text: &str, sink: &mut dyn Sink) {
        self.cut.push(text, &mut |text| sink.write(text.as_bytes()));
    }

    /// The line in place of a page whose text is hidden.
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

    /// Whether text of it was left out because it is hidden.
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

    /// No content was found: the page is read again, with all that is text in it; if there is none, it is the text.
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
        self.note = Some("no text was found in the page: it is left as it is".to_owned());
        self.whole(hold, decoder.again(), sink)
    }

    /// The document as it is.
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
                // All that is left out is counted.
                Ok(!sink.is_closed())
            },
            |raise| Hold::place(&limits, raise),
        )?;
        let text = decoder.decode(b"", true);
        self.say(&text, sink);
        Ok(())
    }

    /// The texts of the fields of a JSON answer.
    fn end_json(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut hold = std::mem::take(&mut self.hold);
        let compiled = Arc::clone(&self.compiled);
        let Some(rules) = compiled.content_rules() else { return Ok(()) };
        let limits = self.limits.clone();
        let extract = rules.extract.as_ref().map(|program| (program, false));
        for (program, first) in extract.into_iter().chain([(&rules.usual, true)]) {
            match Fields::read(program, first, &mut hold, &limits) {
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
                // Text may begin as JSON does.
                Err(error) if is_no_json(&error) => {
                    // A spec that names fields expects JSON: a document that is broken, or has lost its end, has none of them.
                    if rules.extract.is_some() {
                        return Err(error);
                    }
                    let offset = error.offset().unwrap_or_default();
                    self.note = Some(format!(
                        "the document begins as JSON, but is not valid at byte {offset}: it is kept as text"
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
        self.note = Some("no text was found in the answer: it is left as it is".to_owned());
        self.apart = false;
        self.whole(hold, Decoder::new(b""), sink)
    }

    /// The text of a field, which may be a page.
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

/// Whether an error says that the document is no JSON.
fn is_no_json(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding)
}
