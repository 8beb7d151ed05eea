//! The members of a response that a filter keeps. Every scalar is replaced by a mark of its own, so that its origin is
//! known wherever the filter writes it.

use std::collections::BTreeSet;

use serde_json::Value;
use tamis::{Program, filter_slice};

/// A scalar of the response.
pub(super) struct MarkedValue {
    /// Its path, in which every index is `[]`.
    pub(super) path: String,
    pub(super) text: String,
}

/// A response whose scalars are marked.
pub(super) struct Marked {
    document: String,
    values: Vec<MarkedValue>,
}

impl Marked {
    pub(super) fn new(document: &str) -> Self {
        let mut document: Value = serde_json::from_str(document).unwrap();
        let mut values = Vec::new();
        mark(&mut document, String::new(), &mut values);
        Self { document: document.to_string(), values }
    }

    pub(super) fn value(&self, mark: usize) -> &MarkedValue {
        &self.values[mark]
    }

    /// Returns the marks in the output of a filter.
    pub(super) fn kept(&self, program: &Program) -> BTreeSet<usize> {
        let (output, _) = filter_slice(program, self.document.as_bytes()).unwrap();
        let output = String::from_utf8(output).unwrap();
        let parts = output.split("<mark ").skip(1);
        parts.filter_map(|part| part.split_once('>')?.0.parse().ok()).collect()
    }
}

fn mark(value: &mut Value, path: String, values: &mut Vec<MarkedValue>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                mark(member, path, values);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                mark(element, format!("{path}[]"), values);
            }
        }
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        scalar => {
            let text = match &scalar {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            *scalar = Value::String(format!("<mark {}>", values.len()));
            values.push(MarkedValue { path, text });
        }
    }
}

/// Words for identifiers, titles, states, people, dates and amounts, as names of members end with them.
const WORDS: &[&str] = &[
    "id",
    "key",
    "number",
    "iid",
    "sha",
    "slug",
    "identifier",
    "uid",
    "code",
    "sku",
    "handle",
    "ref",
    "arn", // identifiers
    "name",
    "names",
    "title",
    "subject",
    "summary",
    "label",
    "labels",
    "tag",
    "tags",
    "filename",
    "path",
    "description",
    "text",
    "message",
    "snippet",
    "excerpt",
    "preview",
    "fragment",
    "topic",
    "keywords",
    "categories",
    "note",
    "comment",
    "reason",
    "content",
    "query", // titles
    "state",
    "status",
    "substatus",
    "phase",
    "stage",
    "type",
    "kind",
    "priority",
    "severity",
    "level",
    "conclusion",
    "resolution",
    "visibility",
    "role",
    "mode",
    "action",
    "event",
    "category",
    "urgency",
    "importance",
    "response",
    "language",
    "platform",
    "branch",
    "version",
    "method",
    "target", // states
    "login",
    "username",
    "user",
    "author",
    "owner",
    "assignee",
    "email",
    "address",
    "actor",
    "customer", // people
    "at",
    "date",
    "time",
    "timestamp",
    "created",
    "updated",
    "modified",
    "start",
    "end",
    "due",
    "ts", // dates
    "count",
    "total",
    "amount",
    "price",
    "quantity",
    "size",
    "duration",
    "currency",
    "value",
    "memory",
    "cpu", // amounts
];

/// Whether a member that the catalog keeps counts: it is an identifier, a title, a state, a person, a date or an amount.
/// Addresses and long texts do not count, nor do e-mail addresses, which a tight filter never selects.
pub(super) fn is_compared(path: &str, values: &[&str]) -> bool {
    let most = |test: fn(&str) -> bool| {
        values.iter().filter(|value| test(value)).count() * 2 > values.len()
    };
    if most(|text| text.contains("://"))
        || most(|text| text.contains('@') && !text.contains(' '))
        || values.iter().filter(|text| text.len() > 300).count() * 5 >= values.len()
    {
        return false;
    }
    let is_plain = |text: &str| {
        text == "true"
            || text == "false"
            || text.parse::<f64>().is_ok()
            || (text.len() >= 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-"))
    };
    most(is_plain) || WORDS.contains(&last_word(path).as_str())
}

/// The last word of the last name, in lower case: `at` for `items[].createdAt` and `created_at`.
fn last_word(path: &str) -> String {
    let name = path.trim_end_matches("[]").rsplit(['.', ']']).next().unwrap_or_default();
    let name = name.rsplit(|char: char| !char.is_ascii_alphanumeric()).next().unwrap_or_default();
    let at = name.rfind(|char: char| char.is_ascii_uppercase()).unwrap_or(0);
    let word = name.get(at..).unwrap_or_default();
    // `eventID` and `CPU` are capitals to the end.
    let word = if word.len() == 1 {
        name.trim_start_matches(|char: char| char.is_ascii_lowercase())
    } else {
        word
    };
    let word = if word.is_empty() { name } else { word };
    word.to_ascii_lowercase()
}
