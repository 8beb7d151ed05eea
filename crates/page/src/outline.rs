//! The blocks of a page: how they are nested, how many words they have, and what their names say.
//!
//! [`strip`](super::strip) adds a block for every element that it writes, except those within a line, and the blocks have the
//! numbers of these elements. [`choose`](super::choose) decides which blocks are kept. The number of blocks is that of the
//! elements of the page, which is bounded.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::elements::is_byline;
use super::panels::is_tab;
use super::tags::Tag;

/// The attribute with the number of a block in the rewritten page.
pub(super) const NUMBER: &str = "data-n";

/// A block of a page.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The number of the block around it. It is smaller than its own, except that of the page itself.
    pub(super) parent: usize,
    /// The element and its first class. Elements of one kind, such as posts, have the same.
    pub(super) kind: u64,
    pub(super) has_class: bool,
    /// The element and all its classes.
    pub(super) names: u64,
    pub(super) role: Role,
    /// Its class or its identifier is that of something outside the main part.
    pub(super) is_outside: bool,
    /// It is one of several of its kind by its element.
    pub(super) is_item: bool,
    /// It is a row or a cell of a table, or a group of rows.
    pub(super) is_cell: bool,
    pub(super) is_form: bool,
    /// It has a field of a form for text or a choice.
    pub(super) has_field: bool,
    /// Its class is that of a title, or of the author of a comment, which are often links.
    pub(super) is_title: bool,
    /// It is a button outside of headings, and not a tab.
    pub(super) is_control: bool,
    /// The hashes of its identifier, of that of the element that it controls, and of that of the element that labels it.
    pub(super) id: Option<u64>,
    pub(super) controls: Option<u64>,
    pub(super) labelled_by: Option<u64>,
    /// Its class is that of what a reader can do.
    pub(super) is_action: bool,
    /// Its class or its identifier is that of the comments below an article.
    pub(super) is_comments: bool,
    /// Its words, and its letters and digits, without those of the blocks in it.
    pub(super) words: u64,
    pub(super) letters: u64,
    /// The letters and digits that are in links.
    pub(super) linked: u64,
}

/// The meaning of an element for the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Other,
    /// The main part, according to the page.
    Main,
    Article,
    /// A heading and its level.
    Heading(u8),
    /// A list, or another element that is often navigation if it has links.
    List,
    /// A paragraph, an item, or code.
    Text,
}

/// The blocks of a page, in order.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) blocks: Vec<Block>,
    /// The open blocks.
    open: Vec<usize>,
    /// The number of open forms.
    forms: usize,
    /// A link is open.
    in_link: bool,
    in_word: bool,
    /// The page says that it is an article.
    pub(super) is_article: bool,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            blocks: vec![Block::default()],
            open: Vec::new(),
            forms: 0,
            in_link: false,
            in_word: false,
            is_article: false,
        }
    }
}

impl Outline {
    /// Begins an element that is written. Returns the number of its block, if it is one.
    pub(super) fn start(&mut self, tag: &Tag<'_>, class: &str, id: &str) -> Option<usize> {
        self.in_word = false;
        // A link ends where the next one begins. Without an address, it is a target, and in a heading, it may lead to itself.
        if tag.name == "a" {
            let is_own = |href: &str| href.trim_start().starts_with('#') && self.in_heading();
            self.in_link = tag.get("href").is_some_and(|href| !is_own(&href));
        }
        if is_within_line(tag.name) {
            return None;
        }
        self.forms += usize::from(tag.name == "form");
        let parent = self.innermost();
        let first = class.split_ascii_whitespace().map(stem).find(|stem| !stem.is_empty());
        let mut kind = DefaultHasher::new();
        tag.name.hash(&mut kind);
        first.hash(&mut kind);
        let mut names = DefaultHasher::new();
        tag.name.hash(&mut names);
        class.split_ascii_whitespace().map(stem).for_each(|stem| stem.hash(&mut names));
        let is = |name: &str, value: &str| {
            tag.get(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
        };
        let role = match tag.name {
            "main" => Role::Main,
            _ if is("role", "main") => Role::Main,
            "article" => Role::Article,
            _ if is("itemprop", "articleBody") => Role::Article,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                Role::Heading(tag.name.as_bytes().last().map_or(1, |digit| digit - b'0'))
            }
            "ul" | "ol" | "table" | "form" | "dl" => Role::List,
            "p" | "pre" | "blockquote" | "li" | "dt" | "dd" | "td" | "th" | "tr" | "tbody" => {
                Role::Text
            }
            _ => Role::Other,
        };
        self.blocks.push(Block {
            parent,
            kind: kind.finish(),
            names: names.finish(),
            has_class: first.is_some(),
            role,
            is_outside: has_word(class, OUTSIDE) || has_word(id, OUTSIDE),
            is_action: has_word(class, ACTIONS),
            is_item: matches!(tag.name, "article" | "li"),
            is_cell: matches!(tag.name, "tbody" | "tr" | "td" | "th"),
            is_form: tag.name == "form",
            is_control: tag.name == "button" && !self.in_heading() && !is_tab(tag),
            id: hash_of(id),
            controls: tag.get("aria-controls").and_then(|id| hash_of(&id)),
            labelled_by: tag.get("aria-labelledby").and_then(|id| hash_of(&id)),
            is_title: class.split_ascii_whitespace().any(is_title) || is_byline(tag),
            is_comments: has_word(class, COMMENTS) || has_word(id, COMMENTS),
            ..Block::default()
        });
        self.open.push(self.blocks.len() - 1);
        Some(self.blocks.len() - 1)
    }

    fn in_heading(&self) -> bool {
        let innermost = self.blocks.get(self.innermost());
        innermost.is_some_and(|block| matches!(block.role, Role::Heading(_)))
    }

    /// Returns the number of the innermost open block.
    pub(super) fn innermost(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    /// Ends an element that was started; `is_block`: it has a number.
    pub(super) fn end(&mut self, name: &str, is_block: bool) {
        self.in_link &= name != "a";
        if is_block {
            self.forms = self.forms.saturating_sub(usize::from(name == "form"));
            self.open.pop();
            self.in_word = false;
        }
    }

    /// Adds a field to the innermost block. A form without one, such as Reddit's around each comment, is a part like any other,
    /// and a field outside of forms may be a task in a list.
    pub(super) fn field(&mut self, tag: &Tag<'_>) {
        let kind = tag.get("type").unwrap_or_default().to_ascii_lowercase();
        let is_field = match tag.name {
            "textarea" | "select" => true,
            "input" => !matches!(
                kind.as_str(),
                "hidden" | "submit" | "button" | "image" | "reset" | "checkbox" | "radio"
            ),
            _ => false,
        };
        let innermost = self.innermost();
        if let (true, Some(block)) = (is_field && self.forms > 0, self.blocks.get_mut(innermost)) {
            block.has_field = true;
        }
    }

    /// Adds text to the innermost block. Returns the number of the block if it is the first text in it.
    pub(super) fn text(&mut self, text: &str) -> Option<usize> {
        let last = self.open.last().copied().unwrap_or(0);
        let block = self.blocks.get_mut(last)?;
        let had = block.letters;
        for char in text.chars() {
            if !char.is_alphanumeric() {
                self.in_word = false;
                continue;
            }
            // Scripts without spaces have about one word for each character.
            block.words += u64::from(!self.in_word || char >= '\u{2e80}');
            self.in_word = true;
            block.letters += 1;
            block.linked += u64::from(self.in_link);
        }
        (had == 0 && block.letters > 0 && last > 0).then_some(last)
    }
}

/// Returns the hash of the first identifier of a list.
fn hash_of(ids: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    ids.split_ascii_whitespace().next()?.hash(&mut hasher);
    Some(hasher.finish())
}

/// Returns a class without its number, or an empty text if it only says where the element is among its siblings.
fn stem(class: &str) -> &str {
    let stem = class.trim_end_matches(|char: char| char.is_ascii_digit() || "-_".contains(char));
    match stem {
        "odd" | "even" | "first" | "last" | "active" | "alt" | "new" | "hidden" | "visible" => "",
        _ => stem,
    }
}

/// Whether a class is that of a title: `title`, `entry-title`, `storyHeadline`.
fn is_title(class: &str) -> bool {
    ["title", "headline", "subject"].iter().any(|end| {
        let from = class.len().checked_sub(end.len());
        from.and_then(|from| class.get(from..)).is_some_and(|last| last.eq_ignore_ascii_case(end))
    })
}

/// Whether an element is part of a line of text.
fn is_within_line(name: &str) -> bool {
    matches!(
        name,
        "a" | "abbr"
            | "acronym"
            | "b"
            | "bdi"
            | "bdo"
            | "big"
            | "br"
            | "cite"
            | "code"
            | "data"
            | "del"
            | "dfn"
            | "em"
            | "font"
            | "i"
            | "img"
            | "ins"
            | "kbd"
            | "label"
            | "mark"
            | "nobr"
            | "picture"
            | "q"
            | "rp"
            | "rt"
            | "ruby"
            | "s"
            | "samp"
            | "small"
            | "source"
            | "span"
            | "strike"
            | "strong"
            | "sub"
            | "sup"
            | "time"
            | "tt"
            | "u"
            | "var"
            | "wbr"
            | "html"
            | "head"
            | "meta"
            | "title"
    )
}

/// Words in classes and identifiers of parts that are outside the main part of a page.
const OUTSIDE: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "adsense",
    "advertising",
    "sponsor",
    "sponsored",
    "promo",
    "promoted",
    "promotion",
    "share",
    "sharing",
    "shares",
    "social",
    "sharebar",
    "sharedaddy",
    "sharethis",
    "addthis",
    "addtoany",
    "related",
    "relatedposts",
    "recirc",
    "recommended",
    "recommendation",
    "recommendations",
    "newsletter",
    "subscribe",
    "subscription",
    "signup",
    "sidebar",
    "breadcrumb",
    "breadcrumbs",
    "pagination",
    "pager",
    "paginator",
    "cookie",
    "consent",
    "gdpr",
    "popup",
    "modal",
    "outbrain",
    "taboola",
    "toolbar",
    "menu",
    "nav",
    "navbar",
    "navigation",
    "skip",
    "trending",
    "mostread",
    "popular",
    "masthead",
    "footer",
    "disqus",
    "paywall",
    "teaser",
    "teasers",
    "marketing",
    "login",
    "signin",
    "print",
    "donate",
    "feedback",
    "upsell",
    "editsection",
    "jumplinks",
    // The controls of players for videos.
    "vjs",
    "mejs",
    "plyr",
    "jwcontrols",
    "yvp",
    "playlist",
];

/// Words in classes of links with which a reader does something.
const ACTIONS: &[&str] = &[
    "reply",
    "flag",
    "report",
    "permalink",
    "actions",
    "action",
    "buttons",
    "button",
    "vote",
    "votes",
    "toolbar",
];

/// Words in those of the comments below an article.
const COMMENTS: &[&str] = &["comments", "comment", "respond", "fbcommentsmodule"];

/// Whether one of the words of a class or an identifier is in a list.
fn has_word(names: &str, list: &[&str]) -> bool {
    names.split_ascii_whitespace().any(|name| {
        let mut from = 0;
        let mut before = ' ';
        for (at, char) in name.char_indices().chain([(name.len(), '-')]) {
            let ends = !char.is_ascii_alphanumeric()
                || (char.is_ascii_uppercase() && before.is_ascii_lowercase());
            if ends {
                let word = name.get(from..at).unwrap_or_default();
                if list.iter().any(|listed| listed.eq_ignore_ascii_case(word)) {
                    return true;
                }
                from = if char.is_ascii_alphanumeric() { at } else { at + char.len_utf8() };
            }
            before = char;
        }
        false
    })
}
