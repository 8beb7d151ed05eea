//! kimbap's service manifests: `actions.NAME.response` with `type`, `extract`, `filter`, `text_filter` and `compact`
//! (seed: kimbap; SPEC §9.2).
//!
//! The tool of an action is `SERVICE.ACTION`; the service is the file's `name`. Other keys of the file and of an
//! action belong to kimbap and are ignored. Unknown keys of `response`, and of the maps in it, are errors: no output
//! may pass unfiltered because a rule was overlooked. A budget is given with each call there; the file has no key for
//! it.
//!
//! kimbap ignores `type` when it filters, and its own catalog relies on that. With `type: object` and a `select` that
//! finds nothing in the document itself, the array that an automatic root would choose is filtered.

use std::path::Path;

use serde::{Deserialize, Deserializer, de};

use super::building::{Building, Format};
use super::name::is_pattern;
use super::node::{Flaw, Node, Value};
use super::rule_place::inside;
use tamis::Spec;
use tamis::spec::{Compact, Root, Selection};
use tamis::text::TextSpec;

pub(super) const FORMAT: Format = Format {
    name: "kimbap",
    signs: "`actions:` with `response:`",
    recognises: |root| root.has("actions") && !root.has("kind"),
    read,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "response")]
struct Response {
    #[serde(rename = "type")]
    kind: Option<Kind>,
    extract: Option<String>,
    filter: Option<Filter>,
    text_filter: Option<TextSpec>,
    compact: Option<Compact>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
}

impl<'de> Deserialize<'de> for Kind {
    /// Compared without regard to case, as kimbap does.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.to_ascii_lowercase().as_str() {
            "object" => Ok(Self::Object),
            "array" => Ok(Self::Array),
            _ => Err(de::Error::unknown_variant(&text, &["object", "array"])),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "filter")]
struct Filter {
    select: Option<Selection>,
    exclude: Vec<String>,
    max_items: u64,
    drop_nulls: bool,
}

fn read(building: &mut Building<'_>, root: &Node) {
    let Some((at, actions)) = root.entry("actions") else { return };
    let Some(service) = service(building, root) else { return };
    let Some(actions) = actions.entries() else {
        let message =
            format!("`actions` must be a map from names to actions, not {}", actions.what());
        building.refuse(at.at.start, message);
        return;
    };
    for (key, action) in actions {
        let name = format!("{service}.{}", key.text);
        if is_pattern(&name) {
            let message = "names of services and actions are exact here; `*` and `?` are patterns only in tamis' own format";
            building.refuse_tool(&name, &Flaw::new(key.at.start, message));
            continue;
        }
        if action.entries().is_none() {
            let message = format!("an action must be a map, not {}", action.what());
            building.refuse_tool(&name, &Flaw::new(key.at.start, message));
            continue;
        }
        match rules(building, action) {
            Ok(spec) => building.add(name, key.at.start, &spec, |rule| {
                let response = action.get("response")?;
                inside(response, rule).or_else(|| response.get("filter")?.entry(rule))
            }),
            Err(flaw) => building.refuse_tool(&name, &flaw),
        }
    }
}

/// Returns the service: the file's `name`, or else the name of the file itself.
fn service(building: &mut Building<'_>, root: &Node) -> Option<String> {
    if let Some((key, node)) = root.entry("name") {
        return match node.as_text() {
            Some(name) if !name.is_empty() => Some(name.to_owned()),
            _ => {
                let message =
                    format!("`name` must be the name of the service, not {}", node.what());
                building.refuse(key.at.start, message);
                None
            }
        };
    }
    let file = Path::new(&**building.text.name());
    if file.extension().is_some()
        && let Some(stem) = file.file_stem().and_then(|stem| stem.to_str())
    {
        return Some(stem.to_owned());
    }
    building.refuse(
        root.at.start,
        "the key `name` is missing, and the text has no file name to derive it from",
    );
    None
}

/// Builds the spec of an action.
fn rules(building: &Building<'_>, action: &Node) -> Result<Spec, Flaw> {
    let Some((key, response)) = action.entry("response") else { return Ok(Spec::new()) };
    if response.entries().is_none() {
        let message = format!("`response` must be a map, not {}", response.what());
        return Err(Flaw::new(key.at.start, message));
    }
    if let Some((key, node)) = response.get("filter").and_then(|filter| filter.entry("select")) {
        let Value::Map(sources) = &node.value else {
            let message =
                format!("`select` must be a map from output keys to paths, not {}", node.what());
            return Err(Flaw::new(key.at.start, message));
        };
        for (key, source) in sources {
            if is_blank(&key.text) {
                return Err(Flaw::new(key.at.start, "select: an output key is blank"));
            }
            if source.as_text().is_some_and(is_blank) {
                return Err(Flaw::new(source.at.start, "select: a path is blank"));
            }
        }
    }
    let response: Response = response.read(building.text.text)?;
    let filter = response.filter.unwrap_or_default();
    let root = match response.kind {
        Some(Kind::Object) => Root::Object,
        Some(Kind::Array) | None => Root::Auto,
    };
    let mut spec = Spec::new().root(root).max_items(filter.max_items).drop_nulls(filter.drop_nulls);
    spec.extract = response.extract;
    spec.select = filter.select;
    spec.exclude = filter.exclude;
    spec.text_filter = response.text_filter;
    spec.compact = response.compact;
    spec.envelope = true;
    Ok(spec)
}

/// Whether a text consists of white space and is not empty. An empty text is reported like any other invalid path.
fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}
