//! Removes the parts of a page that are not content, and writes the rest as text, and as HTML that a parser can read in
//! bounded time.
//!
//! Decisions depend on elements and their attributes. The HTML is rewritten from the parsed tags: every element is
//! closed, none is deeper than [`ARTICLE_DEPTH`](super::ARTICLE_DEPTH), and the nesting of formatting elements is
//! limited, because parsers repeat them in every paragraph in which they are open. A page that exceeds these limits, or
//! has too many characters that a serializer escapes, is not written as HTML at all.

use super::escapes::{Escapes, is_in_table};
use super::references;
use super::render::Render;
use super::style;
use super::tags::{Tag, Target};
use super::{ARTICLE_BYTES, ARTICLE_DEPTH, ARTICLE_NODES, ARTICLE_STYLES, TITLE};

/// Which parts of a page are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keep {
    /// Everything but the content: navigation, hidden parts, parts for machines.
    #[default]
    Content,
    /// Parts for machines and hidden parts: all text that was visible to a person is kept.
    Text,
    /// Nothing, because it was removed before.
    All,
}

#[derive(Debug, Default)]
pub(super) struct Strip {
    keep: Keep,
    /// The open elements.
    levels: Vec<Level>,
    /// The level of the outermost removed element that is open.
    removed: Option<usize>,
    /// The number of open elements that are content by their name.
    mains: usize,
    /// The rewritten page, or `None` if it became too large.
    html: Option<String>,
    nodes: usize,
    depth: usize,
    styles: usize,
    escapes: Escapes,
    /// The innermost written element belongs to the structure of a table.
    in_table: bool,
    /// The inherited properties that hide text here.
    unseen: u8,
    /// Hidden text was removed.
    hid: bool,
    /// The body has begun. A `<title>` in it is not displayed.
    in_body: bool,
    render: Render,
    /// Letters or digits were kept.
    text: bool,
    in_title: bool,
    title: String,
    /// The first heading of level one, and the level at which it is open.
    heading: Option<String>,
    in_heading: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Its tags were written and count towards the depth.
    Written {
        main: bool,
        style: bool,
        unseen: u8,
        in_table: bool,
    },
    /// Its tags were dropped.
    Bare {
        main: bool,
        unseen: u8,
    },
    Removed,
}

/// How an element hides its text.
struct Hides {
    whole: bool,
    /// Through inherited properties, which elements inside may reset.
    unseen: u8,
}

impl Strip {
    pub(super) fn new(keep: Keep, markdown: bool) -> Self {
        let html = (keep == Keep::Content).then(String::new);
        Self { keep, html, render: Render::new(markdown), ..Self::default() }
    }

    pub(super) fn render(&mut self) -> &mut Render {
        &mut self.render
    }

    /// Returns the page as HTML, if it is small enough for a parser.
    pub(super) fn html(&mut self) -> Option<String> {
        self.html.take()
    }

    /// Whether the page is too large for a parser.
    pub(super) fn is_over(&self) -> bool {
        self.html.is_none()
    }

    /// Whether the page certainly has text.
    pub(super) fn has_text(&self) -> bool {
        self.text
    }

    /// Whether hidden text was removed.
    pub(super) fn hid(&self) -> bool {
        self.hid
    }

    /// Returns the page's title.
    pub(super) fn title(&self) -> String {
        plain(&self.title)
    }

    /// Returns the page's first heading of level one.
    pub(super) fn heading(&self) -> String {
        plain(self.heading.as_deref().unwrap_or_default())
    }

    fn goes(&self, tag: &Tag<'_>) -> bool {
        if self.keep == Keep::All {
            return false;
        }
        match tag.name {
            "script" | "style" | "template" | "svg" | "math" | "canvas" | "object" | "embed"
            | "iframe" | "audio" | "video" | "select" | "datalist" | "textarea" | "input"
            | "applet" | "link" => return true,
            "title" if self.in_body || !self.title.is_empty() => return true,
            _ if self.keep == Keep::Text => return false,
            "nav" | "footer" | "aside" | "noscript" | "button" | "dialog" | "menu" | "frameset" => {
                return true;
            }
            // The header of an article contains its headline.
            "header" if self.mains == 0 => return true,
            // A script will show a page that is hidden as a whole.
            "html" | "body" | "head" | "title" => return false,
            _ => {}
        }
        let says = |name| tag.get(name).map(|value| references::decode(&value));
        if says("aria-hidden").is_some_and(|hidden| hidden.eq_ignore_ascii_case("true")) {
            return true;
        }
        says("role").is_some_and(|role| {
            let role = role.trim().to_ascii_lowercase();
            matches!(
                role.as_str(),
                "navigation"
                    | "contentinfo"
                    | "complementary"
                    | "search"
                    | "dialog"
                    | "alertdialog"
                    | "menu"
                    | "menubar"
                    | "toolbar"
                    | "tooltip"
            ) || (role == "banner" && self.mains == 0)
        })
    }

    /// How the element hides itself, by its attribute or by its style.
    fn hides(&self, tag: &Tag<'_>) -> Hides {
        // A script will show a page that is hidden as a whole.
        if self.keep == Keep::All || matches!(tag.name, "html" | "body" | "head" | "title") {
            return Hides { whole: false, unseen: self.unseen };
        }
        let style = tag.get("style").map(|style| style::read(&references::decode(&style)));
        let style = style.unwrap_or_default();
        let whole = style.hides || tag.get("hidden").is_some();
        Hides { whole, unseen: (self.unseen & !style.seen) | style.unseen }
    }

    /// Writes to the page, unless it gets too long.
    fn write(&mut self, parts: &[&str]) {
        let Some(html) = &mut self.html else { return };
        parts.iter().for_each(|part| html.push_str(part));
        // The text may get longer than the HTML, because code is indented.
        let text = self.render.len() > 2 * ARTICLE_BYTES;
        let is_large = html.len() > ARTICLE_BYTES || self.nodes > ARTICLE_NODES;
        if text || is_large || self.escapes.are_too_many() {
            self.html = None;
        }
    }

    fn write_tag(&mut self, tag: &Tag<'_>) {
        if self.html.is_none() {
            return;
        }
        self.nodes += 1;
        self.escapes.tag(tag.name);
        let mut written = format!("<{}", tag.name);
        for name in ATTRIBUTES {
            // Long attributes are data, not names or addresses.
            if let Some(value) = tag.get(name).filter(|value| value.len() <= 2048) {
                written.push_str(&format!(" {name}=\"{}\"", value.replace('"', "&quot;")));
            }
        }
        self.write(&[&written, ">"]);
    }
}

/// Attributes that matter: the purpose of an element, its text, or its address.
const ATTRIBUTES: [&str; 17] = [
    "id",
    "class",
    "role",
    "itemprop",
    "itemtype",
    "rel",
    "property",
    "name",
    "content",
    "href",
    "src",
    "alt",
    "title",
    "start",
    "lang",
    "dir",
    "http-equiv",
];

/// Elements that a parser reopens in the next block if they are still open (HTML §13.2.4.3).
fn is_style(name: &str) -> bool {
    matches!(
        name,
        "a" | "b"
            | "big"
            | "code"
            | "em"
            | "font"
            | "i"
            | "nobr"
            | "s"
            | "small"
            | "strike"
            | "strong"
            | "tt"
            | "u"
    )
}

/// Whether a name can be written: the names in a page may contain any character.
fn is_plain(name: &str) -> bool {
    name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Target for Strip {
    fn start(&mut self, tag: &Tag<'_>) {
        if self.removed.is_some() {
            if tag.has_content {
                self.levels.push(Level::Removed);
            }
            return;
        }
        let in_head = matches!(
            tag.name,
            "html"
                | "head"
                | "title"
                | "meta"
                | "link"
                | "base"
                | "script"
                | "style"
                | "noscript"
                | "template"
        );
        self.in_body |= !in_head;
        let hides = self.hides(tag);
        // Only an image has an alternative text.
        let unseen_image = tag.name == "img" && hides.unseen & style::VISIBILITY != 0;
        self.hid |=
            hides.whole || (unseen_image && tag.get("alt").is_some_and(|alt| has_letters(&alt)));
        if hides.whole || unseen_image || self.goes(tag) {
            if tag.has_content {
                self.removed = Some(self.levels.len());
                self.levels.push(Level::Removed);
            }
            return;
        }
        // The first title counts: images in SVG have titles as well.
        self.in_title = tag.name == "title" && self.title.is_empty();
        if tag.name == "h1" && self.heading.is_none() {
            self.heading = Some(String::new());
            self.in_heading = Some(self.levels.len());
        }
        let main = matches!(tag.name, "article" | "main");
        let style = is_style(tag.name);
        self.mains += usize::from(main);
        self.render.start(tag);
        let bare = self.depth >= ARTICLE_DEPTH
            || (style && self.styles >= ARTICLE_STYLES)
            || !is_plain(tag.name);
        let unseen = self.unseen;
        if tag.has_content {
            self.unseen = hides.unseen;
        }
        if bare {
            if tag.has_content {
                self.levels.push(Level::Bare { main, unseen });
            }
            return;
        }
        self.write_tag(tag);
        if tag.has_content {
            let in_table = std::mem::replace(&mut self.in_table, is_in_table(tag.name));
            self.levels.push(Level::Written { main, style, unseen, in_table });
            self.depth += 1;
            self.styles += usize::from(style);
        }
    }

    fn end(&mut self, name: &str) {
        if std::mem::take(&mut self.in_title) && self.keep == Keep::Text {
            let title = self.title();
            self.render.title(&title);
        }
        let level = self.levels.pop();
        if self.in_heading == Some(self.levels.len()) {
            self.in_heading = None;
        }
        match level {
            Some(Level::Written { main, style, unseen, in_table }) => {
                self.unseen = unseen;
                self.in_table = in_table;
                self.escapes.tag(name);
                self.render.end(name);
                self.depth = self.depth.saturating_sub(1);
                self.mains -= usize::from(main);
                self.styles -= usize::from(style);
                self.write(&["</", name, ">"]);
            }
            Some(Level::Bare { main, unseen }) => {
                self.unseen = unseen;
                self.render.end(name);
                self.mains -= usize::from(main);
            }
            Some(Level::Removed) | None => {
                if self.removed == Some(self.levels.len()) {
                    self.removed = None;
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.removed.is_some() {
            return;
        }
        if self.unseen != 0 {
            self.hid |= has_letters(text);
            return;
        }
        if self.html.is_some() {
            self.escapes.text(text, self.in_table);
            self.write(&[text]);
        }
        if self.in_title && self.keep != Keep::All {
            return add(&mut self.title, text);
        }
        if let (Some(heading), Some(_)) = (&mut self.heading, self.in_heading) {
            add(heading, text);
        }
        self.text = self.text || has_letters(text);
        self.render.text(text);
    }

    fn lost(&mut self) {
        self.html = None;
    }
}

/// A line of text.
fn plain(html: &str) -> String {
    let text = html_escape::decode_html_entities(html);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds text to a line, up to its maximum length.
fn add(line: &mut String, text: &str) {
    let room = TITLE.saturating_sub(line.len());
    line.extend(text.chars().take(room));
}

/// Whether there are letters or digits outside character references.
fn has_letters(text: &str) -> bool {
    let mut reference = 0_usize;
    for char in text.chars() {
        match char {
            '&' => reference = 40,
            ';' => reference = 0,
            _ if reference > 0 => reference -= 1,
            _ if char.is_alphanumeric() => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Keep, Strip};
    use crate::tags::Reader;

    fn is_over(before: &str, part: &str, count: usize) -> bool {
        let mut reader = Reader::new(Strip::new(Keep::Content, false));
        reader.push(&(before.to_owned() + &part.repeat(count)));
        reader.end().is_over()
    }

    /// The text of such a page is used as it is: the search for an article would take as long as the square of its length.
    #[test]
    fn a_page_with_too_much_to_escape_is_not_searched() {
        for (before, part) in [
            ("<p>", "&a"),
            ("<p>", "& "),
            ("<p>", "&amp;"),
            ("<p>", "&nbsp;"),
            ("<p>", "&notit;"),
            ("<p>", "\u{b7} "),
            ("<p>", "?id=1&utm_source=a&ref=c "),
            ("<pre>", "a && b\n"),
            ("<title>", "&"),
            // The texts become one.
            ("<p>", "&&&&<script></script>&&&&"),
            ("<p>", "&&&&<tr>&&&&</tr>"),
            ("<p>", "&&&&<td>x</td>"),
            ("<p>", "&&&&<form>"),
            ("<table>", "&&&&&&&&&&&&&&&&&&&&&&<tr><td><p>x</p></td></tr>"),
        ] {
            assert!(!is_over(before, part, 1_000), "{before}{part}");
            assert!(is_over(before, part, 100_000 / part.len().div_ceil(8)), "{before}{part}");
        }
    }

    /// A line with a prefix is not at the beginning of a line of the text.
    #[test]
    fn imitated_notices_are_marked_after_a_prefix() {
        let notice = "[tamis: 3 of 5 lines left out]";
        for (page, text) in [
            (format!("<h2>{notice}</h2>"), format!("## | {notice}")),
            (format!("<blockquote>{notice}</blockquote>"), format!("> | {notice}")),
            (format!("<ul><li>{notice}</ul>"), format!("- | {notice}")),
            (format!("<ol><li>a<br>{notice}</ol>"), format!("1. a\n   {notice}")),
            (
                format!("<table><tr><td>a<td>{notice}</table>"),
                format!("| a | \\| {notice} |\n| --- | --- |"),
            ),
            // The rest of the text is marked later.
            (format!("<p>{notice}</p>"), notice.to_owned()),
        ] {
            let mut reader = Reader::new(Strip::new(Keep::Content, true));
            reader.push(&page);
            let mut strip = reader.end();
            strip.render().finish();
            assert_eq!(strip.render().take(), text, "{page}");
        }
    }

    #[test]
    fn an_ordinary_page_is_searched() {
        let words = "Tides &amp; harbours:&nbsp;50\u{a0}m \u{b7} a paragraph. ";
        let prose = words.repeat(8);
        for (part, count) in [
            (format!("<p>{prose}</p>"), 1_500),
            (format!("{prose}<br>"), 1_500),
            (format!("<pre>{}</pre>", prose.repeat(100)), 2),
            (format!("<tr><td>{words}</td><td>x</td></tr>"), 800),
        ] {
            assert!(!is_over("<h1>Tides</h1>", &part, count), "{part}");
        }
    }
}
