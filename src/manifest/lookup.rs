//! The filter of a tool under the names that MCP servers and clients give it.
//!
//! An MCP server calls its tool `list_issues`. A manifest may call it `github.list-issues`, and a client
//! `mcp__github__list_issues`. Names that the manifest declares always win.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::error::{Diagnostic, ManifestError, ManifestErrorKind};
use super::node::Node;
use super::{Manifest, ManifestEntry, suggest};

/// Why a name means no single filter of the catalog.
#[derive(Debug)]
pub(super) enum NoBuiltin {
    Unknown,
    /// Several services have a tool of this name: the names of the filters.
    Several(Vec<&'static str>),
}

impl Manifest {
    /// Returns the filter of a tool: the one that [`entry`](Self::entry) returns, or else the one whose name means the
    /// same tool. `mcp__crm__list_users` also means `crm.list_users` and `crm.list-users`. If the manifest declares
    /// `catalog: true`, tools that it does not name have the filters of the built-in catalog
    /// ([`catalog_entry`](Self::catalog_entry)).
    ///
    /// ```
    /// use tamis::manifest::Manifest;
    ///
    /// let text = "version: 1\ncatalog: true\nfilters:\n  crm.list-users: {select: [id]}\n";
    /// let manifest = Manifest::parse("tools.yaml", text)?;
    /// assert_eq!(manifest.find("mcp__crm__list_users")?.name(), "crm.list-users");
    /// assert_eq!(manifest.find("mcp__github__list_issues")?.name(), "github.list-issues");
    /// # Ok::<(), tamis::manifest::ManifestError>(())
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
        if let Some((service, name)) =
            tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"))
            && let Some(found) =
                self.entry_of_service(name, Some(service)).filter(|_| !name.is_empty())
        {
            return found.map(Cow::Borrowed);
        }
        if self.settings().catalog() != Some(true) {
            return Err(unknown);
        }
        let service = self.settings().service();
        if let Some(entry) = Self::catalog_entry_of_service(tool, service) {
            return Ok(Cow::Owned(entry));
        }
        match Self::catalog_entry(tool) {
            Err(error) if is_unknown(&error) => Err(unknown),
            found => found.map(Cow::Owned),
        }
    }

    /// Returns the filter for a tool of a service, under any of the names that a manifest may give it: `list_users` of
    /// `crm` is also `crm.list_users`, `crm.list-users` and `mcp__crm__list_users`. Returns `None` if no name matches.
    ///
    /// # Errors
    /// As for [`entry`](Self::entry), except for unknown tools.
    pub fn entry_of_service(
        &self,
        tool: &str,
        service: Option<&str>,
    ) -> Option<Result<&ManifestEntry, ManifestError>> {
        candidates(tool, service).iter().find_map(|name| match self.entry(name) {
            Err(error) if error.kind() == ManifestErrorKind::UnknownTool => None,
            found => Some(found),
        })
    }

    /// Returns the filter of the built-in catalog for a tool. The name is that of the catalog, a name with the service in
    /// it such as `mcp__github__list_issues`, or a tool's own name if only one service has such a tool.
    ///
    /// ```
    /// use tamis::manifest::{Manifest, ManifestErrorKind};
    ///
    /// for name in ["github.list-issues", "mcp__github__list_issues", "github_list_issues"] {
    ///     assert_eq!(Manifest::catalog_entry(name)?.name(), "github.list-issues");
    /// }
    /// let error = Manifest::catalog_entry("github.list-isues").unwrap_err();
    /// assert_eq!(error.kind(), ManifestErrorKind::UnknownTool);
    /// # Ok::<(), tamis::manifest::ManifestError>(())
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

    /// Returns the filter of the built-in catalog for a tool whose service is known or is a part of the name.
    /// A service that the name contains must not be another one than the given one.
    #[must_use]
    pub fn catalog_entry_of_service(tool: &str, service: Option<&str>) -> Option<ManifestEntry> {
        let (service, name) = match (split(tool), service) {
            (Some((own, name)), known) if known.is_none_or(|known| known == own) => (own, name),
            (_, Some(service)) => (service, tool),
            (_, None) => return None,
        };
        let name = of_catalog(service, name);
        Self::catalog_part(&name)?.entry(&name).ok().cloned()
    }

    /// Returns the service of the built-in catalog that an MCP server is known to be, by the name that it gives itself.
    ///
    /// ```
    /// use tamis::manifest::Manifest;
    ///
    /// assert_eq!(Manifest::service_of_server("github-mcp-server"), Some("github"));
    /// assert_eq!(Manifest::service_of_server("my-github-mcp-server"), None);
    /// ```
    #[must_use]
    pub fn service_of_server(server: &str) -> Option<&'static str> {
        static SERVICES: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
        let services = SERVICES.get_or_init(|| {
            let Ok(catalog) = Self::catalog() else { return HashMap::new() };
            let mut services = HashMap::new();
            for entry in catalog.entries() {
                let service = entry.name().split_once('.').map(|(service, _)| service);
                let service = Self::services().find(|known| Some(*known) == service);
                for server in entry.servers() {
                    services.extend(service.map(|service| (server.clone(), service)));
                }
            }
            services
        });
        services.get(server).copied()
    }
}

/// Returns the rules of the filter of the catalog that a name means.
pub(super) fn builtin_rules(tool: &str) -> Result<&'static Node, NoBuiltin> {
    let found = Manifest::builtin_filter(builtin_name(tool)?);
    found.map(|(_, rules)| rules).ok_or(NoBuiltin::Unknown)
}

/// Returns the names of all filters of the catalog.
pub(super) fn builtin_names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(Manifest::builtin_filters)
}

/// Returns the name of the filter of the catalog that a name means.
fn builtin_name(tool: &str) -> Result<&'static str, NoBuiltin> {
    let exact = |name: &str| Some(Manifest::builtin_filter(name)?.0);
    let with_service = || exact(&split(tool).map(|(service, name)| of_catalog(service, name))?);
    if let Some(name) = exact(tool).or_else(with_service) {
        return Ok(name);
    }
    let own = tool.replace('_', "-");
    let meant = builtin_names()
        .iter()
        .filter(|name| name.split_once('.').is_some_and(|(_, name)| name == own));
    match *meant.copied().collect::<Vec<_>>() {
        [] => Err(NoBuiltin::Unknown),
        [name] => Ok(name),
        ref several => Err(NoBuiltin::Several(several.to_vec())),
    }
}

/// Returns the service of the catalog and the name within it, if the name of the tool has the service in it.
fn split(tool: &str) -> Option<(&'static str, &str)> {
    let tool = tool.strip_prefix("mcp__").unwrap_or(tool);
    Manifest::services().find_map(|service| {
        let rest = tool.strip_prefix(service)?;
        let name = ["__", ".", "_", "-"].iter().find_map(|between| rest.strip_prefix(between))?;
        (!name.is_empty()).then_some((service, name))
    })
}

/// Returns the name of a tool in the catalog.
fn of_catalog(service: &str, name: &str) -> String {
    format!("{service}.{}", name.replace('_', "-"))
}

/// Returns the names under which a manifest may have a tool, the tool's own first.
fn candidates(tool: &str, service: Option<&str>) -> Vec<String> {
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
    use super::{Manifest, candidates, of_catalog, split};

    #[test]
    fn names_with_a_service() {
        assert!(Manifest::catalog().unwrap().has(&of_catalog("github", "list_issues")));
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
