//! Finds the member of an output that leads to the next page.
//!
//! It is in an object on the way to the list, such as `next_cursor` in `{"items": […], "next_cursor": "…"}`, or in a member of such
//! an object that is about pages, such as `pageInfo.endCursor`. Other members are about other things, as `next` is in an item of a
//! linked list.

use std::ops::Range;

use crate::jsonrpc::text::{self, end_of_string};
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

/// The most bytes of an output that are searched.
const MOST_SEARCHED: usize = 256 << 10;
/// The most open containers around a cursor.
const DEEPEST: usize = 64;
/// Members that say whether there is a next page.
const MORE: [&str; 5] = ["has_more", "hasMore", "hasNextPage", "has_next_page", "has_next"];

/// Members about pages: of GraphQL, HAL, JSON:API, Slack, Facebook, Kubernetes and others.
const PAGING: [&str; 15] = [
    "pageInfo",
    "page_info",
    "page",
    "paging",
    "pagination",
    "links",
    "_links",
    "meta",
    "_meta",
    "metadata",
    "cursor",
    "cursors",
    "response_metadata",
    "responseMetadata",
    "headers",
];

/// An open object or array.
struct Open {
    is_object: bool,
    /// A cursor in it is one of the list.
    may_lead: bool,
    /// The number of names that lead to it, if it is on the way to the list.
    steps: Option<usize>,
    /// The number of the element that is read next.
    index: usize,
}

/// Returns the member of a minified output that leads to the next page. `list`: the pointer to the list that was cut, if it is known.
pub(super) fn find(
    scratch: &Spool,
    output: Range<u64>,
    list: Option<&str>,
) -> Result<Option<&'static str>, SpoolError> {
    let end = output.end.min(output.start + MOST_SEARCHED as u64);
    let json = scratch.to_vec(output.start..end, MOST_SEARCHED)?;
    Ok(find_in(&json, list))
}

fn find_in(json: &[u8], list: Option<&str>) -> Option<&'static str> {
    let list = list.filter(|list| !list.is_empty());
    let path: Option<Vec<String>> = list.map(|list| list.split('/').skip(1).map(name).collect());
    let mut stack: Vec<Open> = Vec::new();
    let mut member: Option<String> = None;
    let mut best: Option<usize> = None;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                let open = open(*byte == b'{', member.take(), stack.last_mut(), &path);
                if stack.len() == DEEPEST {
                    break;
                }
                stack.push(open);
            }
            b'}' | b']' => _ = stack.pop(),
            b'"' => {
                at = end_of_string(json, start);
                let Some(open) = stack.last() else { continue };
                let is_name = open.is_object && json.get(at) == Some(&b':');
                // Neither these members nor those in them lead to the next page.
                if !is_name || !open.may_lead {
                    continue;
                }
                at += 1;
                member = json.get(start..at - 1).and_then(text::decode);
                if member.as_deref().is_some_and(|name| MORE.contains(&name))
                    && json.get(at..).is_some_and(|value| value.starts_with(b"false"))
                {
                    return None;
                }
                let rank = CURSORS.iter().position(|name| Some(*name) == member.as_deref());
                let value = json.get(at..).unwrap_or_default();
                if let Some(rank) = rank.filter(|_| leads(value)) {
                    best = Some(best.map_or(rank, |best| best.min(rank)));
                }
            }
            _ => {}
        }
    }
    CURSORS.get(best?).copied()
}

/// Returns a container that begins. `member`: its name in the container around it.
fn open(
    is_object: bool,
    member: Option<String>,
    around: Option<&mut Open>,
    path: &Option<Vec<String>>,
) -> Open {
    let index = 0;
    let Some(around) = around else {
        let steps = path.as_ref().map(|_| 0);
        return Open { is_object, may_lead: true, steps, index };
    };
    let name = if around.is_object { member } else { Some(around.index.to_string()) };
    around.index += 1;
    let path = path.as_deref().unwrap_or_default();
    let step = around.steps.and_then(|steps| path.get(steps));
    let is_next = step.is_some() && step == name.as_ref();
    let is_in_list = around.steps.is_some() && step.is_none();
    let is_about_pages = around.may_lead
        && around.is_object
        && name.as_deref().is_some_and(|name| PAGING.contains(&name));
    Open {
        is_object,
        may_lead: is_next || (is_about_pages && !is_in_list),
        steps: around.steps.filter(|_| is_next).map(|steps| steps + 1),
        index,
    }
}

/// Returns a part of a JSON Pointer without its escapes.
fn name(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Returns whether a value is a cursor that leads anywhere: text, a number, `true`, or a link as in HAL.
fn leads(value: &[u8]) -> bool {
    /// Texts of the last page.
    const NOWHERE: [&[u8]; 8] =
        [b"", b"null", b"none", b"nil", b"false", b"undefined", b"0", b"-1"];
    match value.first() {
        Some(b'"') => {
            let text = value.get(1..end_of_string(value, 0).saturating_sub(1)).unwrap_or_default();
            !NOWHERE.iter().any(|nowhere| text.eq_ignore_ascii_case(nowhere))
        }
        Some(b'1'..=b'9' | b't') => true,
        Some(b'{') => value.starts_with(b"{\"href\":\""),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::find_in;

    #[test]
    fn members_that_lead_to_a_next_page() {
        for (json, list, expected) in [
            (r#"{"items":[],"next_cursor":"abc"}"#, None, Some("next_cursor")),
            (r#"{"next_cursor":7}"#, None, Some("next_cursor")),
            (r#"{"has_more":true,"a":[{"b":[1]}],"next":"x"}"#, None, Some("has_more")),
            (r#"{"next_cursor":""}"#, None, None),
            (r#"{"next_cursor":null,"next":false,"nextPage":{},"Link":[]}"#, None, None),
            (r#"{"a":"\"next_cursor\":1","b":"next_cursor"}"#, None, None),
            (r#"{"the_next_cursor":1}"#, None, None),
            (r#"{"_links":{"next":{"href":"/2"}}}"#, None, Some("next")),
            (r#"{"next":{"id":2}}"#, None, None),
            (
                r#"{"data":{"issues":{"nodes":[1],"pageInfo":{"endCursor":"x"}}}}"#,
                Some("/data/issues/nodes"),
                Some("endCursor"),
            ),
            // Members of items.
            (r#"[{"next":"/2"},{"comments":{"hasNextPage":true}}]"#, None, None),
            (r#"{"nodes":[{"next":"n2"},[{"a":{"next":"n3"}}]],"total":2}"#, None, None),
            (r#"{"users":{"ada":{"next":"bob"}}}"#, Some("/users"), None),
            (r#"{"users":{"ada":{"a":{"next":"bob"}}},"next":"2"}"#, Some("/users"), Some("next")),
            (r#"{"users":{"ada":{},"next":"2"}}"#, Some("/users"), Some("next")),
            (
                r#"{"a/b":{"c":{"next":"x"}},"page":{"next_page":2}}"#,
                Some("/a~1b"),
                Some("next_page"),
            ),
            // Members about something else, and of another list.
            (r#"{"user":{"next":"bob"},"items":[1]}"#, Some("/items"), None),
            (r#"{"a":{"items":[1]},"b":{"items":[1],"next":"x"}}"#, Some("/a/items"), None),
            (r#"{"a":[{"items":[1],"next":"x"}],"b":1}"#, Some("/a/0/items"), Some("next")),
            (r#"{"meta":{"paging":{"next":"x"}},"items":[1]}"#, None, Some("next")),
            (r#"{"ok":true,"response_metadata":{"next_cursor":"x"}}"#, None, Some("next_cursor")),
            // The last page.
            (
                r#"{"items":[1],"pageInfo":{"endCursor":"abc","hasNextPage":false}}"#,
                Some("/items"),
                None,
            ),
            (r#"{"next_cursor":"null","next":"None","next_page":0,"nextPage":"-1"}"#, None, None),
        ] {
            assert_eq!(find_in(json.as_bytes(), list), expected, "{json}");
        }
        let factored = r#"{"_factored":1,"_all":{"next":"x"},"_items":[{"id":1},{"id":2}]}"#;
        assert_eq!(find_in(factored.as_bytes(), None), None);
        let deep = format!("{}{}", "{\"a\":".repeat(100_000), r#"{"next":"x"}"#);
        assert_eq!(find_in(deep.as_bytes(), None), None);
        // The output is longer than what is searched.
        assert_eq!(find_in(br#"{"next":"x","a":[{"b":"c"#, None), Some("next"));
    }
}
