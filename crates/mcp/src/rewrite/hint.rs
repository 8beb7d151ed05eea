//! Advice for a reader of a cut list: its rest comes before the next page, and an argument of the tool returns less.

use serde_json::Value;

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::members::members;
use crate::spool::{Spool, SpoolError};

/// Numbers that make a result smaller, in the order in which they are preferred.
const NUMBERS: [&str; 15] = [
    "limit",
    "per_page",
    "perPage",
    "page_size",
    "pageSize",
    "max_results",
    "maxResults",
    "first",
    "count",
    "size",
    "top",
    "head",
    "tail",
    "max_length",
    "max_lines",
];

/// Other arguments that make a result smaller.
const OTHERS: [&str; 8] =
    ["fields", "select", "columns", "minimal_output", "path", "query", "filter", "since"];

/// The most members of an input schema that are looked at.
const MOST_PROPERTIES: usize = 256;
/// The most bytes of the list of required arguments, or of the schema of an argument.
const LONGEST: usize = 64 << 10;

/// Names for a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// The member of the result that leads to the next page.
    pub(crate) cursor: Option<&'static str>,
    /// The argument of the tool that makes its result smaller.
    pub(crate) argument: Option<&'static str>,
}

/// Returns the argument of a tool that makes its result smaller. Arguments that every call has to have do not count.
pub(crate) fn argument(
    message: &Spool,
    input_schema: Option<&Found>,
    properties: Option<&Found>,
) -> Result<Option<&'static str>, SpoolError> {
    let is_object = |found: &&Found| found.kind == ValueKind::Object;
    let Some(properties) = properties.filter(is_object) else { return Ok(None) };
    let required = match input_schema.filter(is_object) {
        Some(schema) => required(message, schema)?,
        None => Vec::new(),
    };
    let members = members(message, &properties.span, MOST_PROPERTIES)?;
    let takes = |argument: &str, is_number: bool| {
        let named = members.iter().find(|member| member.name.as_deref() == Some(argument));
        let named = named.filter(|_| !required.iter().any(|name| name == argument));
        named.is_some_and(|member| {
            let schema = message.to_vec(member.found.span.clone(), LONGEST).unwrap_or_default();
            serde_json::from_slice(&schema).is_ok_and(|schema: Value| match is_number {
                true => may_be_number(&schema),
                false => {
                    argument == "minimal_output"
                        || schema.get("type").is_none_or(|name| name != "boolean")
                }
            })
        })
    };
    let number = NUMBERS.into_iter().find(|argument| takes(argument, true));
    Ok(number.or_else(|| OTHERS.into_iter().find(|argument| takes(argument, false))))
}

/// Returns whether the schema of an argument allows a number, also one that is written as a string. `first` may be a switch, and `size`
/// a choice of words.
fn may_be_number(schema: &Value) -> bool {
    const CHOICES: [&str; 3] = ["enum", "const", "$ref"];
    let is_number = |name: &Value| matches!(name.as_str(), Some("integer" | "number" | "string"));
    let allows = |schema: &Value| {
        CHOICES.iter().all(|name| schema.get(name).is_none())
            && match schema.get("type") {
                Some(Value::Array(types)) => types.iter().any(is_number),
                Some(name) => is_number(name),
                None => ["anyOf", "oneOf", "allOf"].iter().all(|name| schema.get(name).is_none()),
            }
    };
    let any = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name)?.as_array());
    allows(schema) || any.flatten().any(allows)
}

/// Returns the names of the required arguments of an input schema.
fn required(message: &Spool, schema: &Found) -> Result<Vec<String>, SpoolError> {
    let members = members(message, &schema.span, MOST_PROPERTIES)?;
    let Some(found) = members.iter().find(|member| member.name.as_deref() == Some("required"))
    else {
        return Ok(Vec::new());
    };
    let json = message.to_vec(found.found.span.clone(), LONGEST).unwrap_or_default();
    Ok(serde_json::from_slice(&json).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::may_be_number;

    #[test]
    fn switches_and_choices_limit_nothing() {
        for (schema, expected) in [
            (r#"{"type":"integer","maximum":100}"#, true),
            (r#"{"type":["number","null"]}"#, true),
            (r#"{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}"#, true),
            (r#"{"type":"string","description":"most rows"}"#, true),
            (r#"{"description":"most rows"}"#, true),
            (r#"{"type":"boolean"}"#, false),
            (r#"{"type":"string","enum":["small","large"]}"#, false),
            (r##"{"$ref":"#/$defs/Size"}"##, false),
            (r#"{"anyOf":[{"type":"string","enum":["s"]},{"type":"null"}]}"#, false),
            (r#"{"type":"object"}"#, false),
        ] {
            assert_eq!(may_be_number(&serde_json::from_str(schema).unwrap()), expected, "{schema}");
        }
    }
}
