//! One filter of a manifest: its name, its program and the place of its declaration.

use std::fmt;
use std::sync::Arc;

use super::delivery::Delivery;
use super::error::{Diagnostic, ManifestError, ManifestErrorKind};
use super::settings::Settings;
use super::{name, suggest};
use tamis::Program;
use tamis::Spec;
use tamis::reserved::ReservedParameters;

/// The maximum number of filters in one file, each of which is compiled while the file is read.
pub(super) const MAX_FILTERS: usize = 10_000;
/// The maximum number of names that are patterns, in all merged manifests together.
pub(super) const MAX_PATTERNS: usize = 1000;

/// A service's name and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) version: String,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// One more name of a filter.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    pub(super) name: String,
    pub(super) place: Diagnostic,
}

/// How much a filter with two levels leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// It leaves out only what is known to be noise, so that members that nobody knew of stay.
    Careful,
    /// It keeps only what is known to matter: the rules under `tight`.
    #[default]
    Tight,
}

/// One filter of a [`Manifest`](super::Manifest).
#[derive(Clone, Debug)]
pub struct ManifestEntry {
    pub(super) name: String,
    /// More names of the tool, with their places in the file.
    pub(super) aliases: Arc<[Alias]>,
    /// The only program, or the one of the tight level.
    pub(super) program: Program,
    /// The program of the careful level, if there are two.
    pub(super) careful: Option<Program>,
    pub(super) format: &'static str,
    /// The service that its artifact is bound to.
    pub(super) service: Option<Service>,
    /// The place of its name in the file.
    pub(super) place: Diagnostic,
    pub(super) warnings: Vec<Diagnostic>,
    /// Its keys that only a gateway reads.
    pub(super) delivery: Delivery,
    /// The servers that its file is for.
    pub(super) servers: Arc<[String]>,
    /// It is part of the built-in catalog.
    pub(super) is_builtin: bool,
}

impl ManifestEntry {
    /// Returns the name of the tool, or a pattern for names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Iterates over the other names of the tool, which may be patterns as well. Only tamis' own format has them.
    ///
    /// ```
    /// let text = "version: 1\nfilters:\n  crm.list: {aliases: [list, mcp__crm__list], select: [id]}\n";
    /// let manifest = tamis_manifest::Manifest::parse("tools.yaml", text)?;
    /// let entry = manifest.entry("mcp__crm__list")?;
    /// assert_eq!(entry.name(), "crm.list");
    /// assert!(entry.aliases().eq(["list", "mcp__crm__list"]));
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    pub fn aliases(&self) -> impl ExactSizeIterator<Item = &str> {
        self.aliases.iter().map(|alias| alias.name.as_str())
    }

    /// Iterates over all names with their places, the filter's own first.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &Diagnostic)> {
        let aliases = self.aliases.iter().map(|alias| (alias.name.as_str(), &alias.place));
        std::iter::once((self.name.as_str(), &self.place)).chain(aliases)
    }

    /// Whether the name is a pattern.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        name::is_pattern(&self.name)
    }

    /// Whether the name or an alias is a pattern.
    #[must_use]
    pub fn has_pattern(&self) -> bool {
        self.named().any(|(name, _)| name::is_pattern(name))
    }

    /// Whether the filter applies to the tool with this name.
    #[must_use]
    pub fn fits(&self, tool: &str) -> bool {
        let fits = |name: &str| name == tool || (name::is_pattern(name) && name::fits(name, tool));
        fits(&self.name) || self.aliases().any(fits)
    }

    /// Returns the rules as they were declared: those of the tight level, if there are two.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        self.program.spec()
    }

    /// Returns the compiled filter: that of the tight level, if there are two. A document that lacks what its `requires`
    /// names is filtered by the careful one. Clones share it.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the compiled filter of a level. A filter without `tight` has the same at both.
    ///
    /// ```
    /// use tamis::filter_slice;
    /// use tamis_manifest::{Level, Manifest};
    ///
    /// let text = "version: 1\nfilters:\n  crm.list: {root: items, omit: [etag], tight: {select: [id]}}\n";
    /// let manifest = Manifest::parse("tools.yaml", text)?;
    /// let entry = manifest.entry("crm.list")?;
    /// let json = br#"{"items":[{"id":1,"etag":"x","owner":"mira"}]}"#;
    /// let filtered = |level| filter_slice(entry.program_at(level), json).map(|(output, _)| output);
    /// assert_eq!(filtered(Level::Careful)?, br#"{"items":[{"id":1,"owner":"mira"}]}"#);
    /// assert_eq!(filtered(Level::Tight)?, br#"{"items":[{"id":1}]}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn program_at(&self, level: Level) -> &Program {
        match level {
            Level::Careful => self.careful.as_ref().unwrap_or(&self.program),
            Level::Tight => &self.program,
        }
    }

    /// Returns whether the filter has two levels.
    #[must_use]
    pub fn has_levels(&self) -> bool {
        self.careful.is_some()
    }

    /// Returns the format of the file that declares it: `tamis`, `kimbap`, `reshapr` or `aios`.
    #[must_use]
    pub fn format(&self) -> &str {
        self.format
    }

    /// Returns the name of the file that declares it.
    #[must_use]
    pub fn file(&self) -> &str {
        self.place.file()
    }

    /// Returns the line of its name, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.place.line()
    }

    /// Returns the parameters that the filter adds to the tool's own; see [`Spec::reserved_parameters`].
    #[must_use]
    pub fn reserved_parameters(&self) -> Option<ReservedParameters> {
        self.spec().reserved_parameters()
    }

    /// Returns warnings: rules that are valid but may not do what they appear to do, such as `exclude` under a root
    /// that depends on the document.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Returns the service that the filter's artifact is bound to, as `NAME@VERSION`. Only reShapr's artifacts have
    /// one.
    #[must_use]
    pub fn service(&self) -> Option<String> {
        self.service.as_ref().map(Service::to_string)
    }

    /// Returns the error for a name that several services have.
    pub(super) fn of_several(entries: &[&Self], tool: &str) -> ManifestError {
        let first = entries.first();
        let services: Vec<String> =
            entries.iter().take(10).filter_map(|entry| entry.service()).collect();
        let message = format!(
            "several services have a filter for the tool `{}`: {}; name one of them (--service)",
            suggest::short(tool),
            services.join(", ")
        );
        let problem = first.map_or_else(
            || Diagnostic::nowhere("", message.clone()),
            |entry| entry.place.clone().with_message(message.clone()),
        );
        ManifestError::new(ManifestErrorKind::Ambiguous, problem)
    }
}

/// The contents of a file that a format has read.
#[derive(Default)]
pub(super) struct Built {
    pub(super) entries: Vec<ManifestEntry>,
    /// The entry for all tools that are not named.
    pub(super) others: Option<ManifestEntry>,
    pub(super) settings: Settings,
}

/// Returns the message for more than [`MAX_PATTERNS`] patterns.
pub(super) fn too_many_patterns() -> String {
    format!(
        "more than {MAX_PATTERNS} names are patterns, and a look-up tries each; write exact names"
    )
}
