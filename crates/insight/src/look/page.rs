//! Writes trees as one self-contained page: a treemap to zoom into, and a table.
//!
//! The page has its style, its script and its data inline, and loads nothing. The data is JSON in which no `<` occurs, so
//! that no text of a document can end the element that contains it.

use std::collections::HashMap;
use std::fmt::Write as _;

use tamis_json::StringEncoder;
use tamis_json::sink::Sink;

use super::svg::escape;
use super::tree::{LookKind, LookTree};

const HTML: &str = include_str!("page/page.html");
/// The style of the page, for other pages that look like it.
pub const PAGE_STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The contents of a page.
///
/// ```
/// use tamis_insight::look::{Look, LookOptions, LookPage, to_page};
///
/// let mut look = Look::new(&LookOptions::new());
/// look.write(br#"{"</script>": 1}"#)?;
/// look.end()?;
/// let page = to_page(&LookPage::new("item.json", &look.into_tree()));
/// assert!(page.starts_with("<!doctype html>"));
/// assert_eq!(page.matches("</script>").count(), 2);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LookPage<'a> {
    title: &'a str,
    before: &'a LookTree,
    after: Option<&'a LookTree>,
    filter: Option<&'a FilterFigures>,
}

/// The figures of a filter, besides the trees.
#[derive(Clone, Debug, Default)]
pub struct FilterFigures {
    /// The name of the filter, or its rules.
    pub name: String,
    /// The effects of the rules, in the order of the legend.
    pub rules: Vec<RuleFigures>,
    /// The paths of the members that a select takes, by their keys in the output.
    pub sources: Vec<(String, String)>,
}

/// The effect of one rule.
#[derive(Clone, Debug, Default)]
pub struct RuleFigures {
    /// The rule, as it is written.
    pub rule: String,
    /// The bytes that it removes.
    pub bytes: u64,
    /// The paths at which it removes bytes, and how many.
    pub paths: Vec<(String, u64)>,
}

impl FilterFigures {
    /// Returns the figures of a filter that has one rule, by its name: it leaves out the bytes that `after` lacks at a path of
    /// `before`. Such a filter keeps the paths as they are, as those of chats and of commands do.
    ///
    /// ```
    /// use tamis_insight::look::{FilterFigures, LineLook};
    ///
    /// let tree = |text: &[u8]| {
    ///     let mut look = LineLook::new();
    ///     look.write(text);
    ///     look.into_tree()
    /// };
    /// let figures = FilterFigures::of_trees("cargo", &tree(b"Compiling a\nFAILED\n"), &tree(b"FAILED\n"));
    /// assert_eq!(figures.rules[0].paths, [("Compiling …".to_owned(), 12)]);
    /// ```
    #[must_use]
    pub fn of_trees(name: &str, before: &LookTree, after: &LookTree) -> Self {
        let kept: HashMap<String, u64> =
            after.nodes().map(|node| (node.path(), node.bytes())).collect();
        // The bytes of a leaf are its own.
        let leaves = before.nodes().filter(|node| node.bytes() == node.own_bytes());
        let removed = leaves.filter_map(|node| {
            let path = node.path();
            let bytes = node.bytes().saturating_sub(kept.get(&path).copied().unwrap_or(0));
            (bytes > 0 && node.parent().is_some()).then_some((path, bytes))
        });
        let paths: Vec<_> = removed.collect();
        let bytes = paths.iter().map(|(_, bytes)| bytes).sum();
        let rule = RuleFigures { rule: name.to_owned(), bytes, paths };
        let rules = if bytes > 0 { vec![rule] } else { Vec::new() };
        Self { name: name.to_owned(), rules, sources: Vec::new() }
    }
}

impl<'a> LookPage<'a> {
    /// Creates a page about a tree. The title is usually the name of the file.
    #[must_use]
    pub fn new(title: &'a str, before: &'a LookTree) -> Self {
        Self { title, before, after: None, filter: None }
    }

    /// Sets the tree of what remains after a filter. The page then switches between both.
    #[must_use]
    pub fn with_after(self, after: &'a LookTree) -> Self {
        Self { after: Some(after), ..self }
    }

    /// Sets the figures of the filter: the page names it, and shows which rule leaves out what.
    #[must_use]
    pub fn with_filter(self, filter: &'a FilterFigures) -> Self {
        Self { filter: Some(filter), ..self }
    }
}

/// Writes a page as HTML.
#[must_use]
pub fn to_page(page: &LookPage<'_>) -> String {
    let mut data = String::from("{\"title\":");
    string(&mut data, page.title);
    filter(&mut data, page.filter.unwrap_or(&FilterFigures::default()));
    data.push_str(",\"before\":");
    tree(&mut data, page.before);
    data.push_str(",\"after\":");
    match page.after {
        Some(after) => tree(&mut data, after),
        None => data.push_str("null"),
    }
    data.push('}');
    let mut html = String::with_capacity(HTML.len() + PAGE_STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = HTML;
    while let Some((before, after)) = rest.split_once("{{") {
        html.push_str(before);
        let Some((name, after)) = after.split_once("}}") else { break };
        match name {
            "title" => html.push_str(&escape(page.title)),
            "style" => html.push_str(PAGE_STYLE),
            "script" => html.push_str(SCRIPT),
            "data" => html.push_str(&data),
            _ => {}
        }
        rest = after;
    }
    html.push_str(rest);
    html
}

/// Writes the figures of a filter: its name, the rules with what they leave out, and where the members of a select come from.
fn filter(json: &mut String, filter: &FilterFigures) {
    json.push_str(",\"filter\":");
    string(json, &filter.name);
    json.push_str(",\"rules\":[");
    for (number, rule) in filter.rules.iter().enumerate() {
        json.push_str(if number > 0 { ",[" } else { "[" });
        string(json, &rule.rule);
        json.push_str(",[");
        for (number, (path, bytes)) in rule.paths.iter().enumerate() {
            json.push_str(if number > 0 { ",[" } else { "[" });
            string(json, path);
            _ = write!(json, ",{bytes}]");
        }
        _ = write!(json, "],{}]", rule.bytes);
    }
    json.push_str("],\"sources\":{");
    for (number, (key, path)) in filter.sources.iter().enumerate() {
        json.push_str(if number > 0 { "," } else { "" });
        string(json, key);
        json.push(':');
        string(json, path);
    }
    json.push('}');
}

/// Writes a tree: each node as its parent, step, count, bytes, own bytes, tokens and types.
fn tree(json: &mut String, tree: &LookTree) {
    let separator = if tree.kind() == LookKind::Json { "." } else { " / " };
    _ = write!(json, "{{\"exact\":{},\"separator\":\"{separator}\",\"nodes\":[", tree.is_exact());
    for (at, node) in tree.nodes().enumerate() {
        let parent = node.parent().map_or(0, |parent| parent.position());
        _ = write!(json, "{}[{parent},", if at > 0 { ",\n" } else { "\n" });
        string(json, node.step());
        let (count, bytes, own) = (node.count(), node.bytes(), node.own_bytes());
        let types = node.types().join(", ");
        _ = write!(json, ",{count},{bytes},{own},{},\"{types}\"]", node.tokens());
    }
    json.push_str("]}");
}

/// Writes a JSON string that is safe inside a `script` element.
fn string(json: &mut String, text: &str) {
    let mut encoded = Vec::with_capacity(text.len() + 2);
    encoded.push(b'"');
    StringEncoder::new(&mut encoded).write(text.as_bytes());
    encoded.push(b'"');
    let encoded = String::from_utf8_lossy(&encoded);
    // Neither `</script>` nor `<!--` can occur without it.
    json.push_str(&encoded.replace('<', "\\u003c"));
}
