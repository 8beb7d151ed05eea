//! Text in the data of a page's scripts, for a page that a script would fill.
//!
//! Reads JSON-LD (`articleBody`, `text`, …) and the state of an application (`__NEXT_DATA__`, `__NUXT_DATA__`, any
//! `application/json`). It is the last source of a text: it was not shown when the page was loaded.

use super::tags::Tag;

/// The maximum size of all scripts with data in bytes. The rest is dropped.
const BYTES: usize = 1 << 20;
/// Names of members in JSON-LD whose text is shown by pages.
const SHOWN: [&str; 8] = [
    "headline",
    "name",
    "articleBody",
    "reviewBody",
    "text",
    "description",
    "recipeIngredient",
    "acceptedAnswer",
];
/// The minimum length of a text in the state of an application, in bytes, and of its number of words. Shorter ones are
/// labels and identifiers.
const PROSE: (usize, usize) = (60, 8);

/// The data of a page's scripts.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The HTML that is shown without scripts.
    shown_without: String,
    linked: String,
    state: String,
    open: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Linked,
    State,
    NoScript,
}

impl Data {
    /// An element begins that may be a script with data, or what is shown without scripts.
    pub(super) fn start(&mut self, tag: &Tag<'_>, reads: bool) {
        self.open = Kind::None;
        if tag.name == "noscript" && reads {
            self.open = Kind::NoScript;
            self.shown_without.push('\n');
        }
        if tag.name != "script" || !reads {
            return;
        }
        let kind = tag.get("type").unwrap_or_default().to_ascii_lowercase();
        self.open = match kind.split(';').next().unwrap_or_default().trim() {
            "application/ld+json" => Kind::Linked,
            "application/json" => Kind::State,
            _ => Kind::None,
        };
        // Documents are apart.
        self.linked.push('\n');
        self.state.push('\n');
    }

    pub(super) fn end(&mut self) {
        self.open = Kind::None;
    }

    pub(super) fn text(&mut self, text: &str) {
        let data = match self.open {
            Kind::None => return,
            Kind::Linked => &mut self.linked,
            Kind::State => &mut self.state,
            Kind::NoScript => &mut self.shown_without,
        };
        if data.len() + text.len() <= BYTES {
            data.push_str(text);
        }
    }

    /// Returns the text in the data, as paragraphs that may contain HTML.
    pub(super) fn text_of(&mut self) -> String {
        let linked = strings(&self.linked, |name, _| SHOWN.contains(&name));
        let is_prose = |_: &str, text: &str| {
            text.len() >= PROSE.0
                && text.split_whitespace().nth(PROSE.1 - 1).is_some()
                && !text.trim_start().starts_with(['{', '['])
        };
        let found = if linked.is_empty() { strings(&self.state, is_prose) } else { linked };
        let mut seen = std::collections::HashSet::new();
        let mut html = std::mem::take(&mut self.shown_without);
        // That scripts are needed is said in a few words.
        if html.split_whitespace().nth(PROSE.1 + 4).is_none() {
            html.clear();
        }
        for text in found.into_iter().filter(|text| seen.insert(text.clone())) {
            html.push_str("<p>");
            html.push_str(&text.replace("\n\n", "<p>"));
            html.push_str("</p>\n");
        }
        html
    }
}

/// Returns the strings in JSON that are wanted, given the name of the member and the text. Reads tokens only, so that data
/// that was cut off has its strings all the same.
fn strings(json: &str, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let (mut name, mut rest) = (String::new(), json);
    while let Some(at) = memchr::memchr(b'"', rest.as_bytes()) {
        rest = rest.get(at + 1..).unwrap_or_default();
        let mut end = 0;
        let bytes = rest.as_bytes();
        while let Some(next) =
            bytes.get(end..).and_then(|bytes| memchr::memchr2(b'"', b'\\', bytes))
        {
            end += next;
            if bytes.get(end) == Some(&b'"') {
                break;
            }
            end += 2;
        }
        let text = unescaped(rest.get(..end).unwrap_or_default());
        rest = rest.get(end.saturating_add(1).min(rest.len())..).unwrap_or_default();
        if rest.trim_start().starts_with(':') {
            name = text;
        } else if wanted(&name, &text) && !text.trim().is_empty() {
            found.push(text);
        }
    }
    found
}

/// Decodes the escape sequences of a JSON string.
fn unescaped(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let mut units = Vec::new();
        let mut after = escape;
        while let Some(unit) =
            after.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok())
        {
            units.push(unit);
            after = after.get(6..).unwrap_or_default();
        }
        if !units.is_empty() {
            text.push_str(&String::from_utf16_lossy(&units));
            rest = after;
            continue;
        }
        let mut chars = escape.chars();
        match chars.nth(1) {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r' | 'b' | 'f') | None => {}
            Some(char) => text.push(char),
        }
        rest = chars.as_str();
    }
    text.push_str(rest);
    text
}
