//! Reads the tags and the text of HTML as they arrive, through lol_html, and keeps the stack of open elements.
//!
//! Elements are known only by their names. Invariants: the stack has at most [`OPEN`](super::OPEN) elements plus those
//! that one piece of input opens; a token longer than [`TOKEN`](super::TOKEN) is dropped; every start is followed by
//! its end, in order, whether the page closes the element or not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lol_html::html_content::{Attribute, Comment, EndTag, TextChunk};
use lol_html::send::{DocumentContentHandlers, Element, ElementContentHandlers, HtmlRewriter};
use lol_html::{MemorySettings, Selector, Settings};

use super::{OPEN, TOKEN};

/// The number of bytes that are parsed at a time.
const PIECE: usize = 16 << 10;
/// The length of the longest character reference, such as `&CounterClockwiseContourIntegral;`, in bytes.
const REFERENCE: usize = 40;

/// How many open elements are searched for one that ends implicitly.
const AROUND: usize = 32;

/// Receives the parsed elements and text.
pub(super) trait Target: Send + 'static {
    /// An element begins. A void element (`<br>`) has no end.
    fn start(&mut self, tag: &Tag<'_>);
    /// The innermost open element ends.
    fn end(&mut self, name: &str);
    /// Text with its character references as written; a reference is never split.
    fn text(&mut self, text: &str);
    /// A comment.
    fn comment(&mut self, _text: &str) {}
    /// A token was dropped, or an element was ignored.
    fn lost(&mut self);
}

/// A start tag.
pub(super) struct Tag<'a> {
    /// The name in lower case.
    pub(super) name: &'a str,
    pub(super) has_content: bool,
    attributes: &'a dyn Fn(&str) -> Option<String>,
}

impl Tag<'_> {
    /// Returns the value of an attribute as written.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.attributes)(name)
    }
}

type Output = fn(&[u8]);

/// Parses HTML that arrives in chunks. The result does not depend on the chunks.
pub(super) struct Reader<T> {
    shared: Arc<Mutex<Shared<T>>>,
    rewriter: Option<HtmlRewriter<'static, Output>>,
    pending: Vec<u8>,
    /// A token was too long: input is dropped up to the end of a tag.
    skips: bool,
}

/// The state that lol_html's handlers share.
struct Shared<T> {
    target: T,
    /// The open elements with their numbers, which increase.
    open: Vec<(u64, Box<str>)>,
    /// The numbers of the elements that lol_html considers open: it does not know about implicit ends.
    known: Vec<u64>,
    /// The number of elements that have begun.
    begun: u64,
    /// The end of a text, if it may be the beginning of a character reference.
    cut_off: String,
    /// The number of steps: elements that begin, end or are inspected, and bytes of text.
    #[cfg(test)]
    work: usize,
}

impl<T: Target> Reader<T> {
    pub(super) fn new(target: T) -> Self {
        let shared = Shared {
            target,
            open: Vec::new(),
            known: Vec::new(),
            begun: 0,
            cut_off: String::new(),
            #[cfg(test)]
            work: 0,
        };
        let shared = Arc::new(Mutex::new(shared));
        Self { rewriter: rewriter(&shared), shared, pending: Vec::new(), skips: false }
    }

    /// Parses more of the page.
    pub(super) fn push(&mut self, html: &str) {
        let mut rest = html.as_bytes();
        while !rest.is_empty() {
            let room = PIECE.saturating_sub(self.pending.len()).max(1);
            let (now, later) = rest.split_at(rest.len().min(room));
            self.pending.extend_from_slice(now);
            rest = later;
            if self.pending.len() >= PIECE {
                self.read();
            }
        }
    }

    /// Ends the page and returns the receiver.
    pub(super) fn end(mut self) -> T
    where
        T: Default,
    {
        self.read();
        if let Some(rewriter) = self.rewriter.take() {
            _ = rewriter.end();
        }
        let mut shared = lock(&self.shared);
        shared.flush();
        shared.close_to(0);
        std::mem::take(&mut shared.target)
    }

    /// Calls a function with the receiver.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut lock(&self.shared).target)
    }

    fn read(&mut self) {
        let mut piece = std::mem::take(&mut self.pending);
        let mut from = 0;
        if lock(&self.shared).known.len() > OPEN {
            // The input is dropped up to a tag, so that no tag is split.
            from = memchr::memchr(b'<', &piece).unwrap_or(piece.len());
            self.write(piece.get(..from).unwrap_or_default());
            if let Some(rewriter) = self.rewriter.take() {
                _ = rewriter.end();
            }
            self.restart();
        }
        self.write(piece.get(from..).unwrap_or_default());
        piece.clear();
        self.pending = piece;
    }

    fn write(&mut self, piece: &[u8]) {
        let mut piece = piece;
        if self.skips {
            let Some(at) = memchr::memchr(b'>', piece) else { return };
            piece = piece.get(at + 1..).unwrap_or_default();
            self.skips = false;
        }
        let written = self.rewriter.as_mut().map(|rewriter| rewriter.write(piece));
        if !matches!(written, Some(Ok(()))) {
            self.restart();
            self.skips = true;
        }
    }

    /// Resumes as if the page began here.
    fn restart(&mut self) {
        {
            let mut shared = lock(&self.shared);
            shared.flush();
            shared.close_to(0);
            shared.known.clear();
            shared.target.lost();
        }
        self.rewriter = rewriter(&self.shared);
    }
}

impl<T> std::fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// The state remains usable after a handler has panicked, so poisoning is ignored.
fn lock<T>(shared: &Mutex<Shared<T>>) -> MutexGuard<'_, Shared<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Never `None`, because `*` is a valid selector.
fn rewriter<T: Target>(shared: &Arc<Mutex<Shared<T>>>) -> Option<HtmlRewriter<'static, Output>> {
    let all: Selector = "*".parse().ok()?;
    let elements = {
        let shared = Arc::clone(shared);
        move |element: &mut Element<'_, '_>| {
            let number = lock(&shared).start(element);
            if let (Some(number), Some(handlers)) = (number, element.end_tag_handlers()) {
                let shared = Arc::clone(&shared);
                handlers.push(Box::new(move |_: &mut EndTag<'_>| {
                    lock(&shared).end(number);
                    Ok(())
                }));
            }
            Ok(())
        }
    };
    let texts = {
        let shared = Arc::clone(shared);
        move |chunk: &mut TextChunk<'_>| {
            lock(&shared).text(chunk.as_str(), chunk.last_in_text_node());
            Ok(())
        }
    };
    let comments = {
        let shared = Arc::clone(shared);
        move |comment: &mut Comment<'_>| {
            let mut shared = lock(&shared);
            shared.flush();
            shared.target.comment(&comment.text());
            Ok(())
        }
    };
    let settings = Settings::new_send()
        .append_element_content_handler((
            std::borrow::Cow::Owned(all),
            ElementContentHandlers::default().element(elements),
        ))
        .append_document_content_handler(
            DocumentContentHandlers::default().text(texts).comments(comments),
        )
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(TOKEN))
        .with_strict(false);
    Some(HtmlRewriter::new(settings, |_: &[u8]| {}))
}

impl<T: Target> Shared<T> {
    /// Begins an element. Returns its number, if it can have content.
    fn start(&mut self, element: &Element<'_, '_>) -> Option<u64> {
        self.flush();
        let name = element.tag_name();
        self.end_implied(&name);
        let has_content = element.can_have_content();
        // A tag is asked for about forty names, and most tags have few attributes or none.
        let written = element.attributes();
        let names: Vec<String> = written.iter().map(Attribute::name).collect();
        let attributes = |name: &str| {
            let at = names.iter().position(|written| written == name)?;
            written.get(at).map(Attribute::value)
        };
        self.target.start(&Tag { name: &name, has_content, attributes: &attributes });
        if !has_content {
            return None;
        }
        self.step(1);
        self.begun += 1;
        self.open.push((self.begun, name.into()));
        self.known.push(self.begun);
        Some(self.begun)
    }

    /// Handles an explicit end tag; the element may have ended before.
    fn end(&mut self, number: u64) {
        self.flush();
        if let Ok(at) = self.known.binary_search(&number) {
            self.known.truncate(at);
        }
        if let Ok(at) = self.open.binary_search_by_key(&number, |(number, _)| *number) {
            self.close_to(at);
        }
    }

    /// Ends the elements that end implicitly when an element with this name begins (HTML §13.1.2.4).
    fn end_implied(&mut self, name: &str) {
        let (ends, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu", "dir"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "tr" | "tbody" | "thead" | "tfoot" => (&["tr", "tbody", "thead", "tfoot"], &["table"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "option" | "optgroup" => (&["option"], &["select", "datalist"]),
            _ if ends_paragraph(name) => {
                (&["p"], &["table", "td", "th", "caption", "button", "object", "template", "svg"])
            }
            _ => return,
        };
        self.step(self.open.len().min(AROUND));
        let open = self.open.iter().enumerate().rev().take(AROUND);
        let mut around = open.take_while(|(_, (_, open))| !within.contains(&&**open));
        if let Some((at, _)) = around.find(|(_, (_, open))| ends.contains(&&**open)) {
            self.close_to(at);
        }
    }

    /// Ends all open elements except the first `n`.
    fn close_to(&mut self, level: usize) {
        while self.open.len() > level {
            self.step(1);
            if let Some((_, name)) = self.open.pop() {
                self.target.end(&name);
            }
        }
    }

    fn text(&mut self, chunk: &str, last: bool) {
        if chunk.is_empty() && !last {
            return;
        }
        self.step(chunk.len() + self.cut_off.len());
        let whole;
        let text = if self.cut_off.is_empty() {
            chunk
        } else {
            whole = std::mem::take(&mut self.cut_off) + chunk;
            &whole
        };
        let cut = match text.rfind('&') {
            Some(at) if !last && text.len() - at < REFERENCE => {
                let tail = text.get(at..).unwrap_or_default();
                if tail.contains(';') { text.len() } else { at }
            }
            _ => text.len(),
        };
        let (now, later) = text.split_at(cut);
        if !now.is_empty() {
            self.target.text(now);
        }
        self.cut_off = later.to_owned();
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "steps are counted in tests"))]
    fn step(&mut self, steps: usize) {
        #[cfg(test)]
        {
            self.work += steps;
        }
        _ = steps;
    }

    /// Writes the rest of a text that is complete.
    fn flush(&mut self) {
        if !self.cut_off.is_empty() {
            let text = std::mem::take(&mut self.cut_off);
            self.target.text(&text);
        }
    }
}

/// Whether an element with this name ends a paragraph.
fn ends_paragraph(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "center"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "table"
            | "ul"
    )
}

#[cfg(test)]
mod tests {
    use super::{Reader, Tag, Target};

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Target for Log {
        fn start(&mut self, tag: &Tag<'_>) {
            let href = tag.get("href").map(|href| format!(" {href}")).unwrap_or_default();
            self.0.push(format!("<{}{href}>", tag.name));
        }

        fn end(&mut self, name: &str) {
            self.0.push(format!("</{name}>"));
        }

        fn text(&mut self, text: &str) {
            match self.0.last_mut() {
                Some(last) if !last.starts_with('<') => last.push_str(text),
                _ => self.0.push(text.to_owned()),
            }
        }

        fn lost(&mut self) {
            self.0.push("<lost>".into());
        }
    }

    fn read(html: &str, size: usize) -> Vec<String> {
        let mut reader = Reader::new(Log::default());
        let mut rest = html;
        while !rest.is_empty() {
            let at = (size..=rest.len()).find(|at| rest.is_char_boundary(*at));
            let (now, later) = rest.split_at(at.unwrap_or(rest.len()));
            reader.push(now);
            rest = later;
        }
        reader.end().0
    }

    #[test]
    fn every_start_has_its_end() {
        let html = "<DIV><p>a<br>b<p>c &amp; d</div>e</i><a href='x'>f";
        let expected = [
            "<div>",
            "<p>",
            "a",
            "<br>",
            "b",
            "</p>",
            "<p>",
            "c &amp; d",
            "</p>",
            "</div>",
            "e",
            "<a x>",
            "f",
            "</a>",
        ];
        for size in [1, 2, 5, 1000] {
            assert_eq!(read(html, size), expected, "{size}");
        }
    }

    #[test]
    fn ends_that_are_not_written() {
        for (html, expected) in [
            (
                "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
                "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>",
            ),
            (
                "<table><tr><td>a<td>b<tr><td>c</table>d",
                "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>d",
            ),
            ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
            // As in lol_html, an explicit end tag also ends the elements inside.
            ("<p>a<div>b</p>c</div>d", "<p>a</p><div>b</div>cd"),
            ("<p><b>a<p>b</b>c", "<p><b>a</b></p><p>b</p>c"),
            (
                "<p>a<table><tr><td><p>b<p>c</table>d",
                "<p>a</p><table><tr><td><p>b</p><p>c</p></td></tr></table>d",
            ),
        ] {
            assert_eq!(read(html, 3).concat(), expected, "{html}");
        }
    }

    /// With more than 10,000 nested elements, ten times the depth takes ten times the work.
    #[test]
    fn work_grows_as_the_page_does() {
        for (before, part, after) in [
            ("", "<b>", "</b>"),
            ("", "<div>", ""),
            ("", "<b>", "</i>"),
            ("", "<p>x", ""),
            ("", "<ul><li>x", "</ul>"),
            ("<table>", "<tr><td>x<table>", ""),
            ("", "<b><i>x</b></i>", ""),
            ("", "&amp;x", ""),
            ("<p>", "&", ""),
        ] {
            let work = |count: usize| {
                let mut reader = Reader::new(Log::default());
                reader.push(&(before.to_owned() + &part.repeat(count) + &after.repeat(count)));
                reader.read();
                super::lock(&reader.shared).work
            };
            let (few, many) = (work(10_000), work(100_000));
            assert!(few > 0 && many <= 11 * few, "{part}: {few}, {many}");
            let bytes = (part.len() + after.len()) * 100_000;
            assert!(many <= 16 * bytes, "{part}: {many} of {bytes} bytes");
        }
    }

    #[test]
    fn open_elements_are_bounded() {
        let html = "<b>".repeat(100_000) + "x";
        let log = read(&html, usize::MAX - 1);
        assert!(log.contains(&"<lost>".to_owned()));
        let (mut open, mut most) = (0_usize, 0);
        for line in &log {
            match line.as_str() {
                "<b>" => open += 1,
                "</b>" => open -= 1,
                _ => {}
            }
            most = most.max(open);
        }
        assert_eq!(open, 0);
        assert!(most < super::OPEN + super::PIECE, "{most}");
        assert!(log.contains(&"x".to_owned()));
    }

    #[test]
    fn a_tag_without_end_is_left_out() {
        let html = format!("a<img src=\"{}\">b<p>c", "x".repeat(super::TOKEN + (1 << 20)));
        let log = read(&html, usize::MAX - 1);
        assert_eq!(log, ["a", "<lost>", "b", "<p>", "c", "</p>"]);
    }
}
