//! Advice for a reader of a cut list: its rest comes before the next page, and an argument of the tool returns less.

use std::ops::Range;

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::members::members;
use crate::spool::{Spool, SpoolError};

/// Members that lead to the next page, as APIs of the catalog's services and GraphQL call them.
const CURSORS: [&str; 20] = [
    "next_cursor",
    "nextCursor",
    "nextPageToken",
    "next_page_token",
    "endCursor",
    "end_cursor",
    "has_more",
    "hasMore",
    "hasNextPage",
    "next_page",
    "nextPage",
    "next",
    "NextToken",
    "nextToken",
    "NextMarker",
    "NextContinuationToken",
    "@odata.nextLink",
    "startingAfter",
    "continue",
    "Link",
];

/// Arguments that make a result smaller, in the order in which they are preferred.
const ARGUMENTS: [&str; 24] = [
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
    "fields",
    "select",
    "columns",
    "minimal_output",
    "path",
    "head",
    "tail",
    "max_length",
    "max_lines",
    "query",
    "filter",
    "since",
    "start_index",
];

/// The most members of an input schema that are looked at.
const MOST_PROPERTIES: usize = 256;
/// The most bytes of an output that are searched for a cursor.
const MOST_SEARCHED: usize = 256 << 10;

/// Names for a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// The member of the result that leads to the next page.
    pub(crate) cursor: Option<&'static str>,
    /// The argument of the tool that makes its result smaller.
    pub(crate) argument: Option<&'static str>,
}

/// Returns the argument of a tool that makes its result smaller. `properties`: those of its input schema.
pub(crate) fn argument(
    message: &Spool,
    properties: Option<&Found>,
) -> Result<Option<&'static str>, SpoolError> {
    let Some(found) = properties.filter(|found| found.kind == ValueKind::Object) else {
        return Ok(None);
    };
    let members = members(message, &found.span, MOST_PROPERTIES)?;
    let names: Vec<&str> = members.iter().filter_map(|member| member.name.as_deref()).collect();
    Ok(ARGUMENTS.into_iter().find(|argument| names.contains(argument)))
}

/// Returns the member of an output that leads to the next page. Looks for names with a value that leads anywhere.
pub(crate) fn cursor(
    scratch: &Spool,
    output: Range<u64>,
) -> Result<Option<&'static str>, SpoolError> {
    let end = output.end.min(output.start + MOST_SEARCHED as u64);
    let text = scratch.to_vec(output.start..end, MOST_SEARCHED)?;
    Ok(CURSORS.into_iter().find(|name| leads(&text, name)))
}

/// Returns whether a minified document has a member of this name whose value is not empty.
fn leads(text: &[u8], name: &str) -> bool {
    const NOWHERE: [&[u8]; 5] = [b"null", b"false", b"\"\"", b"{}", b"[]"];
    let member = format!("\"{name}\":");
    memchr::memmem::find_iter(text, member.as_bytes()).any(|at| {
        let value = text.get(at + member.len()..).unwrap_or_default();
        // A quote before the name would be part of a string.
        let is_member = matches!(at.checked_sub(1).and_then(|at| text.get(at)), Some(b'{' | b','));
        is_member && !value.is_empty() && !NOWHERE.iter().any(|empty| value.starts_with(empty))
    })
}

#[cfg(test)]
mod tests {
    use super::leads;

    #[test]
    fn members_that_lead_to_a_next_page() {
        for (text, expected) in [
            (r#"{"items":[],"next_cursor":"abc"}"#, true),
            (r#"{"next_cursor":7}"#, true),
            (r#"{"next_cursor":""}"#, false),
            (r#"{"next_cursor":null}"#, false),
            (r#"{"a":"\"next_cursor\":1"}"#, false),
            (r#"{"the_next_cursor":1}"#, false),
        ] {
            assert_eq!(leads(text.as_bytes(), "next_cursor"), expected, "{text}");
        }
        assert!(!leads(br#"{"has_more":false}"#, "has_more"));
        assert!(leads(br#"{"has_more":true}"#, "has_more"));
    }
}
