//! Rewrites a page of the list of tools.
//!
//! A result that is filtered does not fit the schema that the tool declares for it, and clients check that. A tool
//! without a schema is not checked, so the schema is removed. Everything else of a tool stays byte for byte, apart from
//! the properties of our parameters. Tools that the user hides are cut out, and descriptions are shortened where the user says so.

use std::ops::Range;

use super::{hint, retrieve, shorter_tool};
use crate::jsonrpc::find::{FindError, Found, ValueKind};
use crate::jsonrpc::head::{ListPart, Parts, short_text};
use crate::jsonrpc::splice::{Piece, Splice, cut_members, end_of};
use crate::jsonrpc::text;
use crate::policy::failure::Failure;
use crate::policy::proxy::{OwnParameters, Proxy};
use crate::policy::tool_call::ListedSchema;
use crate::rules::{OutputType, Parameters, Structured, is_open};
use crate::spool::Spool;

/// The most tools of a page that are recorded.
const MOST_LISTED: usize = 1_000;

/// The longest input schema that is remembered.
const LONGEST_SCHEMA: usize = 1 << 20;

/// Returns the replacements in a result of `tools/list`. `is_first`: it is the first page. `offers_retrieval`: it has to list
/// `tamis_retrieve`.
pub(crate) fn rewrite(
    message: &Spool,
    result: Range<u64>,
    proxy: &Proxy,
    is_first: bool,
    offers_retrieval: bool,
    listed: &mut Vec<(String, u64)>,
) -> Result<Splice, Failure> {
    let parts = Parts::<ListPart>::find(message, result).map_err(|error| match error {
        FindError::NotJson | FindError::Incomplete | FindError::Limit => Failure::TOO_COMPLEX,
        FindError::Io => Failure::IO,
    })?;
    let mut splice = Splice::default();
    let mut members = Members::new(&parts);
    let hides = proxy.hides_tools();
    if hides && parts.repeats(&[ListPart::Tools]) {
        return Err(Failure::AMBIGUOUS);
    }
    if is_first {
        let names: Vec<String> =
            parts.all(ListPart::Name).iter().filter_map(|name| short_text(message, name)).collect();
        proxy.inner_tools.learn(names.iter().map(String::as_str));
    }
    let longest = proxy.longest_description();
    let mut hidden: Vec<&Found> = Vec::new();
    for tool in parts.all(ListPart::Tool) {
        let index = tool.indices.first().copied().unwrap_or_default();
        let members = members.of(index);
        // A tool with two names, or with none, is one that nobody can decide about.
        let is_clear = members.names == 1;
        let name = members.name.and_then(|found| short_text(message, found));
        if hides && !(is_clear && name.as_deref().is_some_and(|name| proxy.allows(name))) {
            hidden.push(tool);
            continue;
        }
        let Some(name) = name else { continue };
        if name == proxy.retrieval_tool() && proxy.has_retrieval() {
            return Err(Failure(
                "the server has a tool with the name of the proxy's; start the proxy with --store off",
            ));
        }
        proxy.note_listed(&name);
        if listed.len() < MOST_LISTED {
            listed.push((text::short(&name, 128), tool.span.end - tool.span.start));
        }
        let own = Parameters { raw: members.has_output_mode, budget: members.has_budget };
        let shrinking = hint::argument(message, members.input_schema, members.properties)?;
        let listed = listed_schema(message, &name, &members.output_schemas, proxy);
        proxy.learn_parameters(name.clone(), OwnParameters { as_ours: own, shrinking, listed });
        if let Some(schema) = members.input_schema.filter(|_| proxy.keeps_schemas())
            && let Ok(schema) = message.to_vec(schema.span.clone(), LONGEST_SCHEMA)
        {
            proxy.learn_schema(&name, schema);
        }
        if let Some(longest) = longest {
            shorter_tool::shorten(message, tool, members.input_schema, longest, &mut splice)?;
        }
        let Some(filter) = proxy.filter(&name) else { continue };
        let keeps = filter.keeps_everything && filter.structured != Structured::Drop;
        match (listed, &filter.output_type) {
            (Some(ListedSchema::Servers { .. }), _) => {}
            (Some(ListedSchema::Ours), Some(output_type)) => {
                declare(message, tool, &members.output_schemas, output_type, &mut splice)?;
            }
            _ if keeps => {}
            _ => cut_members(message, &tool.span, members.output_schemas, &mut splice)?,
        }
        let offered = Parameters {
            raw: filter.parameters.raw && !own.raw && listed != Some(ListedSchema::Ours),
            budget: filter.parameters.budget && !own.budget,
        };
        add_parameters(message, members.input_schema, members.properties, offered, &mut splice)?;
    }
    let is_last = parts.last(ListPart::NextCursor).is_none_or(|it| it.kind == ValueKind::Null);
    if is_last && parts.has(ListPart::Tools) {
        proxy.warn_of_unlisted();
    }
    if let Some(tools) = parts.last(ListPart::Tools) {
        cut_members(message, &tools.span, hidden.iter().copied(), &mut splice)?;
    }
    if offers_retrieval
        && let Some(tools) = parts.last(ListPart::Tools)
        && tools.kind == ValueKind::Array
    {
        let (at, comma) = end_of(message, &tools.span)?;
        let is_empty = hidden.len() == parts.all(ListPart::Tool).len();
        let comma = if comma && !is_empty { "," } else { "" };
        splice.insert(
            at,
            format!("{comma}{}", retrieve::definition(proxy.retrieval_tool())).into_bytes(),
        );
    }
    Ok(splice)
}

/// Returns which schema is listed for the results of a tool. `None`: results have no type.
fn listed_schema(
    message: &Spool,
    name: &str,
    of_server: &[&Found],
    proxy: &Proxy,
) -> Option<ListedSchema> {
    if !proxy.types_results() {
        return None;
    }
    let Some(filter) = proxy.untyped_filter(name) else { return Some(ListedSchema::Nothing) };
    if filter.structured == Structured::Drop {
        return Some(ListedSchema::Nothing);
    }
    // Where a rule removes for safety, some structured results are not sent.
    if let [found] = of_server
        && !filter.removes_for_safety
    {
        let schema = message.to_vec(found.span.clone(), LONGEST_SCHEMA).ok();
        let schema = schema.and_then(|schema| serde_json::from_slice(&schema).ok());
        let schema = schema.filter(|schema| !filter.is_of_user() || filter.keeps_schema(schema));
        if let Some(schema) = schema {
            return Some(ListedSchema::Servers { is_open: is_open(&schema) });
        }
    }
    let ours = filter.output_type.as_ref();
    Some(match ours.filter(|ours| ours.check(proxy.schema_compiler()).is_some()) {
        Some(_) => ListedSchema::Ours,
        None => ListedSchema::Nothing,
    })
}

/// Lists the schema of a filter for the results of a tool.
fn declare(
    message: &Spool,
    tool: &Found,
    of_server: &[&Found],
    output_type: &OutputType,
    splice: &mut Splice,
) -> Result<(), Failure> {
    let schema = output_type.schema().to_string();
    match of_server {
        [found] => splice.replace(found.span.clone(), Piece::Bytes(schema.into_bytes())),
        several => {
            cut_members(message, &tool.span, several.iter().copied(), splice)?;
            let (at, _) = end_of(message, &tool.span)?;
            splice.insert(at, format!(",\"outputSchema\":{schema}").into_bytes());
        }
    }
    Ok(())
}

/// Adds our parameters to the properties of an input schema.
fn add_parameters(
    message: &Spool,
    input_schema: Option<&Found>,
    properties: Option<&Found>,
    offered: Parameters,
    splice: &mut Splice,
) -> Result<(), Failure> {
    let is_object = |found: &&Found| found.kind == ValueKind::Object;
    let Some(input_schema) = input_schema.filter(is_object) else { return Ok(()) };
    let ours = properties_of(offered);
    if ours.is_empty() {
        return Ok(());
    }
    match properties {
        Some(properties) if properties.kind == ValueKind::Object => {
            let (at, comma) = end_of(message, &properties.span)?;
            let comma = if comma { "," } else { "" };
            splice.insert(at, format!("{comma}{ours}").into_bytes());
        }
        Some(_) => {}
        None => {
            let (at, comma) = end_of(message, &input_schema.span)?;
            let comma = if comma { "," } else { "" };
            splice.insert(at, format!("{comma}\"properties\":{{{ours}}}").into_bytes());
        }
    }
    Ok(())
}

/// Returns the members of `properties` that describe our parameters, without braces.
///
/// Every filtered tool has them, and every request of the client pays for them: they say only what a model needs.
fn properties_of(offered: Parameters) -> String {
    let raw = r#""_output_mode":{"enum":["raw"],"description":"unfiltered"}"#;
    let budget = r#""_budget":{"type":"integer","description":"most bytes"}"#;
    let all = [(offered.raw, raw), (offered.budget, budget)];
    let all: Vec<&str> = all.into_iter().filter(|(yes, _)| *yes).map(|(_, text)| text).collect();
    all.join(",")
}

/// The members of one tool.
#[derive(Debug, Default)]
struct ToolMembers<'a> {
    name: Option<&'a Found>,
    /// How many names it has.
    names: usize,
    output_schemas: Vec<&'a Found>,
    input_schema: Option<&'a Found>,
    properties: Option<&'a Found>,
    has_output_mode: bool,
    has_budget: bool,
}

/// Walks along the members of all tools, which come in the order of the tools.
struct Members<'a> {
    lists: [std::iter::Peekable<std::slice::Iter<'a, Found>>; 6],
}

impl<'a> Members<'a> {
    fn new(parts: &'a Parts<ListPart>) -> Self {
        let list = |part| parts.all(part).iter().peekable();
        Self {
            lists: [
                list(ListPart::Name),
                list(ListPart::OutputSchema),
                list(ListPart::InputSchema),
                list(ListPart::Properties),
                list(ListPart::OwnOutputMode),
                list(ListPart::OwnBudget),
            ],
        }
    }

    /// Returns the members of the tool at this position. Positions only grow.
    fn of(&mut self, index: u64) -> ToolMembers<'a> {
        let mut members = ToolMembers::default();
        let [names, outputs, inputs, properties, modes, budgets] = &mut self.lists;
        let next = |list: &mut std::iter::Peekable<std::slice::Iter<'a, Found>>| {
            list.next_if(|found| found.indices.first().is_some_and(|at| *at <= index))
        };
        while let Some(found) = next(names) {
            members.name = Some(found);
            members.names += 1;
        }
        while let Some(found) = next(outputs) {
            members.output_schemas.push(found);
        }
        while let Some(found) = next(inputs) {
            members.input_schema = Some(found);
        }
        while let Some(found) = next(properties) {
            members.properties = Some(found);
        }
        while next(modes).is_some() {
            members.has_output_mode = true;
        }
        while next(budgets).is_some() {
            members.has_budget = true;
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::properties_of;
    use crate::rewrite::retrieve::definition;
    use crate::rules::Parameters;

    #[test]
    fn lists_grow_by_few_tokens() {
        let count = |text: &str| tamis_tokens::token_lengths(text).count();
        let ours = properties_of(Parameters { raw: true, budget: true });
        for (text, most) in [(definition("tamis_retrieve").as_str(), 150), (ours.as_str(), 40)] {
            let tokens = count(text);
            assert!(tokens <= most, "{tokens} tokens: {text}");
        }
    }
}
