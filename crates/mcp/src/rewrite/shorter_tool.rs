//! Shortens the description of a tool and its input schema in the list of tools, where the user asks for it.
//!
//! Three rules apply. A description that is too long ends after a sentence or a word. `examples` are left out. An enum that
//! occurs again is written once, under `$defs`:
//!
//! ```text
//! {"properties": {"from": {"enum": ["EUR", …]}, "to": {"enum": ["EUR", …]}}}
//! {"properties": {"from": {"$ref": "#/$defs/e1"}, "to": {"$ref": "#/$defs/e1"}}, "$defs": {"e1": {"enum": ["EUR", …]}}}
//! ```
//!
//! Only keywords are looked at. Under `properties`, names are those of parameters, and under `default`, `const` and `enum`
//! everything is data. One pass reads the tool, with a stack instead of recursion.

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::splice::{Piece, Splice, cut_members, end_of};
use crate::jsonrpc::text;
use crate::policy::failure::Failure;
use crate::spool::Spool;

/// The longest tool that is shortened. A longer one is forwarded unchanged.
const LONGEST_TOOL: usize = 1 << 20;

/// The fewest bytes of an enum that is written once. A shorter one costs less than a reference.
const LEAST_ENUM: u64 = 48;

/// Keywords whose values map names to schemas.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose values are schemas, or lists of them.
const SCHEMAS: [&str; 16] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "propertyNames",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// The meaning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The tool itself.
    Tool,
    /// A JSON Schema, or a list of them.
    Schema,
    /// A map from names to schemas.
    Map,
    /// Anything else.
    Data,
}

/// An open object or array.
#[derive(Debug)]
struct Container {
    role: Role,
    is_object: bool,
    start: u64,
    /// The member that is being read: the first byte of its name, and the name.
    member: Option<(u64, String)>,
    /// Whether a value is expected, rather than a name.
    after_colon: bool,
    /// The members that are cut.
    cut: Vec<Found>,
    /// The members `enum`.
    enums: SmallVec<[Found; 1]>,
    has_ref: bool,
}

/// An enum of the input schema.
#[derive(Debug)]
struct Enum {
    /// From the name `enum` to the end of the value.
    member: Range<u64>,
    value: Range<u64>,
}

/// Adds the changes that shorten a tool. `most`: the most characters of a description.
pub(super) fn shorten(
    message: &Spool,
    tool: &Found,
    input_schema: Option<&Found>,
    most: usize,
    splice: &mut Splice,
) -> Result<(), Failure> {
    if tool.span.end - tool.span.start > LONGEST_TOOL as u64 {
        return Ok(());
    }
    let json = message.to_vec(tool.span.clone(), LONGEST_TOOL)?;
    let mut reader = Reader { json: &json, base: tool.span.start, most, ..Reader::default() };
    reader.read();
    let Reader { shortened, cut, enums, has_defs, old_dialect, .. } = reader;
    for (span, text) in shortened {
        splice.replace(span, Piece::Bytes(text::quoted(&text).into_bytes()));
    }
    for (container, members) in cut {
        cut_members(message, &container, &members, splice)?;
    }
    let is_object = |found: &&Found| found.kind == ValueKind::Object;
    if let Some(schema) = input_schema.filter(is_object).filter(|_| !has_defs && !old_dialect) {
        fold_enums(message, &json, tool.span.start, schema, &enums, splice)?;
    }
    Ok(())
}

/// Writes enums that occur again once.
fn fold_enums(
    message: &Spool,
    json: &[u8],
    base: u64,
    schema: &Found,
    enums: &[Enum],
    splice: &mut Splice,
) -> Result<(), Failure> {
    let bytes = |range: &Range<u64>| {
        let at = (range.start - base) as usize..(range.end - base) as usize;
        json.get(at).unwrap_or_default()
    };
    let within =
        |it: &&Enum| it.member.start >= schema.span.start && it.member.end <= schema.span.end;
    let mut counts: HashMap<&[u8], u64> = HashMap::new();
    for it in enums.iter().filter(within) {
        *counts.entry(bytes(&it.value)).or_default() += 1;
    }
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    let mut definitions = Vec::new();
    for it in enums.iter().filter(within) {
        let value = bytes(&it.value);
        let repeats = counts.get(value).is_some_and(|count| *count > 1);
        if !repeats || (value.len() as u64) < LEAST_ENUM {
            continue;
        }
        let next = names.len() + 1;
        let number = *names.entry(value).or_insert(next);
        if number == next {
            let value = String::from_utf8_lossy(value);
            definitions.push(format!("\"e{number}\":{{\"enum\":{value}}}"));
        }
        let reference = format!("\"$ref\":\"#/$defs/e{number}\"");
        splice.replace(it.member.clone(), Piece::Bytes(reference.into_bytes()));
    }
    if !definitions.is_empty() {
        let (at, _) = end_of(message, &schema.span)?;
        splice.insert(at, format!(",\"$defs\":{{{}}}", definitions.join(",")).into_bytes());
    }
    Ok(())
}

/// Reads a tool, which is valid JSON.
#[derive(Debug, Default)]
struct Reader<'a> {
    json: &'a [u8],
    /// The position of the tool in its message.
    base: u64,
    most: usize,
    stack: Vec<Container>,
    /// Descriptions that are too long, with the shorter ones.
    shortened: Vec<(Range<u64>, String)>,
    cut: Vec<(Range<u64>, Vec<Found>)>,
    enums: Vec<Enum>,
    /// Whether the schema has definitions of its own, or ids, to which references are relative.
    has_defs: bool,
    /// Whether the schema names a dialect in which a reference has no neighbours.
    old_dialect: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = 0;
        while let Some(byte) = self.json.get(at) {
            match byte {
                b'{' | b'[' => {
                    let role =
                        if self.stack.is_empty() { Role::Tool } else { self.role_of_value() };
                    self.stack.push(Container {
                        role,
                        is_object: *byte == b'{',
                        start: self.base + at as u64,
                        member: None,
                        after_colon: false,
                        cut: Vec::new(),
                        enums: SmallVec::new(),
                        has_ref: false,
                    });
                    at += 1;
                }
                b'}' | b']' => {
                    at += 1;
                    self.close(at);
                }
                b'"' => {
                    let end = self.end_of_string(at);
                    self.string(at, end);
                    at = end;
                }
                b':' => {
                    if let Some(open) = self.stack.last_mut() {
                        open.after_colon = true;
                    }
                    at += 1;
                }
                b',' => {
                    if let Some(open) = self.stack.last_mut() {
                        (open.member, open.after_colon) = (None, false);
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Returns the role of the value that begins in the open container.
    fn role_of_value(&self) -> Role {
        let Some(open) = self.stack.last() else { return Role::Data };
        let name = open.member.as_ref().map(|(_, name)| name.as_str());
        match (open.role, name) {
            (Role::Tool, Some("inputSchema")) => Role::Schema,
            (Role::Schema, None) | (Role::Map, Some(_)) => Role::Schema,
            (Role::Schema, Some(name)) if MAPS.contains(&name) => Role::Map,
            (Role::Schema, Some(name)) if SCHEMAS.contains(&name) => Role::Schema,
            _ => Role::Data,
        }
    }

    fn end_of_string(&self, open: usize) -> usize {
        let mut at = open + 1;
        loop {
            match self.json.get(at) {
                Some(b'\\') => at += 2,
                Some(b'"') | None => return (at + 1).min(self.json.len()),
                Some(_) => at += 1,
            }
        }
    }

    fn string(&mut self, start: usize, end: usize) {
        let spelled = self.json.get(start..end).unwrap_or_default();
        let span = self.base + start as u64..self.base + end as u64;
        let most = self.most;
        let Some(open) = self.stack.last_mut() else { return };
        if open.is_object && !open.after_colon {
            open.member = text::decode(spelled).map(|name| (span.start, name));
            let name = open.member.as_ref().map(|(_, name)| name.as_str());
            if open.role == Role::Schema {
                open.has_ref |= name == Some("$ref");
                // A reference inside of a schema with an id of its own would be one to that schema.
                self.has_defs |= matches!(name, Some("$defs" | "$id"));
            }
            return;
        }
        let name = open.member.as_ref().map(|(_, name)| name.as_str());
        let Some(value) = text::decode(spelled) else { return };
        match (open.role, name) {
            (Role::Tool | Role::Schema, Some("description")) => {
                if let Some(shorter) = shorter(&value, most) {
                    self.shortened.push((span, shorter));
                }
            }
            (Role::Schema, Some("$schema")) => {
                let is_new = ["2019-09", "2020-12"].iter().any(|draft| value.contains(draft));
                self.old_dialect |= !is_new;
            }
            _ => {}
        }
    }

    /// Ends a container before the byte at `end`.
    fn close(&mut self, end: usize) {
        let end = self.base + end as u64;
        let Some(closed) = self.stack.pop() else { return };
        // Two members of one name mean different things to different readers, and a reference has no neighbour of its name.
        if let ([one], false) = (closed.enums.as_slice(), closed.has_ref) {
            self.enums.push(Enum { member: one.start..one.span.end, value: one.span.clone() });
        }
        if !closed.cut.is_empty() {
            self.cut.push((closed.start..end, closed.cut));
        }
        let Some(open) = self.stack.last_mut().filter(|open| open.role == Role::Schema) else {
            return;
        };
        let Some((start, name)) = &open.member else { return };
        let found = Found {
            path: 0,
            kind: ValueKind::Array,
            span: closed.start..end,
            start: *start,
            indices: SmallVec::new(),
        };
        match name.as_str() {
            "examples" if !closed.is_object => open.cut.push(found),
            "enum" if !closed.is_object => open.enums.push(found),
            _ => {}
        }
    }
}

/// Returns a text of at most `most` characters and a mark: up to the end of a sentence, if that is in its second half, else
/// of a word. `None`: the text is short enough.
fn shorter(text: &str, most: usize) -> Option<String> {
    let (cut, _) = text.char_indices().nth(most)?;
    let head = text.get(..cut).unwrap_or_default();
    let sentence = head.rfind(['.', '!', '?', '\n', '。']).filter(|at| *at >= cut / 2);
    if let Some(at) = sentence {
        let end = head.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        return Some(format!("{} …", head.get(..at + end).unwrap_or_default().trim_end()));
    }
    let ends_word = text.get(cut..).is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let word = head.rfind(char::is_whitespace).filter(|at| !ends_word && *at >= cut / 2);
    let word = word.unwrap_or(cut);
    Some(format!("{}…", head.get(..word).unwrap_or_default().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::{shorten, shorter};
    use crate::jsonrpc::find::{Found, Paths, find};
    use crate::jsonrpc::splice::Splice;
    use crate::spool::{Spool, SpoolLimits};

    fn shortened(tool: &str) -> String {
        let message = Spool::from_vec(format!("[{tool}]").into_bytes());
        let found =
            find(&Paths::new(&["[]", "[].inputSchema"]), &message, 0..message.len()).unwrap();
        let of = |path: usize| found.iter().find(|found| found.path == path);
        let (tool, schema): (&Found, Option<&Found>) = (of(0).unwrap(), of(1));
        let mut splice = Splice::default();
        shorten(&message, tool, schema, 20, &mut splice).unwrap();
        let mut out = Spool::new(SpoolLimits::default());
        splice.write(&message, tool.span.clone(), &Spool::from_vec(Vec::new()), &mut out).unwrap();
        String::from_utf8(out.into_vec().unwrap()).unwrap()
    }

    #[test]
    fn descriptions_end_after_a_sentence_or_a_word() {
        for (text, expected) in [
            ("Short.", None),
            ("exactly twenty chars", None),
            ("Reads a file. Then it does more.", Some("Reads a file. …")),
            ("Reads the whole file and more of it", Some("Reads the whole file…")),
            ("No. But the rest has no sentence end", Some("No. But the rest has…")),
            ("0123456789012345678901234567890", Some("01234567890123456789…")),
            ("ééééééééééééééééééééé", Some("éééééééééééééééééééé…")),
        ] {
            assert_eq!(shorter(text, 20).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_keywords_are_shortened() {
        let long = "A very long description of something else";
        let short = "A very long…";
        let tool = |text: &str, examples: &str| {
            format!(
                r#"{{"name":"t","description":"{text}","inputSchema":{{"type":"object","properties":{{"description":{{"type":"string","description":"{text}"{examples}}},"examples":{{"default":{{"description":"{long}","examples":[1]}},"enum":["{long}"],"items":{{"anyOf":[{{"description":"{text}"}}]}}}}}}}},"outputSchema":{{"description":"{long}"}},"_meta":{{"description":"{long}"}}}}"#
            )
        };
        assert_eq!(shortened(&tool(long, r#","examples":["a",["b"]]"#)), tool(short, ""));
    }

    #[test]
    fn repeated_enums_are_written_once() {
        let words = r#"["alpha","beta","gamma","delta","epsilon","zeta","eta"]"#;
        let tool = |a: &str, b: &str, more: &str| {
            format!(
                r#"{{"inputSchema":{{"type":"object","properties":{{"a":{{"type":"string",{a}}},"b":{{{b},"type":"string"}},"c":{{"enum":["x"]}},"d":{{"enum":["x"]}}}}{more}}}}}"#
            )
        };
        let listed = format!("\"enum\":{words}");
        let reference = r##""$ref":"#/$defs/e1""##;
        let defs = format!(r#","$defs":{{"e1":{{"enum":{words}}}}}"#);
        assert_eq!(shortened(&tool(&listed, &listed, "")), tool(reference, reference, &defs));
        // Only one of them, definitions of its own, or a dialect in which references have no neighbours.
        for unchanged in [
            tool(&listed, "\"x\":1", ""),
            tool(&listed, &listed, r#","$defs":{}"#),
            tool(&listed, &listed, r#","$schema":"http://json-schema.org/draft-07/schema#""#),
        ] {
            assert_eq!(shortened(&unchanged), unchanged);
        }
    }
}
