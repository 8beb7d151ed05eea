//! Shortens a result to what has changed since the client got the result of the same call in full.
//!
//! The result begins with a header that says that the tool has just run, so that nobody takes it for an old one:
//!
//! ```text
//! [tamis: new result of list_issues, which ran just now. 412 of its 415 items are as in the full result of the same call, 2
//! calls ago; a JSON Patch (RFC 6902) of that result follows; tamis_retrieve(handle="tm_…") returns all of it]
//! [{"op":"replace","path":"/7/state","value":"closed"}]
//! ```
//!
//! Only the text of a result with one block is shortened. Both texts are those that the rules of the tool have left, so that
//! nothing is shown that they remove.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use tamis_store::EntryMeta;

use super::task::Context;
use crate::jsonrpc::find::ValueKind;
use crate::jsonrpc::head::{Parts, ShownPart};
use crate::jsonrpc::members::members;
use crate::jsonrpc::splice::{Piece, Splice};
use crate::jsonrpc::text;
use crate::jsonrpc::unique::has_duplicates;
use crate::policy::earlier_results::{FullText, LONGEST_TEXT};
use crate::policy::tool_call::ToolCall;
use crate::spool::Spool;

/// The time for a comparison of lines. After it, the diff is correct, but may be longer than necessary.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most lines that are compared.
const MOST_LINES: usize = 20_000;

/// The fewest bytes that are worth a delta.
const LEAST_SAVED: usize = 200;

/// A text as long as a handle.
const LIKE_A_HANDLE: &str = "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The text of a result, and its place in the message.
struct ResultText {
    text: String,
    span: Range<u64>,
}

/// The fate of a result.
pub(super) enum Compared {
    /// It is sent as it is, and its text is remembered if it has one that later results can be compared with.
    Full(Option<FullText>),
    /// Its changes are sent.
    Shorter(Delta),
}

/// The changes that are sent in place of a result, and how it can be fetched in full.
pub(super) struct Delta {
    pub(super) splice: Splice,
    pub(super) handle: String,
}

/// Compares the response in a range of a message with an earlier one. `is_cut`: something was left out of it.
pub(super) fn compare(
    message: &Spool,
    range: Range<u64>,
    call: &ToolCall,
    context: &Context,
    is_cut: bool,
) -> Compared {
    const NOTHING: Compared = Compared::Full(None);
    let Some((key, most_age)) = call.delta else { return NOTHING };
    let result = if is_cut { None } else { text_of(message, range) };
    let Some(mut earlier) = context.memory.earlier() else { return NOTHING };
    let Some(result) = result else {
        earlier.forget(key);
        return NOTHING;
    };
    let base = earlier.earlier(key).filter(|(_, age)| *age <= most_age);
    // Comparing takes time, and the session goes on.
    drop(earlier);
    match base.and_then(|(base, age)| shorter(&base, age, &result, call, context)) {
        Some(delta) => Compared::Shorter(delta),
        None => Compared::Full(Some(FullText { key, text: result.text })),
    }
}

/// Returns the changes of a result since an earlier one, if they are short.
fn shorter(
    base: &str,
    age: u64,
    result: &ResultText,
    call: &ToolCall,
    context: &Context,
) -> Option<Delta> {
    let fetcher = context.proxy.retrieval_tool();
    let fits = |changes: &Changes| {
        let length =
            header(&call.tool, changes, age, LIKE_A_HANDLE, fetcher).len() + changes.text.len();
        length * 10 < result.text.len() * 4 && length + LEAST_SAVED <= result.text.len()
    };
    let changes = changes(base, &result.text).filter(fits)?;
    let handle = stored(&result.text, call, context)?;
    let delta = header(&call.tool, &changes, age, &handle, fetcher) + &changes.text;
    let mut splice = Splice::default();
    splice.replace(result.span.clone(), Piece::Bytes(text::quoted(&delta).into_bytes()));
    Some(Delta { splice, handle })
}

/// Returns the text of a result that has nothing else and did not fail.
fn text_of(message: &Spool, range: Range<u64>) -> Option<ResultText> {
    let parts = Parts::<ShownPart>::find(message, range).ok()?;
    if parts.has(ShownPart::Structured) || parts.has(ShownPart::IsError) {
        return None;
    }
    let ([content], [found]) = (parts.all(ShownPart::Content), parts.all(ShownPart::Text)) else {
        return None;
    };
    let is_only = members(message, &content.span, 2).ok()?.len() == 1;
    if !is_only || found.kind != ValueKind::String {
        return None;
    }
    let spelled = message.to_vec(found.span.clone(), 2 * LONGEST_TEXT).ok()?;
    let text = text::decode(&spelled)?;
    (text.len() <= LONGEST_TEXT).then(|| ResultText { text, span: found.span.clone() })
}

/// Stores the text of a result, so that it can be fetched in full.
fn stored(text: &str, call: &ToolCall, context: &Context) -> Option<String> {
    let store = context.proxy.store()?;
    let meta = match text.as_bytes().first() {
        Some(b'{' | b'[') if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            EntryMeta::json(&call.tool)
        }
        _ => EntryMeta::text(&call.tool),
    };
    // It is what the rules have left, which may be less than the tool returned.
    let server = context.proxy.server_name();
    let meta = meta.with_origin(context.proxy.origin(), server.as_deref()).with_altered(true);
    let mut writer = store.begin(context.scope.clone(), meta).ok()?;
    writer.write_all(text.as_bytes()).ok()?;
    writer.finish().ok().map(|handle| handle.to_string())
}

/// The difference between two texts.
#[derive(Debug, PartialEq, Eq)]
struct Changes {
    text: String,
    unit: &'static str,
    unchanged: usize,
    of: usize,
    form: &'static str,
}

fn header(tool: &str, changes: &Changes, age: u64, handle: &str, fetcher: &str) -> String {
    let Changes { unit, unchanged, of, form, text } = changes;
    let tool = text::short(tool, 128);
    let ago = if age == 1 { "one call ago".to_owned() } else { format!("{age} calls ago") };
    let fetch = format!("{fetcher}(handle=\"{handle}\") returns all of it");
    if text.is_empty() {
        return format!(
            "[tamis: new result of {tool}, which ran just now. All of its {of} {unit} are as in the full result of the same \
             call, {ago}; {fetch}]"
        );
    }
    format!(
        "[tamis: new result of {tool}, which ran just now. {unchanged} of its {of} {unit} are as in the full result of the same \
         call, {ago}; {form} of that result follows; {fetch}]\n"
    )
}

/// Compares two texts: values if both are JSON, and otherwise lines.
fn changes(old: &str, new: &str) -> Option<Changes> {
    let json = |text: &str| {
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    };
    match (json(old), json(new)) {
        // A patch leaves out what only changes the spelling of a string, or the order of members.
        (true, true) => {
            let (before, after) = (spelled_numbers(old)?, spelled_numbers(new)?);
            let changes = of_json(&before, &after);
            (!changes.text.is_empty() || old == new).then_some(changes)
        }
        (false, false) => of_lines(old, new),
        _ => None,
    }
}

/// The first character of a string that stands for a number.
const NUMBER: char = '\u{e000}';

/// Parses a valid JSON text. Numbers become strings with their spelling, so that no digit is lost and `1.0` is not `1`. `None`: a string
/// might be taken for a number, or a name occurs twice in an object.
fn spelled_numbers(json: &str) -> Option<Value> {
    if json.contains(NUMBER)
        || memmem::find(json.to_ascii_lowercase().as_bytes(), b"\\ue000").is_some()
    {
        return None;
    }
    let bytes = json.as_bytes();
    let mut marked = String::with_capacity(json.len() + json.len() / 8);
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = text::end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let is_of_number =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().take_while(|byte| is_of_number(byte)).count();
                marked.push_str(json.get(copied..at)?);
                marked.push('"');
                marked.push(NUMBER);
                marked.push_str(json.get(at..at + length)?);
                marked.push('"');
                at += length;
                copied = at;
            }
            _ => at += 1,
        }
    }
    marked.push_str(json.get(copied..)?);
    let value = serde_json::from_str(&marked).ok()?;
    (!has_duplicates(marked.as_bytes(), &value)).then_some(value)
}

/// Turns the strings of [`spelled_numbers`] into numbers again.
fn with_numbers(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let open = ['"', NUMBER].iter().collect::<String>();
    while let Some((before, number)) = rest.split_once(&open) {
        let (number, after) = number.split_once('"').unwrap_or((number, ""));
        out.push_str(before);
        out.push_str(number);
        rest = after;
    }
    out + rest
}

fn of_json(old: &Value, new: &Value) -> Changes {
    let patch = json_patch::diff(old, new);
    let text = if patch.0.is_empty() { String::new() } else { with_numbers(&patch.to_string()) };
    let (unit, before, after) = match (items(old), items(new)) {
        (Some(before), Some(after)) => ("items", before, after),
        _ => ("members", values(old), values(new)),
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for value in before {
        *counts.entry(value.to_string()).or_default() += 1;
    }
    let of = after.len();
    let is_there = |value: &&Value| match counts.get_mut(&value.to_string()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    let unchanged = after.into_iter().filter(is_there).count();
    Changes { text, unit, unchanged, of, form: "a JSON Patch (RFC 6902)" }
}

/// Returns the items of a document: its elements, or those of its longest list.
fn items(document: &Value) -> Option<Vec<&Value>> {
    match document {
        Value::Array(items) => Some(items.iter().collect()),
        Value::Object(members) => {
            let lists = members.values().filter_map(Value::as_array);
            lists.max_by_key(|list| list.len()).map(|list| list.iter().collect())
        }
        _ => None,
    }
}

fn values(document: &Value) -> Vec<&Value> {
    document.as_object().map(|members| members.values().collect()).unwrap_or_default()
}

fn of_lines(old: &str, new: &str) -> Option<Changes> {
    let lines = |text: &'_ str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(old), lines(new));
    if before.len() > MOST_LINES || after.len() > MOST_LINES {
        return None;
    }
    let deadline = Some(Instant::now() + PATIENCE);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline);
    let equal = |op: &DiffOp| match op {
        DiffOp::Equal { len, .. } => *len,
        _ => 0,
    };
    let unchanged = ops.iter().map(equal).sum();
    let mut text = String::new();
    for group in group_diff_ops(ops, 1) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old, new) = (
            first.old_range().start..last.old_range().end,
            first.new_range().start..last.new_range().end,
        );
        text.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            old.start + 1,
            old.len(),
            new.start + 1,
            new.len()
        ));
        let mut add = |mark: char, lines: &[String]| {
            for line in lines {
                text.push(mark);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        };
        for op in group {
            let (removed, added) = (op.old_range(), op.new_range());
            if let DiffOp::Equal { .. } = op {
                add(' ', after.get(added).unwrap_or_default());
                continue;
            }
            add('-', before.get(removed).unwrap_or_default());
            add('+', after.get(added).unwrap_or_default());
        }
    }
    Some(Changes { text, unit: "lines", unchanged, of: after.len(), form: "a diff" })
}

#[cfg(test)]
mod tests {
    use super::{changes, header};

    #[test]
    fn json_is_compared_by_value() {
        let old = r#"{"total":3,"items":[{"id":1},{"id":2,"a":"x"},{"id":3}]}"#;
        let new = r#"{"total":3, "items":[{"id":1},{"a":"y","id":2},{"id":3}]}"#;
        let found = changes(old, new).unwrap();
        assert_eq!(found.text, r#"[{"op":"replace","path":"/items/1/a","value":"y"}]"#);
        assert_eq!((found.unchanged, found.of, found.unit), (2, 3, "items"));
        let same = changes(old, old).unwrap();
        assert_eq!((same.text.as_str(), same.unchanged), ("", 3));
        assert!(
            header("t", &same, 1, "tm_x", "tamis_retrieve")
                .contains("All of its 3 items are as in the full result")
        );
        assert!(changes(old, "text").is_none());
    }

    /// Digits that a double does not have, and spellings of one value, are changes, and are sent as the server wrote them.
    #[test]
    fn numbers_keep_their_spelling() {
        let rest = r#","t":"1","list":[-0,1E+2,{"n":0.10}]"#;
        let document = |n: &str| format!(r#"{{"n":{n}{rest}}}"#);
        let numbers = [
            "1",
            "1.0",
            "1.00",
            "1e0",
            "1E0",
            "-0",
            "0",
            "12345678901234567890123",
            "12345678901234567890124",
            "0.1000000000000000055511151231257827",
            "0.1",
            "1e400",
            "null",
            "\"1\"",
            "[1.0]",
            r#"{"a":18446744073709551616}"#,
        ];
        for old in numbers {
            for new in numbers.iter().filter(|new| **new != old) {
                let found = changes(&document(old), &document(new)).unwrap();
                let name = if old.starts_with(['[', '{']) || new.starts_with(['[', '{']) {
                    ""
                } else {
                    new
                };
                let patch = format!(r#"[{{"op":"replace","path":"/n","value":{name}}}]"#);
                if name.is_empty() {
                    assert!(found.text.contains(new), "{}", found.text);
                } else {
                    assert_eq!(found.text, patch, "{old}");
                }
            }
            assert_eq!(changes(&document(old), &document(old)).unwrap().text, "");
        }
        let found = changes(r#"{"n":1,"a":[1,2]}"#, r#"{"n":1.0,"a":[1,2,3.50]}"#).unwrap();
        assert!(found.text.contains(r#""value":1.0"#) && found.text.contains(r#""value":3.50"#));
        // Strings that might be taken for numbers, and names that occur twice.
        for json in
            ["[\"\u{e000}1\",2]", r#"["\ue0001",2]"#, r#"["\uE0001",2]"#, r#"{"a":1,"a":2}"#]
        {
            assert!(changes(json, "[1]").is_none() && changes("[1]", json).is_none(), "{json}");
        }
    }

    #[test]
    fn text_is_compared_by_line() {
        let old = "a\nb\nc\nd\ne\nf";
        let new = "a\nb\nc\nD\ne\nf\n";
        let found = changes(old, new).unwrap();
        assert_eq!(
            found.text,
            "@@ -3,4 +3,4 @@\n c\n-d\n+D\n e\n-f\n\\ No newline at end of file\n+f\n"
        );
        assert_eq!((found.unchanged, found.of, found.unit), (4, 6, "lines"));
    }
}
