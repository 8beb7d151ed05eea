//! The files of the catalog, as texts and as trees.

use std::sync::OnceLock;

use crate::error::Text;
use crate::node::{Key, Node};
use crate::yaml;
use crate::yaml::FileLimits;

/// The files, by the first part of their tools' names.
pub(crate) const FILES: [(&str, &str); 31] = [
    ("aws", include_str!("aws.yaml")),
    ("brave-search", include_str!("brave-search.yaml")),
    ("cloudflare", include_str!("cloudflare.yaml")),
    ("confluence", include_str!("confluence.yaml")),
    ("datadog", include_str!("datadog.yaml")),
    ("docker", include_str!("docker.yaml")),
    ("elasticsearch", include_str!("elasticsearch.yaml")),
    ("fetch", include_str!("fetch.yaml")),
    ("filesystem", include_str!("filesystem.yaml")),
    ("gcp", include_str!("gcp.yaml")),
    ("github", include_str!("github.yaml")),
    ("gitlab", include_str!("gitlab.yaml")),
    ("gmail", include_str!("gmail.yaml")),
    ("google-calendar", include_str!("google-calendar.yaml")),
    ("google-drive", include_str!("google-drive.yaml")),
    ("hubspot", include_str!("hubspot.yaml")),
    ("jira", include_str!("jira.yaml")),
    ("kubernetes", include_str!("kubernetes.yaml")),
    ("linear", include_str!("linear.yaml")),
    ("microsoft-graph", include_str!("microsoft-graph.yaml")),
    ("notion", include_str!("notion.yaml")),
    ("npm", include_str!("npm.yaml")),
    ("pagerduty", include_str!("pagerduty.yaml")),
    ("playwright", include_str!("playwright.yaml")),
    ("postgres", include_str!("postgres.yaml")),
    ("pypi", include_str!("pypi.yaml")),
    ("sentry", include_str!("sentry.yaml")),
    ("shopify", include_str!("shopify.yaml")),
    ("slack", include_str!("slack.yaml")),
    ("stripe", include_str!("stripe.yaml")),
    ("vercel", include_str!("vercel.yaml")),
];

/// The trees of the files, for filters that extend one of theirs.
static TREES: [OnceLock<Option<Node>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

fn tree(number: usize) -> Option<&'static Node> {
    let ((service, text), tree) = (FILES.get(number)?, TREES.get(number)?);
    tree.get_or_init(|| yaml::parse(&Text::new(service, text), &FileLimits::MANIFEST).ok()).as_ref()
}

/// Returns the names and rules of the filters of a file.
pub(crate) fn filters(number: usize) -> &'static [(Key, Node)] {
    tree(number).and_then(|tree| tree.get("filters")?.entries()).unwrap_or_default()
}

/// Iterates over the services of the catalog.
pub(crate) fn services() -> impl ExactSizeIterator<Item = &'static str> {
    FILES.iter().map(|(service, _)| *service)
}

/// Iterates over the MCP servers that the files name, each with the service of the file.
pub(super) fn servers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let servers = |number| tree(number).and_then(|tree| tree.get("servers")?.items());
    services().enumerate().flat_map(move |(number, service)| {
        let named = servers(number).unwrap_or_default().iter().filter_map(Node::as_text);
        named.map(move |server| (server, service))
    })
}

/// Iterates over the name of a filter and its `aliases`.
fn names(key: &'static Key, rules: &'static Node) -> impl Iterator<Item = &'static str> {
    let aliases = rules.get("aliases").and_then(Node::items).unwrap_or_default();
    std::iter::once(key.text.as_str()).chain(aliases.iter().filter_map(Node::as_text))
}

/// Returns the position of the file that has a tool, by the first part of its name.
pub(crate) fn file_of(tool: &str) -> Option<usize> {
    let (service, _) = tool.split_once('.')?;
    FILES.iter().position(|(name, _)| *name == service)
}

/// Returns the name of a filter and its rules as they are written in the catalog, by its name or one of its other
/// names. Parses only the file that has it.
pub(super) fn filter(name: &str) -> Option<(&'static str, &'static Node)> {
    let mut filters = filters(file_of(name)?).iter();
    let (key, rules) = filters.find(|(key, rules)| names(key, rules).any(|own| own == name))?;
    Some((&key.text, rules))
}

/// Iterates over all names of all filters of the catalog, each with the name of the filter.
pub(super) fn all_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = (0..FILES.len()).flat_map(filters);
    all.flat_map(|(key, rules)| names(key, rules).map(|name| (name, key.text.as_str())))
}
