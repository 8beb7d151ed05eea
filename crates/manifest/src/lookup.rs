//! The filter of a tool under the names that MCP servers and clients give it.
//!
//! An MCP server calls its tool `list_issues`. A manifest may call it `github.list-issues`, and a client
//! `mcp__github__list_issues`. Names that the manifest declares always win.

use std::borrow::Cow;
use std::collections::HashSet;

use super::catalog::names::{
    self, NoBuiltin, builtin, builtin_name, hyphenated, meanings, parts_of_mcp_name,
};
use super::entry::ManifestEntry;
use super::error::{Diagnostic, ManifestError, ManifestErrorKind};
use super::manifest::Manifest;
use super::suggest;

impl Manifest {
    /// Returns the filter of a tool: the one that [`entry`](Self::entry) returns, or else the one whose name means the
    /// same tool. `mcp__crm__list_users` also means `crm.list_users` and `crm.list-users`. If the manifest declares
    /// `catalog: true`, tools that it does not name have the filters of the built-in catalog
    /// ([`catalog_entry`](Self::catalog_entry)).
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let text = "version: 1\ncatalog: true\nfilters:\n  crm.list-users: {select: [id]}\n";
    /// let manifest = Manifest::parse("tools.yaml", text)?;
    /// assert_eq!(manifest.find("mcp__crm__list_users")?.name(), "crm.list-users");
    /// assert_eq!(manifest.find("mcp__github__list_issues")?.name(), "github.list-issues");
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`program`](Self::program). A name that fits several services of the catalog is
    /// [`ManifestErrorKind::Ambiguous`].
    pub fn find(&self, tool: &str) -> Result<Cow<'_, ManifestEntry>, ManifestError> {
        let is_unknown = |error: &ManifestError| error.kind() == ManifestErrorKind::UnknownTool;
        let unknown = match self.entry(tool) {
            Err(error) if is_unknown(&error) => error,
            found => return found.map(Cow::Borrowed),
        };
        if let Some((service, name)) = parts_of_mcp_name(tool)
            && let Some(found) = self.entry_of_service(name, &[service])
        {
            return found.map(Cow::Borrowed);
        }
        if self.settings().catalog() != Some(true) {
            return Err(unknown);
        }
        let service = self.settings().service();
        if let Some(entry) = Self::catalog_entry_of_service(tool, service.as_slice()) {
            return Ok(Cow::Owned(entry));
        }
        match Self::catalog_entry(tool) {
            Err(error) if is_unknown(&error) => Err(unknown),
            found => found.map(Cow::Owned),
        }
    }

    /// Returns the filter for a tool, under any of the names that a manifest may give it: `list_users` of the service
    /// `crm` is also `crm.list_users`, `crm.list-users` and `mcp__crm__list_users`. A server may offer several services;
    /// the first one with a filter decides. Returns `None` if no name matches.
    ///
    /// # Errors
    /// As for [`entry`](Self::entry), except for unknown tools.
    pub fn entry_of_service(
        &self,
        tool: &str,
        services: &[&str],
    ) -> Option<Result<&ManifestEntry, ManifestError>> {
        candidates(tool, services).iter().find_map(|name| match self.entry(name) {
            Err(error) if error.kind() == ManifestErrorKind::UnknownTool => None,
            found => Some(found),
        })
    }

    /// Returns the filter of the built-in catalog for a tool. The name is one of the catalog, a name with the service or
    /// one of its MCP servers in it such as `mcp__github__list_issues`, or a tool's own name if only one service has such a
    /// tool. Hyphens and underscores are the same.
    ///
    /// ```
    /// use tamis_manifest::{Manifest, ManifestErrorKind};
    ///
    /// for name in ["github.list-issues", "mcp__github__list_issues", "github_list_issues"] {
    ///     assert_eq!(Manifest::catalog_entry(name)?.name(), "github.list-issues");
    /// }
    /// let error = Manifest::catalog_entry("github.list-isues").unwrap_err();
    /// assert_eq!(error.kind(), ManifestErrorKind::UnknownTool);
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// [`ManifestErrorKind::UnknownTool`] with the nearest name, or [`ManifestErrorKind::Ambiguous`] with the names of
    /// all filters that are meant.
    pub fn catalog_entry(tool: &str) -> Result<ManifestEntry, ManifestError> {
        let name = match builtin_name(tool) {
            Ok(name) => name,
            Err(NoBuiltin::Unknown) => tool,
            Err(NoBuiltin::Several(names)) => {
                let message = format!(
                    "several services have a tool `{}`; name one of {}",
                    suggest::short(tool),
                    names.join(", ")
                );
                let problem = Diagnostic::nowhere("the built-in catalog", message);
                return Err(ManifestError::new(ManifestErrorKind::Ambiguous, problem));
            }
        };
        Self::catalog_for(name)?.entry(name).cloned()
    }

    /// Returns the filter of the built-in catalog for a tool of one of the services that its server offers. If no service
    /// is given, the name of the tool must contain it. A service in the name must not be another one than those given.
    #[must_use]
    pub fn catalog_entry_of_service(tool: &str, services: &[&str]) -> Option<ManifestEntry> {
        let own = meanings(tool);
        let name = if own.is_empty() {
            services.iter().find_map(|service| builtin(service, tool))
        } else {
            let known = |service: &&str| services.is_empty() || services.contains(service);
            own.iter()
                .filter(|(service, _)| known(service))
                .find_map(|(of, name)| builtin(of, name))
        }?;
        Self::catalog_part(name)?.entry(name).ok().cloned()
    }

    /// Returns the services of the built-in catalog that an MCP server offers, by the name that it gives itself.
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// assert_eq!(Manifest::services_of_server("github-mcp-server"), ["github"]);
    /// assert_eq!(Manifest::services_of_server("Atlassian MCP"), ["confluence", "jira"]);
    /// assert!(Manifest::services_of_server("my-github-mcp-server").is_empty());
    /// ```
    #[must_use]
    pub fn services_of_server(server: &str) -> &'static [&'static str] {
        names::services_of_server(server)
    }
}

/// Returns the names under which a manifest may have a tool, the tool's own first.
fn candidates(tool: &str, services: &[&str]) -> Vec<String> {
    let mut names = vec![tool.to_owned()];
    let forms = |name: &str| [name.to_owned(), hyphenated(name), name.replace('-', "_")];
    for written in services {
        for service in forms(written) {
            names.extend(forms(tool).map(|tool| format!("{service}.{tool}")));
        }
        names.push(format!("mcp__{written}__{tool}"));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::{Manifest, candidates, meanings};

    #[test]
    fn names_with_a_service() {
        for (tool, expected) in [
            ("mcp__github__list_issues", &[("github", "list_issues")] as &[_]),
            ("github.list-issues", &[("github", "list-issues")]),
            ("github_list_issues", &[("github", "list_issues")]),
            ("slack-list-channels", &[("slack", "list-channels")]),
            ("mcp__slack__slack_list", &[("slack", "slack_list"), ("slack", "list")]),
            ("google_drive_list_files", &[("google-drive", "list_files")]),
            ("mcp__atlassian__getX", &[("confluence", "getX"), ("jira", "getX")]),
            ("list_issues", &[]),
            ("githubby_list", &[]),
            ("github", &[]),
            ("github_", &[]),
            ("mcp__githüb__list", &[]),
        ] {
            assert_eq!(meanings(tool), expected, "{tool}");
        }
    }

    #[test]
    fn names_that_real_servers_use() {
        for (tool, expected) in [
            ("mcp__github__list_pull_requests", "github.list-pulls"),
            ("mcp__github__get_pull_request_files", "github.list-pull-files"),
            ("mcp__slack__slack_get_channel_history", "slack.get-channel-history"),
            ("mcp__notion__API-post-database-query", "notion.query-database"),
            ("mcp__google_drive__list_files", "google-drive.list-files"),
            ("mcp__microsoft_graph__list_messages", "microsoft-graph.list-messages"),
            ("mcp__atlassian__searchJiraIssuesUsingJql", "jira.search"),
            ("mcp__atlassian__searchConfluenceUsingCql", "confluence.search"),
            ("getJiraIssue", "jira.get-issue"),
        ] {
            let found = Manifest::catalog_entry(tool).map(|entry| entry.name().to_owned());
            assert_eq!(found.as_deref().ok(), Some(expected), "{tool}");
        }
    }

    #[test]
    fn names_in_a_manifest() {
        assert_eq!(candidates("list", &[]), ["list"]);
        assert_eq!(
            candidates("list_all", &["crm"]),
            ["list_all", "crm.list_all", "crm.list-all", "mcp__crm__list_all"]
        );
        assert!(candidates("list-all", &["my_crm"]).contains(&"my-crm.list_all".to_owned()));
    }
}
