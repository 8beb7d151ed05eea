//! A page, from its first byte to its text.
//!
//! Decides which text is used: the article, if one is found that has a good part of the page's prose; else the rest of
//! the body; else, after a second reading with [`Page::again`], everything that was visible to a person. Buffers the
//! stripped page as long as it is small enough to be searched for an article; the text of a larger page is written as
//! it arrives.

use super::LINE;
use super::article;
use super::render::Render;
use super::strip::{Keep, Strip};
use super::tags::Reader;

/// The minimum share of the page's letters outside links that an article must have, in percent. With less than that,
/// the page is a list, a forum or a search result, and an article would be one entry of it.
const SHARE: u64 = 40;

/// Which text of the page is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The article that was found in it.
    Article,
    /// All content of its body.
    Body,
    /// Everything that may have been visible to a person, including navigation.
    Page,
}

/// A page whose bytes arrive in parts.
#[derive(Debug)]
pub struct Page {
    reader: Reader<Strip>,
    markdown: bool,
    keep: Keep,
    without: Option<Without>,
}

impl Page {
    /// Begins a page whose content is wanted.
    pub fn new(markdown: bool) -> Self {
        let keep = Keep::Content;
        Self { reader: Reader::new(Strip::new(keep, markdown)), markdown, keep, without: None }
    }

    /// Begins a second reading of the page, after the first one found no content.
    pub fn again(markdown: bool) -> Self {
        let keep = Keep::Text;
        let without = Some(Without::default());
        Self { reader: Reader::new(Strip::new(keep, markdown)), markdown, keep, without }
    }

    /// Reads more of the page. Returns text as soon as it is certain to be used.
    pub fn push(&mut self, html: &str) -> String {
        // The input is split, so that only a part of the text is buffered here.
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

    /// Whether the page certainly has text, so that no second reading is necessary.
    pub fn has_text(&self) -> bool {
        self.reader.with(|strip| strip.has_text())
    }

    /// Ends the page. Returns the rest of its text, the source of the text, and whether hidden text was removed.
    pub fn finish(self) -> (String, From, bool) {
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
        // The search for articles lowers all headings by one level, except the title.
        let text = match text.strip_prefix("## ") {
            Some(rest) if rest.lines().next() == Some(&heading) => format!("# {rest}"),
            _ => text,
        };
        // A title often includes the name of the site.
        let named = !heading.is_empty() && found.title.contains(&heading);
        let title = if named { heading } else { found.title };
        (titled(&title, text, markdown), From::Article, hid)
    }
}

/// Turns `<noscript>` and `<noframes>` into ordinary elements, so that their contents are parsed as HTML rather than
/// text.
#[derive(Debug, Default)]
struct Without {
    /// The end of the input so far, if it may be the beginning of such a tag.
    tail: String,
}

impl Without {
    /// Replaces the names of such elements by another name of the same length.
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

/// Puts a text below its title, unless it begins with the title.
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
