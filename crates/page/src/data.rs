//! Text in the data of a page's scripts, for a page that a script would fill.
//!
//! Reads JSON-LD (`articleBody`, `text`, …) and the state of an application: any `application/json` (`__NEXT_DATA__`,
//! `__NUXT_DATA__`), what a script assigns to such a name (`window.__NUXT__=`, `window.__INITIAL_STATE__=`), and the rows that
//! React's server components push (`self.__next_f.push`). It is the last source of a text: it was not shown when the page was
//! loaded. The text of `<noscript>` comes before it.

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
/// With fewer words in JSON-LD, the state of the application is read too.
const FEW: usize = 40;
/// Bytes of a script that show whether it assigns data.
const DECIDED: usize = 128;

/// The data of a page's scripts.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The HTML that is shown without scripts.
    shown_without: String,
    linked: String,
    state: String,
    /// The rows of server components, without the calls that push them.
    rows: String,
    /// A script without a type of data.
    script: String,
    open: Kind,
}

/// Where the text of a page without much text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataSource {
    /// The page shows it where scripts are off.
    NoScript,
    /// The data of its scripts, possibly after the text of [`NoScript`](Self::NoScript).
    Scripts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Linked,
    State,
    NoScript,
    Script,
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
            "" | "text/javascript" | "module" if tag.get("src").is_none() => Kind::Script,
            _ => Kind::None,
        };
        // Documents are apart.
        self.linked.push('\n');
        self.state.push('\n');
    }

    pub(super) fn end(&mut self) {
        let open = std::mem::take(&mut self.open);
        let script = std::mem::take(&mut self.script);
        if open != Kind::Script {
            return;
        }
        match assigned(&script) {
            Some("__next_f") => {
                // `[1,"rows"]`: rows may be divided between two calls.
                for text in strings(&script, |_, _| true) {
                    push_bounded(&mut self.rows, &text);
                }
            }
            Some(_) => push_bounded(&mut self.state, &script),
            None => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let data = match self.open {
            Kind::None => return,
            Kind::Linked => &mut self.linked,
            Kind::State => &mut self.state,
            Kind::NoScript => &mut self.shown_without,
            Kind::Script => &mut self.script,
        };
        push_bounded(data, text);
        // Most scripts assign no data.
        if self.open == Kind::Script
            && self.script.len() > DECIDED
            && assigned(&self.script).is_none()
        {
            (self.open, self.script) = (Kind::None, String::new());
        }
    }

    /// Returns the text in the data, as paragraphs that may contain HTML, and its source.
    pub(super) fn text_of(&mut self) -> (String, DataSource) {
        let linked = strings(&self.linked, |name, _| SHOWN.contains(&name));
        let is_prose = |_: &str, text: &str| {
            text.len() >= PROSE.0
                && text.split_whitespace().nth(PROSE.1 - 1).is_some()
                && !text.trim_start().starts_with(['{', '['])
        };
        let words = |texts: &[String]| -> usize {
            texts.iter().map(|text| text.split_whitespace().count()).sum()
        };
        let mut found = linked;
        // A description of the site or of its owner is not the text of the page.
        if words(&found) < FEW {
            found.extend(strings(&self.state, is_prose));
            found.extend(row_texts(&self.rows, is_prose));
        }
        let mut seen = std::collections::HashSet::new();
        let mut html = std::mem::take(&mut self.shown_without);
        // That scripts are needed is said in a few words.
        if html.split_whitespace().nth(PROSE.1 + 4).is_none() {
            html.clear();
        }
        let source = match found.is_empty() && !html.is_empty() {
            true => DataSource::NoScript,
            false => DataSource::Scripts,
        };
        for text in found.into_iter().filter(|text| seen.insert(text.clone())) {
            html.push_str("<p>");
            html.push_str(&text.replace("\n\n", "<p>"));
            html.push_str("</p>\n");
        }
        (html, source)
    }
}

fn push_bounded(data: &mut String, text: &str) {
    if data.len() + text.len() <= BYTES {
        data.push_str(text);
    }
}

/// Returns the name to which a script assigns data, or whose `push` it calls: `__NUXT__` in `window.__NUXT__=…`.
fn assigned(script: &str) -> Option<&str> {
    let mut rest = script.trim_start_matches([' ', '\n', '\r', '\t', ';', '(']);
    for object in ["var ", "let ", "const ", "window.", "self.", "globalThis."] {
        rest = rest.strip_prefix(object).unwrap_or(rest);
    }
    for open in ["window[\"", "window['", "self[\""] {
        rest = rest.strip_prefix(open).unwrap_or(rest);
    }
    let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_')?;
    let (name, after) = rest.split_at(end);
    let after = after.trim_start_matches(['"', '\'', ']', ' ']);
    let is_data = after.starts_with('=') && !after.starts_with("==") || after.starts_with(".push(");
    (name.starts_with("__") && is_data).then_some(name)
}

/// Returns the strings in rows of server components: `2:["$","p",null,{"children":"…"}]`, or `3:T1f,` and that many bytes of
/// text.
fn row_texts(rows: &str, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = rows;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let text = rest.get(..end).unwrap_or_default().split_once(":T").and_then(|(id, text)| {
            let (length, _) = text.split_once(',')?;
            let is_id = id.len() < 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let length = usize::from_str_radix(length, 16).ok().filter(|_| is_id)?;
            let from = rest.split_once(',')?.0.len() + 1;
            Some((rest.get(from..from.checked_add(length)?)?, from + length))
        });
        if let Some((text, end)) = text {
            if wanted("", text) {
                found.push(text.to_owned());
            }
            rest = rest.get(end..).unwrap_or_default();
        } else {
            found.extend(strings(rest.get(..end).unwrap_or_default(), &wanted));
            rest = rest.get(end..).unwrap_or_default();
        }
    }
    found
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
