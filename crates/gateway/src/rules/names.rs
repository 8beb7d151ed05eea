//! The names under which manifests and the catalog know a tool, and the services that servers are known to be.
//!
//! An MCP server calls its tool `list_issues`. A manifest may call it `github.list-issues`, and a client
//! `mcp__github__list_issues`.

use std::collections::HashMap;
use std::sync::OnceLock;

use tamis::manifest::Manifest;

/// Returns the service of the catalog that a server is known to be, by the name that it sends.
pub(crate) fn service_of(server: &str) -> Option<&'static str> {
    static SERVICES: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    let services = SERVICES.get_or_init(|| {
        let Ok(catalog) = Manifest::catalog() else { return HashMap::new() };
        let mut services = HashMap::new();
        for entry in catalog.entries() {
            let service = entry.name().split_once('.').map(|(service, _)| service);
            let service = Manifest::services().find(|known| Some(*known) == service);
            for server in entry.servers() {
                services.extend(service.map(|service| (server.clone(), service)));
            }
        }
        services
    });
    services.get(server).copied()
}

/// Returns the service of the catalog and the name within it, if the name of the tool has the service in it.
pub(crate) fn split(tool: &str) -> Option<(&'static str, &str)> {
    let tool = tool.strip_prefix("mcp__").unwrap_or(tool);
    Manifest::services().find_map(|service| {
        let rest = tool.strip_prefix(service)?;
        let name = ["__", ".", "_", "-"].iter().find_map(|between| rest.strip_prefix(between))?;
        (!name.is_empty()).then_some((service, name))
    })
}

/// Returns the name of a tool in the catalog.
pub(crate) fn of_catalog(service: &str, name: &str) -> String {
    format!("{service}.{}", name.replace('_', "-"))
}

/// Returns the names under which a manifest may have a tool, the tool's own first.
pub(crate) fn candidates(tool: &str, service: Option<&str>) -> Vec<String> {
    let mut names = vec![tool.to_owned()];
    if let Some(service) = service {
        for name in [
            format!("{service}.{tool}"),
            of_catalog(service, tool),
            format!("mcp__{service}__{tool}"),
        ] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{candidates, of_catalog, service_of, split};

    #[test]
    fn servers_of_the_catalog() {
        assert_eq!(service_of("github-mcp-server"), Some("github"));
        assert_eq!(service_of("my-github-mcp-server"), None);
        let catalog = tamis::manifest::Manifest::catalog().unwrap();
        assert!(catalog.has(&of_catalog("github", "list_issues")));
    }

    #[test]
    fn names_with_a_service() {
        for (tool, expected) in [
            ("mcp__github__list_issues", Some(("github", "list_issues"))),
            ("github.list-issues", Some(("github", "list-issues"))),
            ("github_list_issues", Some(("github", "list_issues"))),
            ("slack-list-channels", Some(("slack", "list-channels"))),
            ("list_issues", None),
            ("githubby_list", None),
            ("github", None),
            ("github_", None),
        ] {
            assert_eq!(split(tool), expected, "{tool}");
        }
        assert_eq!(candidates("list", None), ["list"]);
        assert_eq!(
            candidates("list_all", Some("crm")),
            ["list_all", "crm.list_all", "crm.list-all", "mcp__crm__list_all"]
        );
    }
}
