//! Parses YAML into a tree with places, under limits on depth, nodes, aliases and size.
//!
//! The reader does not depend on a format. Duplicate keys are errors everywhere; only `true` and `false` are booleans;
//! tags are refused.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};

use super::error::{Diagnostic, Problems, Text};
use super::node::{Key, Node, Value};
use super::suggest::short;

/// The maximum size of a file in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// The maximum number of containers that may be open at once, including those inside an alias. The parser recurses for
/// each and needs up to 40 KiB of stack in an unoptimised build; a thread has 2 MiB.
const MAX_DEPTH: usize = 24;
/// The maximum number of values that all aliases together may stand for.
const MAX_REPLAYED: usize = 100_000;
/// The limits that depend on the file.
#[derive(Debug)]
pub struct FileLimits {
    /// The maximum number of keys and values.
    pub nodes: usize,
    /// Whether the content may be in several files.
    pub is_divisible: bool,
}

impl FileLimits {
    /// The limits of a manifest.
    pub const MANIFEST: Self = Self { nodes: 200_000, is_divisible: true };

    /// Returns advice to divide the file, if that is possible.
    fn advice(&self, advice: &'static str) -> &'static str {
        if self.is_divisible { advice } else { "" }
    }
}

/// Reads one YAML document.
///
/// # Errors
/// Returns the first syntax error with its place, or all duplicate keys at once.
pub fn parse(text: &Text<'_>, limits: &FileLimits) -> Result<Node, Problems> {
    if text.text.len() > MAX_BYTES {
        let message = format!(
            "the file has {} bytes, more than {MAX_BYTES}{}",
            text.text.len(),
            limits.advice("; split it into several files")
        );
        return Err(Diagnostic::nowhere(text.name(), message).into());
    }
    if text.text.trim().is_empty() {
        return Err(Diagnostic::nowhere(text.name(), "the file is empty").into());
    }
    OPEN.set(0);
    let tree = serde_saphyr::from_str_with_options::<Placed>(text.text, options(limits));
    let node = tree.map_err(|error| problem(text, &error, limits))?.0;
    let twice = duplicates(text, &node);
    if twice.is_empty() { Ok(node) } else { Err(twice) }
}

fn options(limits: &FileLimits) -> serde_saphyr::Options {
    let mut options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_documents: 1,
            max_events: 2 * limits.nodes,
            max_nodes: limits.nodes,
            // The limits on replays hold for aliases.
            enforce_alias_anchor_ratio: false,
            max_aliases: MAX_REPLAYED,
            max_anchors: MAX_REPLAYED,
            max_recorded_anchor_events: MAX_REPLAYED,
            max_recorded_anchor_bytes: MAX_BYTES,
            max_total_scalar_bytes: MAX_BYTES,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        // `.inf` is also a valid path. The reader of the value decides whether a number is meant.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    options.alias_limits.max_total_replayed_events = MAX_REPLAYED;
    options.alias_limits.max_replay_stack_depth = 8;
    options
}

thread_local! {
    /// The number of containers that are open while a tree is read. It includes the contents of aliases, which the
    /// parser's own limit does not count. Serde offers no other way to pass this to values inside values.
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

const TOO_DEEP: &str = "values inside more than 24 others";
const _: () = assert!(MAX_DEPTH == 24, "the message says how many");

/// Counts a container as open as long as this value lives.
struct Opened;

impl Opened {
    fn new<E: de::Error>() -> Result<Self, E> {
        let open = OPEN.get();
        if open >= MAX_DEPTH {
            return Err(E::custom(TOO_DEEP));
        }
        OPEN.set(open + 1);
        Ok(Self)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        OPEN.set(OPEN.get().saturating_sub(1));
    }
}

/// A node as serde deserializes it.
struct Placed(Node);

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value: Untyped(value), defined, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self(Node { at: range(defined), value }))
    }
}

fn range(location: Location) -> Range<usize> {
    let span = location.span();
    let number = |bytes: Option<u64>| bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let start = number(span.byte_offset()).unwrap_or(0);
    start..start + number(span.byte_len()).unwrap_or(0)
}

struct Untyped(Value);

impl<'de> Deserialize<'de> for Untyped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(u64::try_from(number).map_or(Value::Signed(number), Value::Unsigned))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let _open = Opened::new::<A::Error>()?;
        let mut nodes = Vec::new();
        while let Some(Placed(node)) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let _open = Opened::new::<A::Error>()?;
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let Placed(node) = map.next_value()?;
            entries.push((Key { at: range(key.defined), text: key.value }, node));
        }
        Ok(Value::Map(entries))
    }
}

/// Records all keys that occur twice in a map.
fn duplicates(text: &Text<'_>, node: &Node) -> Problems {
    let mut found = Vec::new();
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        match &node.value {
            Value::List(list) => left.extend(list),
            Value::Map(entries) => {
                let mut seen: HashMap<&str, &Key> = HashMap::with_capacity(entries.len());
                for (key, node) in entries {
                    left.push(node);
                    if let Some(first) = seen.insert(&key.text, key) {
                        found.push((key, text.line(first.at.start)));
                    }
                }
            }
            _ => {}
        }
    }
    found.sort_by_key(|(key, _)| key.at.start);
    // An error in an anchored value is reported once, however many aliases use it.
    found.dedup_by_key(|(key, _)| key.at.start);
    let mut problems = Problems::default();
    for (key, line) in found {
        problems.push(|| {
            let message = format!(
                "duplicate key `{}`, first in line {line}; remove one of them",
                short(&key.text)
            );
            text.problem(key.at.start, message)
        });
    }
    problems
}

/// Converts an error of the parser; where it enforces one of our limits, the message is ours.
fn problem(text: &Text<'_>, error: &serde_saphyr::Error, limits: &FileLimits) -> Diagnostic {
    use serde_saphyr::Error as Yaml;
    let error = error.without_snippet();
    let mut inner = error;
    while let Yaml::AliasError { error, .. } = inner {
        inner = error;
    }
    let message = match inner {
        Yaml::Budget { breach, .. } => over(breach, limits),
        Yaml::AliasReplayLimitExceeded { .. } | Yaml::AliasExpansionLimitExceeded { .. } => {
            format!("aliases expand to more than {MAX_REPLAYED} values; write them out")
        }
        Yaml::AliasReplayStackDepthExceeded { .. } => {
            "aliases are nested too deeply; write out their values".to_owned()
        }
        Yaml::MultipleDocuments { .. } => several(limits),
        Yaml::UnsupportedTag { .. } | Yaml::TaggedScalarCannotDeserializeIntoString { .. } => {
            "tags (`!name`) are not supported here; remove it".to_owned()
        }
        // Only keys are read as text directly.
        Yaml::NullIntoString { .. } | Yaml::Unexpected { expected: "string scalar", .. } => {
            "a key must be text; quote it if it is `null` or `~`, or begins with a bracket"
                .to_owned()
        }
        Yaml::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias refers to a value that contains it; write out the value".to_owned()
        }
        Yaml::MergeValueNotMapOrSeqOfMaps { .. } => {
            "`<<` must be a map or a list of maps; write `<<: *name`".to_owned()
        }
        Yaml::Message { msg, .. } if msg == TOO_DEEP => too_deep(),
        _ => match plain(inner) {
            message if message == "recursion limit exceeded" => too_deep(),
            message => format!("not YAML: {message}{}", hint(&message)),
        },
    };
    let place = error.location();
    let bytes = place.and_then(|place| place.span().byte_offset());
    match (bytes.and_then(|byte| usize::try_from(byte).ok()), place) {
        (Some(at), _) => text.problem(at, message),
        (None, Some(place)) => {
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            text.problem(text.byte(number(place.line()), number(place.column())), message)
        }
        (None, None) => Diagnostic::nowhere(text.name(), message),
    }
}

/// The usual causes of the parser's messages: paths contain characters that have a meaning in YAML.
const HINTS: [(&str, &str); 5] = [
    ("tabs", "indent with spaces"),
    ("unknown anchor", "quote text that begins with `*`: \"*.id\""),
    ("expected ',' or", "quote text with brackets, commas or colons: \"labels[].name\""),
    ("unknown escape", "a backslash in single quotes is literal: 'a\\.b'"),
    ("unexpected character", "quote the text"),
];

fn hint(message: &str) -> String {
    let hint = HINTS.iter().find(|(words, _)| message.contains(words));
    hint.map_or_else(String::new, |(_, hint)| format!("; {hint}"))
}

fn several(limits: &FileLimits) -> String {
    let advice = limits.advice(": split it into two files");
    format!("a second document begins; the file must be a single document{advice}")
}

fn too_deep() -> String {
    format!("{TOO_DEEP}; flatten the file")
}

fn over(breach: &BudgetBreach, limits: &FileLimits) -> String {
    match breach {
        BudgetBreach::Depth { .. } => too_deep(),
        BudgetBreach::Documents { .. } => several(limits),
        BudgetBreach::Aliases { .. }
        | BudgetBreach::Anchors { .. }
        | BudgetBreach::AliasAnchorRatio { .. }
        | BudgetBreach::MergeKeys { .. }
        | BudgetBreach::RecordedAnchorEvents { .. }
        | BudgetBreach::RecordedAnchorBytes { .. } => {
            format!("aliases expand to more than {MAX_REPLAYED} values; write them out")
        }
        BudgetBreach::Events { .. } | BudgetBreach::Nodes { .. } => {
            let advice = limits.advice("; split it into several files");
            format!("more than {} keys and values{advice}", limits.nodes)
        }
        _ => format!("larger than {MAX_BYTES} bytes"),
    }
}

/// Returns the parser's message on one line, without its place.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or("it cannot be read");
    let end = [" at line ", " (line "].iter().filter_map(|mark| first.find(mark)).min();
    let message = end.and_then(|end| first.get(..end)).unwrap_or(first);
    short_line(message)
}

fn short_line(message: &str) -> String {
    let mut line: String = message.chars().take(200).collect();
    if line.len() < message.len() {
        line.push('…');
    }
    line
}
