//! Advice for a reader of a cut list: its rest comes before the next page, and an argument of the tool returns less.

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::members::members;
use crate::spool::{Spool, SpoolError};

/// Arguments that make a result smaller, in the order in which they are preferred.
const ARGUMENTS: [&str; 23] = [
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
    "fields",
    "select",
    "columns",
    "minimal_output",
    "path",
    "query",
    "filter",
    "since",
];

/// The most members of an input schema that are looked at.
const MOST_PROPERTIES: usize = 256;
/// The most bytes of the list of required arguments.
const LONGEST_REQUIRED: usize = 64 << 10;

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
    let names = members.iter().filter_map(|member| member.name.as_deref());
    let names: Vec<&str> = names.filter(|name| !required.iter().any(|it| it == name)).collect();
    Ok(ARGUMENTS.into_iter().find(|argument| names.contains(argument)))
}

/// Returns the names of the required arguments of an input schema.
fn required(message: &Spool, schema: &Found) -> Result<Vec<String>, SpoolError> {
    let members = members(message, &schema.span, MOST_PROPERTIES)?;
    let Some(found) = members.iter().find(|member| member.name.as_deref() == Some("required"))
    else {
        return Ok(Vec::new());
    };
    let json = message.to_vec(found.found.span.clone(), LONGEST_REQUIRED).unwrap_or_default();
    Ok(serde_json::from_slice(&json).unwrap_or_default())
}
