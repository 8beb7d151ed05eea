//! Removes the parts of a page that are not content, and writes the rest as text, and as HTML that a parser can read in
//! bounded time.
//!
//! Decisions depend on elements and their attributes. The HTML is rewritten from the parsed tags: every element is
//! closed, none is deeper than [`ARTICLE_DEPTH`](super::ARTICLE_DEPTH), and the nesting of formatting elements is
//! limited, because parsers repeat them in every paragraph in which they are open. A page that exceeds these limits, or
//! has too many characters that a serializer escapes, is not written as HTML at all.

use tamis_text::controls::Controls;

use super::choose::Keeps;
use super::data::{Data, DataSource};
use super::elements::{
    ATTRIBUTES, has_letters, is_block, is_byline, is_edit_link, is_in_head, is_label, is_note,
    is_ornament, is_plain, is_shadow, is_style, says_article, written_name,
};
use super::escapes::{Escapes, is_in_table};
use super::formula::{self, Formula};
use super::outline::{NUMBER, Outline};
use super::panels::{Panels, is_disclosure, is_tab};
use super::references;
use super::render::Render;
use super::segments::Segments;
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
    /// The blocks of the rewritten page.
    outline: Outline,
    /// The formula that is open, and its level.
    formula: Option<(Formula, usize)>,
    /// Data in scripts, for a page without text.
    data: Data,
    /// The level of the outermost element that hides its text.
    hidden: Option<usize>,
    /// The number of words that are not shown.
    hidden_words: u64,
    /// The number of words that are shown.
    shown_words: u64,
    segments: Segments,
    /// The place in a sequence of a terminal. A block ends it.
    controls: Controls,
    /// The blocks of the page that are kept, by their numbers, when it is read again.
    chosen: Vec<Keeps>,
    /// The open blocks of that page whose own text is dropped or kept, with their levels.
    own: Vec<(usize, bool)>,
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
    /// The level of the open heading, summary or term.
    in_label: Option<usize>,
    /// It has text.
    is_labelled: bool,
    /// Hidden elements that a reader can open.
    panels: Panels,
    /// The number of open quotations.
    quotes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Its tags were written and count towards the depth.
    Written {
        main: bool,
        style: bool,
        unseen: u8,
        in_table: bool,
        block: bool,
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

    /// Reads a page again that was written as HTML, with the blocks that were chosen.
    pub(super) fn of_chosen(chosen: Vec<Keeps>, markdown: bool) -> Self {
        Self { chosen, ..Self::new(Keep::All, markdown) }
    }

    /// Finds the places of streamed parts, when the page has ended.
    pub(super) fn settle(&mut self) {
        let Some(html) = &self.html else { return };
        let unplaced = self.segments.settle(html.len(), &mut self.outline.blocks);
        self.shown_words = self.shown_words.saturating_sub(unplaced.words);
        self.hidden_words += unplaced.hidden;
        self.hid |= unplaced.hidden > 0;
    }

    /// Whether the text is in another order than it arrived, or less.
    pub(super) fn has_parts(&self) -> bool {
        self.segments.has_parts()
    }

    /// Returns the blocks of the page as written.
    pub(super) fn outline(&mut self) -> Outline {
        std::mem::take(&mut self.outline)
    }

    pub(super) fn render(&mut self) -> &mut Render {
        &mut self.render
    }

    /// Returns the page as HTML, if it is small enough for a parser.
    pub(super) fn html(&mut self) -> Option<String> {
        self.html.take().map(|html| self.segments.placed(html))
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
            return self.keeps(tag) == Some(Keeps::Nothing) || tag.name == "title";
        }
        match tag.name {
            "template" if is_shadow(tag) => return false,
            "script" | "style" | "template" | "svg" | "math" | "canvas" | "object" | "embed"
            | "iframe" | "audio" | "video" | "select" | "datalist" | "textarea" | "input"
            | "applet" | "link" => return true,
            "title" if self.in_body || !self.title.is_empty() => return true,
            _ if formula::is_repeated(tag) => return true,
            "img" if is_ornament(tag) => return true,
            "aside" if self.mains > 0 && is_note(tag) => return false,
            _ if self.keep == Keep::Text => return false,
            "button" if is_disclosure(tag) || is_tab(tag) => return false,
            // The question of an accordion, rather than a button that copies a heading.
            "button" if self.in_label.is_some() => return self.is_labelled,
            "a" | "span" if is_edit_link(tag) => return true,
            "footer" if self.quotes > 0 || is_byline(tag) => return false,
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
        // A script of the page puts it in its place.
        if self.segments.is_one(tag) {
            return Hides { whole: false, unseen: self.unseen };
        }
        let style = tag.get("style").map(|style| style::read(&references::decode(&style)));
        let style = style.unwrap_or_default();
        let is_hidden = tag.get("hidden").is_some() && !self.panels.can_be_opened(tag);
        let whole = style.hides || is_hidden;
        Hides { whole, unseen: (self.unseen & !style.seen) | style.unseen }
    }

    /// Returns what is kept of a block of a page that is read again.
    fn keeps(&self, tag: &Tag<'_>) -> Option<Keeps> {
        self.chosen.get(tag.get(NUMBER)?.parse::<usize>().ok()?).copied()
    }

    /// Writes a formula as text.
    fn formula_text(&mut self, formula: Formula) {
        if let Some(tex) = formula.finish() {
            let tex = tex.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            self.text(&tex);
        }
    }

    /// Ends a sequence of a terminal at a tag that separates texts.
    fn end_sequence(&mut self, name: &str) {
        if is_block(name) || matches!(name, "td" | "th" | "tr" | "br") {
            self.controls = Controls::default();
        }
    }

    /// Returns the text that is in the data of the page's scripts.
    pub(super) fn data(&mut self) -> (String, DataSource) {
        self.data.text_of()
    }

    /// Returns the numbers of words that are shown and that are hidden.
    pub(super) fn words(&self) -> (u64, u64) {
        (self.shown_words, self.hidden_words)
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

    /// Writes a start tag. Returns whether it begins a block.
    fn write_tag(&mut self, tag: &Tag<'_>) -> bool {
        if self.html.is_none() {
            return false;
        }
        self.nodes += 1;
        let mut block = None;
        if tag.has_content {
            let name = |name| tag.get(name).unwrap_or_default();
            block = self.outline.start(tag, &name("class"), &name("id"));
        }
        self.escapes.tag(tag.name);
        let mut written = format!("<{}", written_name(tag.name, self.in_label.is_some()));
        for name in ATTRIBUTES {
            // Long attributes are data, not names or addresses.
            if let Some(value) = tag.get(name).filter(|value| value.len() <= 2048) {
                written.push_str(&format!(" {name}=\"{}\"", value.replace('"', "&quot;")));
            }
        }
        if let Some(number) = block {
            written.push_str(&format!(" {NUMBER}=\"{number}\""));
        }
        self.write(&[&written, ">"]);
        block.is_some()
    }
}

impl Target for Strip {
    fn start(&mut self, tag: &Tag<'_>) {
        if self.removed.is_some() {
            if let Some((formula, _)) = &mut self.formula {
                formula.start(tag);
            }
            self.segments.start(tag, None, 0);
            if tag.has_content {
                self.levels.push(Level::Removed);
            }
            return;
        }
        self.in_body |= !is_in_head(tag.name);
        self.end_sequence(tag.name);
        let hides = self.hides(tag);
        // Where text is hidden, a description would be read by nobody but a program.
        let unseen_image = tag.name == "img" && hides.unseen != 0;
        // MediaWiki hides the source of a formula that it shows as an image.
        let is_source =
            hides.whole && tag.get("class").is_some_and(|class| class.contains("mwe-math-mathml"));
        self.hid |= (hides.whole && !is_source)
            || (unseen_image && tag.get("alt").is_some_and(|alt| has_letters(&alt)));
        if self.keep == Keep::All
            && tag.has_content
            && let Some(keeps) = self.keeps(tag)
        {
            self.own.push((self.levels.len(), keeps == Keeps::All));
        }
        self.data.start(tag, self.keep != Keep::All);
        if let Some(html) = &self.html {
            self.segments.start(tag, Some(html), self.outline.innermost());
        }
        let formula =
            if hides.whole || self.keep == Keep::All { None } else { Formula::begin(tag) };
        if let Some(formula) = formula {
            if tag.has_content {
                self.formula = Some((formula, self.levels.len()));
                self.removed = Some(self.levels.len());
                self.levels.push(Level::Removed);
            } else {
                self.formula_text(formula);
            }
            return;
        }
        if hides.whole || unseen_image || self.goes(tag) {
            self.outline.field(tag);
            if tag.has_content {
                self.hidden = (hides.whole && !is_source).then_some(self.levels.len());
                self.removed = Some(self.levels.len());
                self.levels.push(Level::Removed);
            }
            return;
        }
        if hides.unseen == 0 {
            self.panels.start(tag, self.levels.len());
        }
        // The first title counts: images in SVG have titles as well.
        self.in_title = tag.name == "title" && self.title.is_empty();
        self.outline.is_article |= says_article(tag);
        if tag.name == "h1" && self.heading.is_none() {
            self.heading = Some(String::new());
            self.in_heading = Some(self.levels.len());
        }
        if self.in_label.is_none() && tag.has_content && is_label(tag.name) {
            self.in_label = Some(self.levels.len());
            self.is_labelled = false;
        }
        self.quotes += usize::from(tag.name == "blockquote");
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
        if let Some(html) = self.html.as_deref().filter(|_| self.segments.is_one(tag)) {
            self.segments.begin(tag, html, self.levels.len(), self.outline.blocks.len());
        }
        let block = self.write_tag(tag);
        if tag.has_content {
            let in_table = std::mem::replace(&mut self.in_table, is_in_table(tag.name));
            self.levels.push(Level::Written { main, style, unseen, in_table, block });
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
        self.end_sequence(name);
        self.own.pop_if(|(open, _)| *open == self.levels.len());
        self.panels.end(self.levels.len());
        if self.in_heading == Some(self.levels.len()) {
            self.in_heading = None;
        }
        if self.in_label == Some(self.levels.len()) {
            self.in_label = None;
        }
        if name == "blockquote" && level != Some(Level::Removed) {
            self.quotes = self.quotes.saturating_sub(1);
        }
        match level {
            Some(Level::Written { main, style, unseen, in_table, block }) => {
                if self.html.is_some() {
                    self.outline.end(name, block);
                }
                self.unseen = unseen;
                self.in_table = in_table;
                self.escapes.tag(name);
                self.render.end(name);
                self.depth = self.depth.saturating_sub(1);
                self.mains -= usize::from(main);
                self.styles -= usize::from(style);
                self.write(&["</", written_name(name, self.in_label.is_some()), ">"]);
                if let Some(html) = &self.html {
                    self.segments.end(self.levels.len(), html.len(), self.outline.blocks.len());
                }
            }
            Some(Level::Bare { main, unseen }) => {
                self.unseen = unseen;
                self.render.end(name);
                self.mains -= usize::from(main);
            }
            Some(Level::Removed) | None => {
                let ends = self.removed == Some(self.levels.len());
                if ends {
                    (self.removed, self.hidden) = (None, None);
                    self.segments.end_script();
                    self.data.end();
                }
                match self.formula.take() {
                    Some((formula, _)) if ends => self.formula_text(formula),
                    Some((mut formula, level)) => {
                        formula.end(name);
                        self.formula = Some((formula, level));
                    }
                    None => {}
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.removed.is_some() {
            if let Some((formula, _)) = &mut self.formula {
                formula.text(text);
            }
            self.data.text(text);
            self.segments.text(text);
            if self.hidden.is_some() {
                self.hidden_words += text.split_whitespace().count() as u64;
            }
            return;
        }
        if self.own.last().is_some_and(|(_, kept)| !kept) {
            return;
        }
        if self.unseen != 0 {
            self.hid |= has_letters(text);
            self.hidden_words += text.split_whitespace().count() as u64;
            return;
        }
        // Controls are neither counted as text nor searched for an article.
        let text = &*references::without_controls(text, &mut self.controls);
        if !self.in_title {
            self.shown_words += text.split_whitespace().count() as u64;
        }
        if self.html.is_some() {
            self.escapes.text(text, self.in_table);
            let first = if self.in_title { None } else { self.outline.text(text) };
            // The search for an article may replace a block, but not the text in it.
            if let Some(number) = first {
                self.write(&[&format!("<span {NUMBER}=\"{number}\">"), text, "</span>"]);
            } else {
                self.write(&[text]);
            }
        }
        if self.in_title && self.keep != Keep::All {
            return add(&mut self.title, text);
        }
        if let (Some(heading), Some(_)) = (&mut self.heading, self.in_heading) {
            add(heading, text);
        }
        let has_letters = has_letters(text);
        self.text |= has_letters;
        self.is_labelled |= has_letters;
        if has_letters {
            self.panels.labelled();
        }
        self.render.text(text);
    }

    fn comment(&mut self, text: &str) {
        if self.removed.is_none() {
            self.segments.comment(text, self.html.as_deref());
        }
    }

    fn lost(&mut self) {
        self.html = None;
    }
}

/// A line of text.
fn plain(html: &str) -> String {
    let text = references::decode(html);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds text to a line, up to its maximum length.
fn add(line: &mut String, text: &str) {
    let room = TITLE.saturating_sub(line.len());
    line.extend(text.chars().take(room));
}

#[cfg(test)]
mod tests;
