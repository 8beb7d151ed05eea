//! The filter of the catalog that the name of a tool means.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::files;
use crate::node::Node;

/// Why a name means no single filter of the catalog.
#[derive(Debug)]
pub(crate) enum NoBuiltin {
    Unknown,
    /// Several services have a tool of this name: the names of the filters.
    Several(Vec<&'static str>),
}

/// Returns the rules of the filter of the catalog that a name means.
pub(crate) fn builtin_rules(tool: &str) -> Result<&'static Node, NoBuiltin> {
    let found = files::filter(builtin_name(tool)?);
    found.map(|(_, rules)| rules).ok_or(NoBuiltin::Unknown)
}

/// Returns the names of all filters of the catalog.
pub(crate) fn builtin_names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names: Vec<_> = files::all_names().map(|(_, filter)| filter).collect();
        names.dedup();
        names
    })
}

/// Returns the name of the filter of the catalog that a name means.
pub(crate) fn builtin_name(tool: &str) -> Result<&'static str, NoBuiltin> {
    let exact = files::filter(tool).map(|(name, _)| name);
    let with_service = || meanings(tool).into_iter().find_map(|(of, name)| builtin(of, name));
    if let Some(name) = exact.or_else(with_service) {
        return Ok(name);
    }
    let own = hyphenated(tool);
    let mut candidates: Vec<_> = files::all_names()
        .filter(|(name, _)| name.split_once('.').is_some_and(|(_, name)| name == own))
        .map(|(_, filter)| filter)
        .collect();
    candidates.dedup();
    match *candidates {
        [] => Err(NoBuiltin::Unknown),
        [name] => Ok(name),
        _ => Err(NoBuiltin::Several(candidates)),
    }
}

/// Returns the name of the filter of the catalog for a tool of a service.
pub(crate) fn builtin(service: &str, tool: &str) -> Option<&'static str> {
    let name = format!("{}.{}", hyphenated(service), hyphenated(tool));
    Some(files::filter(&name)?.0)
}

/// Returns each service of the catalog that the name of a tool contains, with the rest of the name. A server may repeat
/// the service: `mcp__slack__slack_list_channels`.
pub(crate) fn meanings(tool: &str) -> Vec<(&'static str, &str)> {
    let mut meanings = Vec::new();
    let rest = tool.strip_prefix("mcp__").unwrap_or(tool);
    for service in files::services() {
        let mut rest = rest;
        while let Some(name) = without_service(rest, service) {
            meanings.push((service, name));
            rest = name;
        }
    }
    if let Some((server, name)) = parts_of_mcp_name(tool) {
        let services = services_of_server(server);
        for service in services {
            if !meanings.contains(&(*service, name)) {
                meanings.push((*service, name));
            }
        }
    }
    meanings
}

/// Returns the rest of a name that begins with a service.
fn without_service<'a>(name: &'a str, service: &str) -> Option<&'a str> {
    let (start, rest) = name.split_at_checked(service.len())?;
    let rest = ["__", ".", "_", "-"].iter().find_map(|between| rest.strip_prefix(between))?;
    (!rest.is_empty() && hyphenated(start) == service).then_some(rest)
}

/// Splits a name such as `mcp__crm__list_users` into the name of the server and that of the tool.
pub(crate) fn parts_of_mcp_name(tool: &str) -> Option<(&str, &str)> {
    let (server, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!name.is_empty()).then_some((server, name))
}

/// Returns a name as the catalog writes it.
pub(crate) fn hyphenated(name: &str) -> String {
    name.replace('_', "-")
}

/// Returns the services that an MCP server offers, by the name that it gives itself.
pub(crate) fn services_of_server(server: &str) -> &'static [&'static str] {
    static SERVICES: OnceLock<HashMap<&str, Vec<&str>>> = OnceLock::new();
    let services = SERVICES.get_or_init(|| {
        let mut services: HashMap<_, Vec<_>> = HashMap::new();
        for (server, service) in files::servers() {
            services.entry(server).or_default().push(service);
        }
        services
    });
    services.get(server).map_or(&[], Vec::as_slice)
}
