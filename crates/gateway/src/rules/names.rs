//! The names under which manifests and the catalog know a tool, and the services that servers are known to be.
//!
//! An MCP server calls its tool `list_issues`. A manifest may call it `github.list-issues`, and a client
//! `mcp__github__list_issues`.

/// Servers that are known to be a service of the catalog, by the name that they send.
const SERVERS: [(&str, &str); 7] = [
    ("github-mcp-server", "github"),
    ("mcp-atlassian", "jira"),
    ("kubernetes-mcp-server", "kubernetes"),
    ("Linear", "linear"),
    ("notion-mcp-server", "notion"),
    ("slack-mcp-server", "slack"),
    ("stripe-mcp-server", "stripe"),
];

/// Returns the service of the catalog that a server is known to be, by the name that it sends.
pub(crate) fn service_of(server: &str) -> Option<&'static str> {
    SERVERS.iter().find(|(name, _)| *name == server).map(|(_, service)| *service)
}

/// Returns the service of the catalog and the name within it, if the name of the tool has the service in it.
pub(crate) fn split(tool: &str) -> Option<(&'static str, &str)> {
    let tool = tool.strip_prefix("mcp__").unwrap_or(tool);
    SERVERS.iter().find_map(|(_, service)| {
        let rest = tool.strip_prefix(service)?;
        let name = ["__", ".", "_", "-"].iter().find_map(|between| rest.strip_prefix(between))?;
        (!name.is_empty()).then_some((*service, name))
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
    use super::{SERVERS, candidates, of_catalog, split};

    #[test]
    fn every_service_is_in_the_catalog() {
        let catalog = tamis::manifest::Manifest::catalog().unwrap();
        for (_, service) in SERVERS {
            assert!(catalog.names().any(|name| name.starts_with(&format!("{service}."))));
        }
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
