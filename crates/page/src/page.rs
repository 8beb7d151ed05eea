//! A page, from its first byte to its text.
//!
//! Decides which text is used: the article, if one is found that has a good part of the page's prose; else the rest of
//! the body; else, after a second reading with [`Page::again`], everything that was visible to a person. Buffers the
//! stripped page as long as it is small enough to be searched for an article; the text of a larger page is written as
//! it arrives.

use super::LINE;
use super::article;
use super::choose::{Keeps, LeftOut, choose};
use super::data::DataSource;
use super::outline::{Block, Role};
use super::render::Render;
use super::strip::{Keep, Strip};
use super::tags::Reader;

/// The minimum share of the page's letters outside links that an article must have, in percent. With less than that,
/// the page is a list, a forum or a search result, and an article would be one entry of it.
const SHARE: u64 = 40;

/// An article of this many words needs only the next share: an article with many comments, or with other articles below it.
const LONG: u64 = 100;
const SHARE_OF_LONG: u64 = 10;
/// A page with fewer words shows so little that the data of its scripts are read.
const FEW: u64 = 40;
/// The minimum number of words in these data.
const FEW_IN_DATA: u64 = 8;
/// How many times more words must be hidden than shown, so that a notice says so.
const HIDDEN: u64 = 3;
/// Blocks that were left out elsewhere are marked if they have more words than this share of the text, in percent.
const MARKED: u64 = 10;

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

    /// Ends the page. Returns the rest of its text.
    pub fn finish(self) -> PageText {
        let Self { mut reader, markdown, keep, without } = self;
        reader.push(&without.map(|without| without.tail).unwrap_or_default());
        let mut strip = reader.end();
        strip.render().finish();
        strip.settle();
        let (shown, hidden) = strip.words();
        let data = strip.data();
        let hid = strip.hid();
        let mut page = if keep == Keep::Text {
            PageText::new(strip.render().take(), From::Page)
        } else {
            main_text(strip, markdown)
        };
        page.hidden = hid;
        if shown < FEW {
            add_data(&mut page, data, shown, markdown);
        }
        // Text of a page without any other is described by the caller.
        if shown > 0 && hidden >= FEW && hidden / HIDDEN > shown {
            let all = hidden + shown;
            page.notices
                .push(format!("{hidden} of {all} words of the page are hidden, and left out"));
        }
        page
    }
}

/// The rest of a page's text, and what is to be said about it.
#[derive(Debug)]
pub struct PageText {
    /// The rest of the text.
    pub text: String,
    /// Its source.
    pub from: From,
    /// Hidden text was removed.
    pub hidden: bool,
    /// Blocks that are not part of the main text. Navigation and hidden text are not counted.
    pub left_out: LeftOut,
    /// Notices for the reader of the text.
    pub notices: Vec<String>,
}

impl PageText {
    fn new(text: String, from: From) -> Self {
        Self { text, from, hidden: false, left_out: LeftOut::default(), notices: Vec::new() }
    }
}

/// Adds the text in the data of a page that shows few words.
fn add_data(page: &mut PageText, data: (String, DataSource), shown: u64, markdown: bool) {
    let (data, source) = data;
    let mut reader = Reader::new(Strip::new(Keep::Text, markdown));
    reader.push(&data);
    let mut strip = reader.end();
    strip.render().finish();
    let (words, _) = strip.words();
    if words < FEW_IN_DATA || words <= shown {
        return;
    }
    let text = strip.render().take();
    page.from = From::Page;
    page.text.truncate(page.text.trim_end().len());
    if !page.text.is_empty() {
        page.text.push_str("\n\n");
    }
    page.text.push_str(&text);
    let plural = |count| if count == 1 { "" } else { "s" };
    let shown = format!("the page shows {shown} word{}", plural(shown));
    page.notices.push(match source {
        DataSource::Scripts => format!("{shown}; {words} are from the data of its scripts"),
        DataSource::NoScript => {
            format!("{shown}; {words} are from its part for browsers without scripts")
        }
    });
}

/// Returns the main part of a page that was read.
fn main_text(mut strip: Strip, markdown: bool) -> PageText {
    let heading = strip.heading();
    let body = strip.render().take();
    let outline = strip.outline();
    let Some(html) = strip.html().filter(|_| strip.render().prose() > 0) else {
        return PageText::new(body, From::Body);
    };
    let body = if strip.has_parts() {
        chosen_text(&html, vec![Keeps::All; outline.blocks.len()], markdown)
    } else {
        body
    };
    let found = article::find(html.clone());
    let mut has = vec![false; outline.blocks.len()];
    for number in found.iter().flat_map(|found| &found.blocks) {
        if let Some(has) = has.get_mut(*number) {
            *has = true;
        }
    }
    let choice = choose(&outline, &has);
    if choice.share < SHARE && (choice.words < LONG || choice.share < SHARE_OF_LONG) {
        return PageText::new(body, From::Body);
    }
    let text = chosen_text(&html, choice.keep.clone(), markdown);
    if text.trim().is_empty() {
        return PageText::new(body, From::Body);
    }
    // The page's heading, if the text has it.
    let is_first = |block: &Block| block.role == Role::Heading(1);
    let heading_block = outline.blocks.iter().position(is_first);
    let heading_block =
        heading_block.filter(|number| choice.keep.get(*number) == Some(&Keeps::All));
    let found = found.map(|found| found.title).unwrap_or_default();
    // A title often includes the name of the site, or the heading that number of a post.
    let words = |text: &str| -> Vec<String> {
        let words =
            text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let of_title = words(&found);
    let of_heading = words(&heading);
    // A heading of one word that was left out may be that of a part of the site.
    let named = (heading_block.is_some() || of_heading.len() * 2 >= of_title.len())
        && !of_heading.is_empty()
        && of_heading.iter().all(|word| of_title.contains(word));
    let title = if named { heading } else { found };
    let first = text.lines().next().unwrap_or_default();
    let begins = words(first.split("](").next().unwrap_or_default());
    let is_heading = first.starts_with('#') || !markdown;
    let says_it =
        is_heading && !begins.is_empty() && begins.iter().all(|word| of_title.contains(word));
    let says_it = says_it || first.starts_with("# ");
    let title = if says_it { String::new() } else { title };
    let mut keep = choice.keep;
    let repeated = heading_block.filter(|_| named && !says_it).and_then(|at| keep.get_mut(at));
    let text = if let Some(heading) = repeated {
        // The heading becomes the first line, and is not repeated below a date or an author.
        *heading = Keeps::Nothing;
        chosen_text(&html, keep, markdown)
    } else {
        text
    };
    let mut page = PageText::new(titled(&title, text, markdown), From::Article);
    page.left_out = choice.left_out;
    if choice.inside.words > 0 || choice.left_out.words * 100 > choice.words * MARKED {
        let LeftOut { blocks, words } = page.left_out;
        let plural = |count| if count == 1 { "" } else { "s" };
        page.notices.push(format!(
            "{blocks} block{} ({words} word{}) outside the main text left out",
            plural(blocks),
            plural(words)
        ));
    }
    page
}

/// Returns the text of the blocks of a page that are kept.
fn chosen_text(html: &str, keep: Vec<Keeps>, markdown: bool) -> String {
    let mut reader = Reader::new(Strip::of_chosen(keep, markdown));
    reader.push(html);
    let mut article = reader.end();
    let render: &mut Render = article.render();
    render.finish();
    render.take()
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
