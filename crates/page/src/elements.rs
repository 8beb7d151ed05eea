//! Facts about elements: which ones are blocks, what their attributes say, and which of them are written.

use tamis_text::controls::Controls;

use super::references;
use super::tags::Tag;

/// The maximum length in bytes of an address that is kept.
const ADDRESS: usize = 2 << 10;

/// The minimum number of words of an image's description.
const DESCRIPTION: usize = 4;

/// Attributes that matter: the purpose of an element, its text, or its address.
pub(super) const ATTRIBUTES: [&str; 22] = [
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
    "colspan",
    "rowspan",
    "value",
    "data-lang",
    "data-language",
];

/// Elements that a parser reopens in the next block if they are still open (HTML §13.2.4.3).
pub(super) fn is_style(name: &str) -> bool {
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

/// Whether an element says that the page is an article, so that comments are below it rather than its main part.
pub(super) fn says_article(tag: &Tag<'_>) -> bool {
    let property = tag.get("property").filter(|_| tag.name == "meta").unwrap_or_default();
    let kind = tag.get("itemtype").unwrap_or_default();
    property.starts_with("article:")
        || (property == "og:type" && tag.get("content").is_some_and(|kind| kind == "article"))
        || ["Article", "BlogPosting"].iter().any(|name| kind.ends_with(name))
}

/// Whether an element may be in the head of a page.
pub(super) fn is_in_head(name: &str) -> bool {
    matches!(
        name,
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
    )
}

/// Whether an element labels what follows it.
pub(super) fn is_label(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "summary" | "dt")
}

/// Whether an element is a link next to a heading: to itself, or to edit it.
///
/// Seen in MediaWiki, Sphinx, Docusaurus, VuePress and GitHub.
pub(super) fn is_edit_link(tag: &Tag<'_>) -> bool {
    const LINKS: [&str; 6] =
        ["mw-editsection", "headerlink", "hash-link", "header-anchor", "anchorjs-link", "anchor"];
    let class = tag.get("class").unwrap_or_default();
    class.split_ascii_whitespace().any(|name| LINKS.contains(&name))
}

/// Whether a footer has the author of a comment. Seen in the themes of WordPress, above the text of the comment.
pub(super) fn is_byline(tag: &Tag<'_>) -> bool {
    let class = tag.get("class").unwrap_or_default();
    class.split_ascii_whitespace().any(|name| matches!(name, "comment-meta" | "comment-author"))
}

/// Whether a template is shown: it is the content of a shadow root.
pub(super) fn is_shadow(tag: &Tag<'_>) -> bool {
    tag.get("shadowrootmode").or_else(|| tag.get("shadowroot")).is_some()
}

/// Whether an `aside` is a note in the text.
pub(super) fn is_note(tag: &Tag<'_>) -> bool {
    const NOTES: [&str; 11] = [
        "note",
        "tip",
        "warning",
        "caution",
        "danger",
        "important",
        "info",
        "admonition",
        "callout",
        "footnote",
        "footnotes",
    ];
    let role = tag.get("role").unwrap_or_default();
    let class = tag.get("class").unwrap_or_default();
    matches!(role.as_str(), "note" | "doc-footnote" | "doc-tip")
        || class
            .split(|char: char| !char.is_ascii_alphanumeric())
            .any(|word| NOTES.iter().any(|note| note.eq_ignore_ascii_case(word)))
}

/// Whether a name can be written: the names in a page may contain any character.
pub(super) fn is_plain(name: &str) -> bool {
    name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Elements that never occur in the cells of a table of data.
pub(super) fn is_layout(name: &str) -> bool {
    matches!(
        name,
        "table"
            | "ul"
            | "ol"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "pre"
            | "blockquote"
            | "article"
            | "section"
    )
}

pub(super) fn is_block(name: &str) -> bool {
    is_layout(name)
        || matches!(
            name,
            "p" | "div"
                | "main"
                | "header"
                | "footer"
                | "nav"
                | "aside"
                | "li"
                | "dl"
                | "dt"
                | "dd"
                | "thead"
                | "tbody"
                | "tfoot"
                | "caption"
                | "figure"
                | "figcaption"
                | "address"
                | "details"
                | "summary"
                | "fieldset"
                | "legend"
                | "form"
                | "hr"
                | "center"
                | "html"
                | "body"
                | "option"
                | "menu"
                | "dir"
                | "hgroup"
                | "search"
                | "dialog"
                | "noscript"
                | "title"
        )
}

/// Returns an address that leads elsewhere, or an empty text for a fragment, code or data.
pub(super) fn address(written: &str) -> String {
    let written = references::decode(written);
    let address = written.trim();
    let scheme = address.split(':').next().unwrap_or_default();
    let inert =
        ["javascript", "data", "vbscript"].iter().any(|name| name.eq_ignore_ascii_case(scheme));
    if address.starts_with('#') || inert || address.len() > ADDRESS {
        return String::new();
    }
    // These characters would end the address in Markdown.
    let mut safe = String::with_capacity(address.len());
    for char in address.chars() {
        match char {
            ' ' => safe.push_str("%20"),
            '(' => safe.push_str("%28"),
            ')' => safe.push_str("%29"),
            _ if char.is_control() => {}
            _ => safe.push(char),
        }
    }
    safe
}

/// Returns the text of an image where images are not shown, or `None` if it may be an ornament.
///
/// Signs, such as emojis in tables of what is supported, are text. Short descriptions are mostly those of logos and icons,
/// except in cells, which would be empty without them.
pub(super) fn image_text(alt: &str, in_cell: bool, in_link: bool) -> Option<String> {
    let alt = description(alt);
    let count = alt.chars().count();
    let is_name = alt.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    let is_emoji =
        (1..=8).contains(&count) && !alt.is_ascii() && !alt.contains(char::is_alphanumeric);
    let is_sign = is_emoji || is_name.is_some_and(|name| !name.is_empty() && !name.contains(' '));
    // Scripts without spaces have about one word for each character.
    let words =
        alt.split(' ').count().max(alt.chars().filter(|char| *char >= '\u{2e80}').count() / 2);
    if is_sign || (in_cell && !in_link && words < DESCRIPTION && count > 0) {
        Some(alt)
    } else {
        (!in_link && words >= DESCRIPTION).then(|| format!("[image: {alt}]"))
    }
}

/// Whether an image says of itself that it is an ornament, or is too small to be seen.
pub(super) fn is_ornament(tag: &Tag<'_>) -> bool {
    let is = |name: &str, values: &[&str]| {
        let value = tag.get(name).unwrap_or_default();
        let value = value.trim();
        values.iter().any(|known| known.eq_ignore_ascii_case(value))
    };
    let is_dot = |name| is(name, &["0", "1", "0px", "1px"]);
    is_dot("width")
        || is_dot("height")
        || is("role", &["presentation", "none"])
        || is("aria-hidden", &["true"])
}

/// Returns the description of an image as one line, without controls and the brackets of notices and links.
pub(super) fn description(alt: &str) -> String {
    let mut controls = Controls::default();
    let mut alt = references::decode(alt);
    alt.retain(|char| !controls.drops(char));
    let alt = alt.replace('[', "(").replace(']', ")");
    alt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the language that an element names for the code in it.
///
/// Classes: `language-rust` and `lang-sh` (HTML, Prism, highlight.js), `highlight-source-rust` (GitHub), `highlight-python`
/// (Sphinx), `sourceCode python` (Pandoc), `brush: js` (SyntaxHighlighter). Attributes: `data-lang` (Hugo, Jekyll) and
/// `data-language` (Shiki, Expressive Code).
pub(super) fn language(tag: &Tag<'_>) -> Option<String> {
    let class = tag.get("class").unwrap_or_default();
    let mut names = class.split_ascii_whitespace();
    let named = names.clone().find_map(|name| {
        let prefixes = ["language-", "lang-", "highlight-source-", "highlight-text-", "highlight-"];
        prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))
    });
    let mut after = |mark: &str| names.by_ref().skip_while(|name| *name != mark).nth(1);
    let mark = if class.contains("brush:") { "brush:" } else { "sourceCode" };
    let name = named.map(str::to_owned).or_else(|| after(mark).map(str::to_owned));
    let name = name.or_else(|| tag.get("data-lang")).or_else(|| tag.get("data-language"))?;
    let known =
        name.chars().take(20).filter(|char| char.is_ascii_alphanumeric() || "+-#".contains(*char));
    let known: String = known.collect();
    (!matches!(known.as_str(), "" | "default" | "none" | "notranslate" | "wrapper"))
        .then_some(known)
}

/// Returns the name with which an element is written. A parser would put the content of a template apart, and the search
/// for an article drops buttons.
pub(super) fn written_name(name: &str, in_label: bool) -> &str {
    match name {
        "button" if in_label => "span",
        "button" | "template" => "div",
        _ => name,
    }
}

/// Whether there are letters or digits outside character references.
pub(super) fn has_letters(text: &str) -> bool {
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
