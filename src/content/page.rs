//! A page, from its first byte to its text.
//!
//! Knows which text is taken: that of the article, if one is found that has a good part of the page's prose; else all that is
//! left of the body; else, read again with [`Page::again`], all that a person was shown. Holds the page without what
//! was taken out, while it is small enough for an article to be looked for; of a larger one the text leaves as it comes.

use super::LINE;
use super::article;
use super::render::Render;
use super::strip::{Keep, Strip};
use super::tags::Reader;

/// An article has this part of the page's letters that are in no link, in percent: else the page is a list, a forum, a
/// search, of which an article would be one entry.
const SHARE: u64 = 40;

/// Which text was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Article,
    Body,
    /// Everything that a person may have been shown, navigation and all.
    Page,
}

#[derive(Debug)]
pub(crate) struct Page {
    reader: Reader<Strip>,
    markdown: bool,
    keep: Keep,
    without: Option<Without>,
}

impl Page {
    /// A page, of which the content is wanted.
    pub(crate) fn new(markdown: bool) -> Self {
        let keep = Keep::Content;
        Self { reader: Reader::new(Strip::new(keep, markdown)), markdown, keep, without: None }
    }

    /// The same page again, after no content was found in it.
    pub(crate) fn again(markdown: bool) -> Self {
        let keep = Keep::Text;
        let without = Some(Without::default());
        Self { reader: Reader::new(Strip::new(keep, markdown)), markdown, keep, without }
    }

    /// Takes more of the page. Returns text, if it is known already that it is taken.
    pub(crate) fn push(&mut self, html: &str) -> String {
        // Parts, so that no more than a part of the text waits here.
        let mut text = String::new();
        let html = match &mut self.without {
            Some(without) => &without.push(html),
            None => html,
        };
        let mut rest = html;
        while !rest.is_empty() {
            let at = (LINE.min(rest.len())..).find(|at| rest.is_char_boundary(*at));
            let (now, later) = rest.split_at(at.unwrap_or(rest.len()));
            self.reader.push(now);
            rest = later;
            let over = |strip: &mut Strip| {
                if strip.is_over() { strip.render().take() } else { String::new() }
            };
            text.push_str(&self.reader.with(over));
        }
        text
    }

    /// Whether the page has text for certain, so that it need not be read again.
    pub(crate) fn has_text(&self) -> bool {
        self.reader.with(|strip| strip.has_text())
    }

    /// The page is complete: the rest of its text, where it is from, and whether text was left out because it is hidden.
    pub(crate) fn finish(self) -> (String, From, bool) {
        let Self { mut reader, markdown, keep, without } = self;
        reader.push(&without.map(|without| without.tail).unwrap_or_default());
        let mut strip = reader.end();
        strip.render().finish();
        let hid = strip.hid();
        if keep == Keep::Text {
            return (strip.render().take(), From::Page, hid);
        }
        let (prose, heading) = (strip.render().prose(), strip.heading());
        let body = strip.render().take();
        let found = strip.html().filter(|_| prose > 0).and_then(article::find);
        let Some(found) = found else { return (body, From::Body, hid) };
        let mut reader = Reader::new(Strip::new(Keep::All, markdown));
        reader.push(&found.html);
        let mut article = reader.end();
        let render: &mut Render = article.render();
        render.finish();
        let share = render.prose().saturating_mul(100) / prose.max(1);
        let text = render.take();
        if share < SHARE || text.trim().is_empty() {
            return (body, From::Body, hid);
        }
        // The search for articles lowers all headings by one level, but for the title.
        let text = match text.strip_prefix("## ") {
            Some(rest) if rest.lines().next() == Some(&heading) => format!("# {rest}"),
            _ => text,
        };
        // A title often has the name of the site as well.
        let named = !heading.is_empty() && found.title.contains(&heading);
        let title = if named { heading } else { found.title };
        (titled(&title, text, markdown), From::Article, hid)
    }
}

/// A page for who has no scripts and no frames: what is in `<noscript>` and `<noframes>`, which is text for others, is HTML.
#[derive(Debug, Default)]
struct Without {
    /// The end of what came, which may be the beginning of such a tag.
    tail: String,
}

impl Without {
    /// Makes such elements ones of another kind, whose name is as long.
    fn push(&mut self, html: &str) -> String {
        const LONGEST: usize = "</noscript".len();
        let mut text = std::mem::take(&mut self.tail) + html;
        if let Some(at) = text.rfind('<').filter(|at| text.len() - at < LONGEST) {
            self.tail = text.split_off(at);
        }
        let mut made = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = memchr::memchr(b'<', rest.as_bytes()) {
            let (before, tag) = rest.split_at(at + 1);
            made.push_str(before);
            rest = tag;
            if let Some(ends) = rest.strip_prefix('/') {
                made.push('/');
                rest = ends;
            }
            let name = rest.get(.."noscript".len()).unwrap_or_default();
            if ["noscript", "noframes"].iter().any(|raw| raw.eq_ignore_ascii_case(name)) {
                made.push_str("fieldset");
                rest = rest.get(name.len()..).unwrap_or_default();
            }
        }
        made.push_str(rest);
        made
    }
}

/// A text below its title, unless it says it at once.
fn titled(title: &str, text: String, markdown: bool) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let begins = text.trim_start_matches(['#', ' ']).lines().next().unwrap_or_default();
    if title.is_empty() || begins.contains(&title) {
        return text;
    }
    let mut render = Render::new(markdown);
    render.title(&title);
    let above = render.take();
    if text.trim().is_empty() { above } else { format!("{above}\n\n{text}") }
}
