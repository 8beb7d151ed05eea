//! Counts what each tool of an MCP server costs in every request: the tokens of its name, description and input schema.
//!
//! The input is a result of `tools/list`, alone or as a response, or the array of its tools. Clients send these three
//! members to the model, each in a form of its own, so that braces and names of members are not counted.

use std::fmt;

use indicatif::HumanCount;
use serde::Serialize;
use struson::reader::{JsonReader, JsonStreamReader, ValueType};
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis_tokens::token_lengths;

use crate::console::print::one_line;

/// The longest list that is read.
pub(super) const LONGEST_LIST: u64 = 16 << 20;

/// The costs of a list of tools, the most expensive tool first.
#[derive(Debug, Serialize)]
pub(super) struct ToolCosts {
    version: u32,
    /// Tokens of all tools.
    tokens: u64,
    tools: Vec<ToolCost>,
}

/// The cost of one tool.
#[derive(Debug, Serialize)]
struct ToolCost {
    name: String,
    tokens: u64,
    /// Tokens of the description.
    description: u64,
    /// Tokens of the input schema.
    input_schema: u64,
}

/// Whether a document may be a list of tools, by its first bytes.
pub(super) fn may_be_tools(first: &[u8]) -> bool {
    let has = |name: &[u8]| first.windows(name.len()).any(|window| window == name);
    has(b"\"inputSchema\"") && has(b"\"name\"")
}

/// Returns the costs of the tools in a document. `None`: it is not a list of tools.
pub(super) fn tool_costs(json: &[u8]) -> Option<ToolCosts> {
    let mut reader = JsonStreamReader::new(json);
    let mut tools = match reader.peek().ok()? {
        ValueType::Array => list(&mut reader),
        ValueType::Object => enter(&mut reader, &["tools"])
            .or_else(|| enter(&mut JsonStreamReader::new(json), &["result", "tools"])),
        _ => None,
    }?;
    tools.sort_by(|one, other| {
        other.tokens.cmp(&one.tokens).then_with(|| one.name.cmp(&other.name))
    });
    Some(ToolCosts { version: 1, tokens: tools.iter().map(|tool| tool.tokens).sum(), tools })
}

/// Reads the list at the end of a path of names.
fn enter(reader: &mut JsonStreamReader<&[u8]>, path: &[&str]) -> Option<Vec<ToolCost>> {
    for name in path {
        if reader.peek().ok()? != ValueType::Object {
            return None;
        }
        reader.begin_object().ok()?;
        while reader.next_name().ok()? != *name {
            reader.skip_value().ok()?;
        }
    }
    list(reader)
}

/// Reads a list of tools. `None`: it is empty, or has something else.
fn list(reader: &mut JsonStreamReader<&[u8]>) -> Option<Vec<ToolCost>> {
    let mut tools = Vec::new();
    if reader.peek().ok()? != ValueType::Array {
        return None;
    }
    reader.begin_array().ok()?;
    while reader.has_next().ok()? {
        tools.push(tool(reader)?);
    }
    (!tools.is_empty()).then_some(tools)
}

/// Reads a tool.
fn tool(reader: &mut JsonStreamReader<&[u8]>) -> Option<ToolCost> {
    let (mut name, mut description, mut schema) = (None, String::new(), None);
    if reader.peek().ok()? != ValueType::Object {
        return None;
    }
    reader.begin_object().ok()?;
    while reader.has_next().ok()? {
        match (reader.next_name_owned().ok()?.as_str(), reader.peek().ok()?) {
            ("name", ValueType::String) => name = Some(reader.next_string().ok()?),
            ("description", ValueType::String) => description = reader.next_string().ok()?,
            ("inputSchema", ValueType::Object) => schema = Some(minified(reader)?),
            _ => reader.skip_value().ok()?,
        }
    }
    reader.end_object().ok()?;
    let (name, schema) = (name?, schema?);
    let tokens = |text: &str| token_lengths(text).count() as u64;
    let (description, input_schema) = (tokens(&description), tokens(&schema));
    let tokens = tokens(&name) + description + input_schema;
    Some(ToolCost { name, tokens, description, input_schema })
}

/// Reads a value, and returns it without white space.
fn minified(reader: &mut JsonStreamReader<&[u8]>) -> Option<String> {
    let mut text = Vec::new();
    let mut writer = JsonStreamWriter::new(&mut text);
    reader.transfer_to(&mut writer).ok()?;
    writer.finish_document().ok()?;
    String::from_utf8(text).ok()
}

impl fmt::Display for ToolCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tools.len();
        let plural = if count == 1 { "" } else { "s" };
        let tokens = HumanCount(self.tokens).to_string();
        writeln!(f, "{count} tool{plural}: {tokens} tokens in every request\n")?;
        writeln!(f, "{:>8} {:>6} {:>11} {:>7}  tool", "tokens", "share", "description", "schema")?;
        for tool in &self.tools {
            let share = (tool.tokens * 100 + self.tokens / 2) / self.tokens.max(1);
            writeln!(
                f,
                "{:>8} {:>5}% {:>11} {:>7}  {}",
                HumanCount(tool.tokens).to_string(),
                share,
                HumanCount(tool.description).to_string(),
                HumanCount(tool.input_schema).to_string(),
                one_line(&tool.name)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{may_be_tools, tool_costs};

    #[test]
    fn lists_of_tools_are_recognised() {
        let tool = r#"{"name":"get","description":"Reads a page.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}"#;
        let small = r#"{"name":"a","inputSchema": {}}"#;
        for list in [
            format!("[{small},{tool}]"),
            format!(r#"{{"tools":[{small}, {tool}],"nextCursor":"x"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tool},{small}]}}}}"#),
        ] {
            assert!(may_be_tools(list.as_bytes()));
            let costs = tool_costs(list.as_bytes()).unwrap();
            let names: Vec<_> = costs.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, ["get", "a"]);
            assert_eq!(costs.tokens, costs.tools.iter().map(|tool| tool.tokens).sum::<u64>());
            let first = costs.tools.first().unwrap();
            assert!(first.description > 0 && first.description < first.tokens);
        }
        for other in ["[]", r#"{"tools":[]}"#, r#"{"tools":[{"name":"x"}]}"#, "[1]"] {
            assert!(tool_costs(other.as_bytes()).is_none(), "{other}");
        }
    }
}
