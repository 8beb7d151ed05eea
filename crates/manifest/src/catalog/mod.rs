//! The built-in catalog: manifests that are part of the program.
//!
//! The catalog consists of manifests only. A file is parsed once, when one of its tools is first looked up. Invariant,
//! tested: each file parses, and all names in `github.yaml` begin with `github.`.

use std::sync::OnceLock;

use crate::error::Text;
use crate::node::{Key, Node};
use crate::{Manifest, ManifestError, yaml};

/// The files, by the first part of their tools' names.
const FILES: [(&str, &str); 31] = [
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

type Parsed = OnceLock<Result<Manifest, ManifestError>>;

static PARSED: [Parsed; FILES.len()] = [const { Parsed::new() }; FILES.len()];

fn parsed(number: usize) -> Option<Result<Manifest, ManifestError>> {
    let ((service, text), parsed) = (FILES.get(number)?, PARSED.get(number)?);
    let parse = || Manifest::parse_builtin(&format!("catalog/{service}.yaml"), text);
    Some(parsed.get_or_init(parse).clone())
}

/// The trees of the files, for filters that extend one of theirs.
static TREES: [OnceLock<Option<Node>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// Returns the names and rules of the filters of a file.
fn filters(number: usize) -> &'static [(Key, Node)] {
    let (Some((service, text)), Some(tree)) = (FILES.get(number), TREES.get(number)) else {
        return &[];
    };
    let tree = tree.get_or_init(|| yaml::parse(&Text::new(service, text)).ok());
    let filters = tree.as_ref().and_then(|tree| tree.get("filters")?.entries());
    filters.unwrap_or_default()
}

/// Iterates over the name of a filter and its `aliases`.
fn names(key: &'static Key, rules: &'static Node) -> impl Iterator<Item = &'static str> {
    let aliases = rules.get("aliases").and_then(Node::items).unwrap_or_default();
    std::iter::once(key.text.as_str()).chain(aliases.iter().filter_map(Node::as_text))
}

/// Returns the position of the file that has a tool, by the first part of its name.
fn file_of(tool: &str) -> Option<usize> {
    let (service, _) = tool.split_once('.')?;
    FILES.iter().position(|(name, _)| *name == service)
}

impl Manifest {
    /// Returns the name of a filter and its rules as they are written in the catalog, by its name or one of its other
    /// names. Parses only the file that has it.
    pub(crate) fn builtin_filter(name: &str) -> Option<(&'static str, &'static Node)> {
        let mut filters = filters(file_of(name)?).iter();
        let (key, rules) = filters.find(|(key, rules)| names(key, rules).any(|own| own == name))?;
        Some((&key.text, rules))
    }

    /// Returns the part of the catalog that has a tool of exactly this name.
    pub(crate) fn catalog_part(tool: &str) -> Option<Self> {
        parsed(file_of(tool)?)?.ok().filter(|part| part.entry(tool).is_ok())
    }

    /// Iterates over all names of all filters of the catalog, each with the name of the filter.
    pub(crate) fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = (0..FILES.len()).flat_map(filters);
        all.flat_map(|(key, rules)| names(key, rules).map(|name| (name, key.text.as_str())))
    }

    /// Returns a filter of the built-in catalog as a manifest of its own, with its comments. The name is one that
    /// [`catalog_entry`](Self::catalog_entry) knows.
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let text = Manifest::catalog_yaml("github.list-repos")?;
    /// let manifest = Manifest::parse("repos.yaml", &text)?;
    /// assert!(manifest.names().eq(["github.list-repos"]));
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`catalog_entry`](Self::catalog_entry).
    pub fn catalog_yaml(tool: &str) -> Result<String, ManifestError> {
        let entry = Self::catalog_entry(tool)?;
        let name = entry.name();
        let file = file_of(name);
        let text = file.and_then(|file| FILES.get(file)).map_or("", |(_, text)| *text);
        let filters = file.map_or(&[] as &[_], filters);
        let number = filters.iter().position(|(key, _)| key.text == name).unwrap_or(0);
        let start_of =
            |number: usize| filters.get(number).map(|(key, _)| start(text, key.at.start));
        let start = start_of(number).unwrap_or(0);
        let end = start_of(number + 1).unwrap_or(text.len());
        let filter = text.get(start..end).unwrap_or_default().trim_end();
        Ok(format!("version: 1\nfilters:\n{filter}\n"))
    }

    /// Returns the whole built-in catalog.
    ///
    /// ```
    /// let catalog = tamis_manifest::Manifest::catalog()?;
    /// assert!(catalog.names().any(|name| name == "github.list-repos"));
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// None in a released version: a test parses every file.
    pub fn catalog() -> Result<Self, ManifestError> {
        let all: Result<Vec<_>, _> = (0..FILES.len()).filter_map(parsed).collect();
        Self::merge_as("the built-in catalog", &all?)
    }

    /// Iterates over the services of the built-in catalog. The name of each of its tools begins with one of them and a
    /// dot.
    ///
    /// ```
    /// assert!(tamis_manifest::Manifest::services().any(|service| service == "github"));
    /// ```
    pub fn services() -> impl ExactSizeIterator<Item = &'static str> {
        FILES.iter().map(|(service, _)| *service)
    }

    /// Returns the part of the built-in catalog that has a tool. If no part has it, returns the whole catalog, which
    /// can suggest the nearest name. Faster than [`catalog`](Self::catalog), since the other parts are not parsed.
    ///
    /// # Errors
    /// As for [`catalog`](Self::catalog).
    pub fn catalog_for(tool: &str) -> Result<Self, ManifestError> {
        Self::catalog_part(tool).map_or_else(Self::catalog, Ok)
    }
}

/// Returns the beginning of the lines that belong to a key: its own, and the comments before it.
fn start(text: &str, key: usize) -> usize {
    let before = text.get(..key).unwrap_or_default();
    let mut start = before.rfind('\n').map_or(0, |at| at + 1);
    while let Some(above) = text.get(..start.saturating_sub(1)).filter(|_| start > 0) {
        let line = above.rfind('\n').map_or(0, |at| at + 1);
        if !text.get(line..start).unwrap_or_default().trim_start().starts_with('#') {
            break;
        }
        start = line;
    }
    start
}

#[cfg(test)]
mod tests {
    use tamis_json::regex_budget::RegexBudget;

    use super::{FILES, Manifest};

    #[test]
    fn every_file_parses_and_keeps_to_its_service() {
        let mut names = 0;
        for (service, text) in FILES {
            let manifest = Manifest::parse(service, text).unwrap_or_else(|error| panic!("{error}"));
            assert!(manifest.names().len() > 0, "{service} has tools");
            for entry in manifest.entries() {
                assert!(entry.name().starts_with(&format!("{service}.")), "{}", entry.name());
                assert!(!entry.is_pattern(), "{}", entry.name());
                assert_eq!(entry.warnings(), [], "{}", entry.name());
                names += 1;
            }
        }
        assert_eq!(Manifest::catalog().unwrap().names().len(), names);
    }

    #[test]
    fn no_file_is_forgotten() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names =
            names.filter_map(|name| name.to_str()?.strip_suffix(".yaml").map(str::to_owned));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        let mut known: Vec<_> = FILES.iter().map(|(service, _)| *service).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn patterns_are_far_from_what_they_may_be() {
        for (service, text) in FILES {
            let mut allowance = RegexBudget::new();
            assert!(Manifest::parse_within(service, text, &mut allowance).is_ok(), "{service}");
            assert!(allowance.left() > RegexBudget::BYTES / 4 * 3, "{service}");
        }
    }

    #[test]
    fn every_filter_is_a_manifest_of_its_own() {
        for entry in Manifest::catalog().unwrap().entries() {
            let name = entry.name();
            let text = Manifest::catalog_yaml(name).unwrap();
            let own = Manifest::parse("own.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
            assert!(own.names().eq([name]), "{text}");
            assert_eq!(own.spec(name).unwrap(), entry.spec(), "{text}");
            // The rules are taken over unchanged, whatever numbers they contain.
            for extends in
                [format!("{name}: {{extends: {name}}}"), format!("x: {{extends: {name}}}")]
            {
                let text = format!("version: 1\nfilters: {{{extends}}}\n");
                let own =
                    Manifest::parse("own.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(own.entries().next().unwrap().spec(), entry.spec(), "{name}");
            }
        }
    }

    #[test]
    fn a_tool_is_found_in_its_part() {
        let part = Manifest::catalog_for("github.list-repos").unwrap();
        assert!(part.program("github.list-repos").is_ok());
        for unknown in ["github.list-repo", "gihub.list-repos", "", "."] {
            let all = Manifest::catalog_for(unknown).unwrap();
            assert_eq!(all.names().len(), Manifest::catalog().unwrap().names().len());
            // A user cannot look into these files, so errors do not name them.
            let error = all.program(unknown).unwrap_err().to_string();
            assert!(error.starts_with("the built-in catalog: no filter for"), "{error}");
        }
    }
}
