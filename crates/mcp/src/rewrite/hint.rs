//! Advice for a reader of a cut list: its rest comes before the next page, and an argument of the tool returns less.

use serde_json::Value;

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::members::members;
use crate::spool::{Spool, SpoolError};

/// Arguments that make a result smaller, in the order in which they are preferred, with the types that do so: `first` may be a switch,
/// and `size` a choice of words. A number may be written as a string.
const ARGUMENTS: [(&str, ArgumentTypes); 23] = [
    ("limit", COUNT),
    ("per_page", COUNT),
    ("perPage", COUNT),
    ("page_size", COUNT),
    ("pageSize", COUNT),
    ("max_results", COUNT),
    ("maxResults", COUNT),
    ("first", COUNT),
    ("count", COUNT),
    ("size", COUNT),
    ("top", COUNT),
    ("head", COUNT),
    ("tail", COUNT),
    ("max_length", COUNT),
    ("max_lines", COUNT),
    ("fields", CHOICE),
    ("select", CHOICE),
    ("columns", CHOICE),
    ("minimal_output", SWITCH),
    ("path", CHOICE),
    ("query", CHOICE),
    ("filter", CHOICE),
    ("since", CHOICE),
];

/// Types of JSON Schema, and whether the schema may name the values.
type ArgumentTypes = (&'static [&'static str], bool);

const COUNT: ArgumentTypes = (&["integer", "number", "string"], false);
const CHOICE: ArgumentTypes = (&["string", "array", "object", "integer", "number"], true);
const SWITCH: ArgumentTypes = (&["boolean", "string"], true);

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
    let takes = |(argument, types): &(&str, ArgumentTypes)| {
        let named = members.iter().find(|member| member.name.as_deref() == Some(argument));
        let named = named.filter(|_| !required.iter().any(|name| name == argument));
        named.is_some_and(|member| {
            let schema = message.to_vec(member.found.span.clone(), LONGEST).unwrap_or_default();
            serde_json::from_slice(&schema).is_ok_and(|schema| allows(&schema, *types))
        })
    };
    Ok(ARGUMENTS.iter().find(|argument| takes(argument)).map(|(argument, _)| *argument))
}

/// Returns whether the schema of an argument, or one of those that it is a choice of, allows one of the types.
fn allows(schema: &Value, (types, takes_choice): ArgumentTypes) -> bool {
    const CHOICES: [&str; 3] = ["enum", "const", "$ref"];
    let is_type = |name: &Value| name.as_str().is_some_and(|name| types.contains(&name));
    let fits = |schema: &Value| {
        (takes_choice || CHOICES.iter().all(|name| schema.get(name).is_none()))
            && match schema.get("type") {
                Some(Value::Array(names)) => names.iter().any(is_type),
                Some(name) => is_type(name),
                None => ["anyOf", "oneOf", "allOf"].iter().all(|name| schema.get(name).is_none()),
            }
    };
    let any = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name)?.as_array());
    fits(schema) || any.flatten().any(fits)
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
    use super::{CHOICE, COUNT, SWITCH, allows};

    #[test]
    fn switches_and_choices_limit_nothing() {
        for (types, schema, expected) in [
            (COUNT, r#"{"type":"integer","maximum":100}"#, true),
            (COUNT, r#"{"type":["number","null"]}"#, true),
            (COUNT, r#"{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}"#, true),
            (COUNT, r#"{"type":"string","description":"most rows"}"#, true),
            (COUNT, r#"{"description":"most rows"}"#, true),
            (COUNT, r#"{"type":"boolean"}"#, false),
            (COUNT, r#"{"type":"string","enum":["small","large"]}"#, false),
            (COUNT, r##"{"$ref":"#/$defs/Size"}"##, false),
            (COUNT, r#"{"anyOf":[{"type":"string","enum":["s"]},{"type":"null"}]}"#, false),
            (COUNT, r#"{"type":"object"}"#, false),
            (CHOICE, r#"{"type":"array","items":{"enum":["id","title"]}}"#, true),
            (CHOICE, r#"{"type":"string","enum":["id"]}"#, true),
            (CHOICE, r#"{"type":"boolean"}"#, false),
            (CHOICE, r#"{"anyOf":[{"type":"boolean"},{"type":"null"}]}"#, false),
            (SWITCH, r#"{"type":"boolean"}"#, true),
        ] {
            let schema = serde_json::from_str(schema).unwrap();
            assert_eq!(allows(&schema, types), expected, "{schema}");
        }
    }
}
