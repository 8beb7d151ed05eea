//! The types of reports for Python and Node: written from the structs of the library and their documentation.
//!
//! `TAMIS_BLESS=1 cargo test -p tamis-testkit --features full --test engine report_types` writes them again. Read the
//! difference before you commit it.

use std::fmt::Write;
use std::path::Path;

use tamis_testkit::{cases, paths};

/// The structs, each after those that it refers to, and their names in the packages.
const TYPES: [(&str, &str); 12] = [
    ("FailureReport", "FailureReport"),
    ("Factored", "Factored"),
    ("InnerReport", "InnerReport"),
    ("LeftOut", "LeftOut"),
    ("CutPlace", "CutPlace"),
    ("KeptParts", "KeptParts"),
    ("BudgetCuts", "BudgetCuts"),
    ("Report", "Report"),
    ("TextReport", "TextReport"),
    ("CommandReport", "OutputReport"),
    ("PrunedTool", "PrunedTool"),
    ("PruneReport", "PruneReport"),
];
/// Fields whose documentation refers to items of the library, and what the packages have instead.
const REWORDED: [(&str, &str, &str); 5] = [
    ("FailureReport", "kind", "The kind of the error."),
    ("FailureReport", "offset", "The byte of the input at which the run failed."),
    ("FailureReport", "path", "The JSON Pointer of the value in which the run failed."),
    (
        "FailureReport",
        "message",
        "The message, followed by the name of the limit or by the error of the operating system, if there is one.",
    ),
    (
        "Report",
        "redacted",
        "Number of replaced values, by kind: the kinds of the guide, and `path` for values at the paths of `redact`.",
    ),
];
/// The longest line.
const WIDTH: usize = 120;

/// A struct that is serialised.
struct Described {
    name: &'static str,
    doc: String,
    fields: Vec<Field>,
}

struct Field {
    key: String,
    doc: String,
    kind: Kind,
    /// The key may be left out.
    is_optional: bool,
}

enum Kind {
    Number,
    Bool,
    Text,
    Words(Vec<String>),
    List(Box<Kind>),
    Map(Box<Kind>),
    Struct(&'static str),
}

#[test]
fn python_and_node_have_the_types_of_the_library() {
    let sources = sources();
    let types = TYPES.map(|(rust, name)| described(&sources, rust, name));
    for (path, text) in
        [("python/tamis/_reports.py", python(&types)), ("node/reports.d.ts", node(&types))]
    {
        if cases::bless() {
            std::fs::write(paths::path(path), text).unwrap();
        } else {
            assert!(
                paths::text(path) == text,
                "{path} is not what the structs say; set TAMIS_BLESS=1"
            );
        }
    }
}

#[test]
fn python_and_node_have_the_keys_of_rules() {
    let unknown = serde_json::from_str::<tamis::Spec>("{\"qqqqqqqqqqqq\": 1}").unwrap_err();
    let unknown = unknown.to_string();
    let (_, keys) = unknown.split_once("expected one of ").unwrap();
    let keys: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
    assert!(keys.len() > 30, "{unknown}");
    let [python, node] = ["python/tamis/_types.py", "node/index.d.ts"].map(paths::text);
    let (_, python) = python.split_once("Rules = TypedDict(").unwrap();
    let (python, _) = python.split_once("total=False").unwrap();
    let (_, node) = node.split_once("export interface Rules {").unwrap();
    let (node, _) = node.split_once("\n}").unwrap();
    // `test` is only a key of branches.
    for key in keys.into_iter().filter(|key| *key != "test") {
        assert!(python.contains(&format!("\"{key}\": ")), "Python: {key}");
        assert!(node.contains(&format!("  {key}?: ")), "Node: {key}");
    }
}

#[test]
fn the_help_topic_has_every_key() {
    let topic = paths::text("crates/cli/src/topics/reports.md");
    let report = described(&sources(), "Report", "Report");
    assert!(report.fields.len() > 30);
    let missing: Vec<&str> = report
        .fields
        .iter()
        .map(|field| field.key.as_str())
        .filter(|key| !topic.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "reports.md: {missing:?}");
}

/// Returns the text of the files that may have the structs.
fn sources() -> String {
    fn read(path: &Path, text: &mut String) {
        if path.is_dir() {
            let mut entries: Vec<_> =
                std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            entries.sort();
            entries.iter().for_each(|entry| read(entry, text));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    let mut text = String::new();
    for folder in
        ["src", "crates/factor/src", "crates/text/src", "crates/command/src", "crates/chat/src"]
    {
        read(&paths::path(folder), &mut text);
    }
    text
}

/// Returns the lines of an item, without its braces, and the lines above it: documentation and attributes.
fn item<'a>(sources: &'a str, head: &str) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    let (before, rest) = sources.split_once(&format!("\n{head} {{\n"))?;
    let (body, _) = rest.split_once("\n}")?;
    let above: Vec<&str> =
        before.lines().rev().take_while(|line| line.starts_with(['/', '#'])).collect();
    Some((above.into_iter().rev().collect(), body.lines().map(str::trim).collect()))
}

fn described(sources: &str, rust: &str, name: &'static str) -> Described {
    let (above, body) = item(sources, &format!("pub struct {rust}")).expect(rust);
    let (mut doc, mut attributes, mut fields) = (Vec::new(), String::new(), Vec::new());
    for line in body {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
        } else if line.starts_with('#') {
            attributes.push_str(line);
        } else {
            let (doc, attributes) = (std::mem::take(&mut doc), std::mem::take(&mut attributes));
            let Some(field) = line.strip_prefix("pub ") else { continue };
            if attributes.contains("serde(skip)") {
                continue;
            }
            let (own, kind) = field.trim_end_matches(',').split_once(": ").expect(field);
            let renamed =
                attributes.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
            let reworded = REWORDED.iter().find(|(of, field, _)| (*of, *field) == (rust, own));
            fields.push(Field {
                key: renamed.map_or(own, |(key, _)| key).to_owned(),
                doc: reworded
                    .map_or_else(|| plain(&doc.join(" ")), |(_, _, doc)| (*doc).to_owned()),
                kind: kind_of(sources, kind),
                is_optional: attributes.contains("skip_serializing_if"),
            });
        }
    }
    let doc: Vec<&str> = above.iter().map_while(|line| line.strip_prefix("/// ")).collect();
    let doc = plain(&doc.join(" "));
    let first = doc.split_once(". ").map_or_else(|| doc.clone(), |(first, _)| format!("{first}."));
    Described { name, doc: first, fields }
}

/// Returns documentation without links: of [`Spec::redact`](…) the name `redact` is left.
fn plain(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((name, after)) = link.split_once(']') else { break };
        text.push_str(before);
        let name = if name.starts_with('`') {
            format!("`{}`", name.trim_matches('`').rsplit("::").next().unwrap_or(name))
        } else {
            name.to_owned()
        };
        // Brackets of a path, as in `when[0]`, are not a link.
        match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            // A link in parentheses is for readers of the library.
            Some((_, after)) if text.ends_with(" (") && after.starts_with(')') => {
                text.truncate(text.len() - 2);
                rest = after.get(1..).unwrap_or_default();
            }
            Some((_, after)) => {
                text.push_str(&name);
                rest = after;
            }
            None => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

fn kind_of(sources: &str, rust: &str) -> Kind {
    let inside = |outer: &str| rust.strip_prefix(outer)?.strip_suffix('>');
    if let Some(some) = inside("Option<") {
        return kind_of(sources, some);
    }
    if let Some(element) = inside("Vec<") {
        return Kind::List(Box::new(kind_of(sources, element)));
    }
    if let Some(value) = inside("BTreeMap<String, ") {
        return Kind::Map(Box::new(kind_of(sources, value)));
    }
    if let Some((_, name)) = TYPES.iter().find(|(own, _)| *own == rust) {
        return Kind::Struct(name);
    }
    match rust {
        "bool" => Kind::Bool,
        "u64" | "i64" | "i32" => Kind::Number,
        // A pair of numbers is written as a list.
        "(u64, u64)" => Kind::List(Box::new(Kind::Number)),
        _ => words(sources, rust).map_or(Kind::Text, Kind::Words),
    }
}

/// Returns the words of an enum that is serialised by the names of its variants.
fn words(sources: &str, rust: &str) -> Option<Vec<String>> {
    let (above, body) = item(sources, &format!("pub enum {rust}"))?;
    above.iter().find(|line| line.contains("rename_all = \"snake_case\""))?;
    let variants = body.iter().filter(|line| !line.starts_with(['/', '#']));
    variants.map(|line| snake_case(line.strip_suffix(',')?)).collect()
}

fn snake_case(variant: &str) -> Option<String> {
    let mut word = String::new();
    for char in variant.chars() {
        if !char.is_ascii_alphanumeric() {
            return None;
        }
        if char.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(char.to_ascii_lowercase());
    }
    Some(word)
}

/// Writes a text with lines of at most [`WIDTH`] characters.
fn wrap(out: &mut String, first: &str, next: &str, text: &str, end: &str) {
    let mut line = first.to_owned();
    let mut words = text.split(' ').peekable();
    let mut is_begun = false;
    while let Some(word) = words.next() {
        let end = if words.peek().is_none() { end } else { "" };
        let length =
            line.chars().count() + word.chars().count() + end.len() + usize::from(is_begun);
        if is_begun && length > WIDTH {
            writeln!(out, "{line}").unwrap();
            line = next.to_owned();
        } else if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        line.push_str(end);
        is_begun = true;
    }
    writeln!(out, "{line}").unwrap();
}

fn python(types: &[Described]) -> String {
    let mut out = "\"\"\"The types of reports, for type checkers and editors. Reports are dictionaries. Keys that do not apply are\nleft out.\n\nWritten by \
                   tests/engine/report_types.rs from the structs of the library.\n\"\"\"\n\nfrom typing import Literal, \
                   TypedDict\n"
        .to_owned();
    for described in types {
        write!(out, "\n\nclass {}(TypedDict, total=False):\n", described.name).unwrap();
        wrap(&mut out, "    \"\"\"", "    ", &described.doc, "\"\"\"");
        out.push('\n');
        for field in &described.fields {
            writeln!(out, "    {}: {}", field.key, python_kind(&field.kind, described.name))
                .unwrap();
            wrap(&mut out, "    \"\"\"", "    ", &field.doc, "\"\"\"");
        }
    }
    out
}

/// Returns a type as Python writes it. A class that is not complete is named in quotes.
fn python_kind(kind: &Kind, own: &str) -> String {
    match kind {
        Kind::Number => "int".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::Words(words) => format!("Literal[\"{}\"]", words.join("\", \"")),
        Kind::List(element) => format!("list[{}]", python_kind(element, own)),
        Kind::Map(value) => format!("dict[str, {}]", python_kind(value, own)),
        Kind::Struct(name) if *name == own => format!("\"{name}\""),
        Kind::Struct(name) => (*name).to_owned(),
    }
}

fn node_kind(kind: &Kind) -> String {
    match kind {
        Kind::Number => "number".to_owned(),
        Kind::Bool => "boolean".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Words(words) => format!("'{}'", words.join("' | '")),
        Kind::List(element) => format!("{}[]", node_kind(element)),
        Kind::Map(value) => format!("Record<string, {}>", node_kind(value)),
        Kind::Struct(name) => (*name).to_owned(),
    }
}

fn node(types: &[Described]) -> String {
    let mut out =
        "// The types of reports. Keys that do not apply are left out.\n//\n// Written by tests/engine/report_types.rs from the structs of the library.\n".to_owned();
    for described in types {
        out.push('\n');
        wrap(&mut out, "/** ", " * ", &described.doc, " */");
        writeln!(out, "export interface {} {{", described.name).unwrap();
        for field in &described.fields {
            wrap(&mut out, "  /** ", "   * ", &field.doc, " */");
            let optional = if field.is_optional { "?" } else { "" };
            writeln!(out, "  {}{optional}: {}", field.key, node_kind(&field.kind)).unwrap();
        }
        out.push_str("}\n");
    }
    out
}
