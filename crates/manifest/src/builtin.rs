//! The files of the built-in catalog as manifests. A file is parsed once, when one of its tools is first looked up.

use std::sync::OnceLock;

use super::catalog::files::{self, FILES, file_of, filters};
use super::error::ManifestError;
use super::manifest::Manifest;

type Parsed = OnceLock<Result<Manifest, ManifestError>>;

static PARSED: [Parsed; FILES.len()] = [const { Parsed::new() }; FILES.len()];

fn parsed(number: usize) -> Option<Result<Manifest, ManifestError>> {
    let ((service, text), parsed) = (FILES.get(number)?, PARSED.get(number)?);
    let parse = || Manifest::parse_builtin(&format!("catalog/{service}.yaml"), text);
    Some(parsed.get_or_init(parse).clone())
}

impl Manifest {
    /// Returns the part of the catalog that has a tool of exactly this name.
    pub(crate) fn catalog_part(tool: &str) -> Option<Self> {
        parsed(file_of(tool)?)?.ok().filter(|part| part.entry(tool).is_ok())
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
        files::services()
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
