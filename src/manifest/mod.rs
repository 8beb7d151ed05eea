//! Manifests: files that map the names of tools to specs, in the formats of several systems.
//!
//! Knows specs and programs, no document and no file system ([`Manifest::load`](crate::Manifest::load) is in `io`). The
//! format is recognised by content; each is one file here, listed in [`FORMATS`]: what recognises it, and what makes
//! entries of it. Everything is compiled while it is read, so that what is wrong is said then, with its place.

mod aios;
mod building;
pub(crate) mod error;
mod kimbap;
pub(crate) mod name;
mod native;
mod node;
mod reshapr;
mod scalar;
mod schema;
mod service;
pub(crate) mod suggest;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub use error::{ManifestError, ManifestErrorKind, Problem};

use crate::filter::Program;
use crate::regex_budget::RegexBudget;
use crate::reserved::ReservedParameters;
use crate::spec::Spec;
use building::Building;
use error::{Problems, Text};
use node::{Node, Value};
use service::Service;
use smallvec::SmallVec;

pub(crate) use yaml::MAX_BYTES;

/// A format: one file beside this one.
struct Format {
    /// How errors and `check` call it.
    name: &'static str,
    /// What a file of it has, for the error about one that is none.
    signs: &'static str,
    recognises: fn(&Node) -> bool,
    /// Adds an entry for each tool, or says what is wrong.
    read: fn(&mut Building<'_>, &Node),
}

/// All formats, in the order in which they are asked.
const FORMATS: [&Format; 4] = [&reshapr::FORMAT, &native::FORMAT, &kimbap::FORMAT, &aios::FORMAT];

/// Filters of one file: each is compiled while the file is read.
const MAX_FILTERS: usize = 10_000;
/// Names that are patterns, in all manifests together.
const MAX_PATTERNS: usize = 1000;

/// What maps the names of tools to compiled filters.
///
/// Immutable, cheap to clone, to be shared by any number of threads. Names are exact, or patterns with `*` and `?`: an
/// exact name wins, then the pattern with most literal characters.
///
/// ```
/// use tamis::{Manifest, filter_slice};
///
/// let manifest = Manifest::parse("tools.yaml", "
/// version: 1
/// filters:
///   crm.list-users:
///     select: {id: id, login: owner.login}
///     max_items: 25
///   crm.*:
///     exclude: [password]
///     root: object
/// ")?;
/// let program = manifest.program("crm.list-users")?;
/// let (output, _) = filter_slice(&program, br#"[{"id": 1, "owner": {"login": "mira"}, "x": 2}]"#)?;
/// assert_eq!(output, br#"[{"id":1,"login":"mira"}]"#);
/// assert!(manifest.program("crm.get-user").is_ok());
/// assert_eq!(
///     manifest.program("cmr.list-users").unwrap_err().to_string(),
///     "tools.yaml: no filter for the tool `cmr.list-users`; did you mean `crm.list-users`?"
/// );
/// # Ok::<(), tamis::Error>(())
/// ```
///
/// # Reloading
///
/// A manifest never changes. Whoever serves calls keeps the current one where it can be swapped, and takes a clone for each
/// call; a new one that is wrong leaves the old one in force:
///
/// ```
/// use std::sync::RwLock;
/// use tamis::{Manifest, ManifestError, Program};
///
/// struct Gateway(RwLock<Manifest>);
///
/// impl Gateway {
///     fn reload(&self, text: &str) -> Result<(), ManifestError> {
///         let new = Manifest::parse("tools.yaml", text)?;
///         *self.0.write().unwrap() = new;
///         Ok(())
///     }
///
///     fn program(&self, tool: &str) -> Result<Program, ManifestError> {
///         self.0.read().unwrap().program(tool)
///     }
/// }
///
/// let text = "version: 1\nfilters: {list: {select: [id]}}\n";
/// let gateway = Gateway(RwLock::new(Manifest::parse("tools.yaml", text)?));
/// assert!(gateway.reload("version: 1\nfilters: {list: {slect: [id]}}\n").is_err());
/// assert!(gateway.program("list").is_ok());
/// # Ok::<(), ManifestError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Manifest(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The files, for messages.
    files: Vec<Arc<str>>,
    entries: Vec<ManifestEntry>,
    /// Exact names and patterns, by their text; of several services one each.
    by_name: HashMap<String, SmallVec<[usize; 1]>>,
    /// Patterns, most literal characters first.
    patterns: Vec<(usize, usize)>,
    /// For tools that no name fits: the full response, where the only file is a registry that has it so.
    others: Option<ManifestEntry>,
}

/// One filter of a [`Manifest`].
#[derive(Clone, Debug)]
pub struct ManifestEntry {
    name: String,
    program: Program,
    format: &'static str,
    /// Its artifact is bound to it.
    service: Option<Service>,
    /// Where its name stands.
    place: Problem,
    warnings: Vec<Problem>,
}

impl ManifestEntry {
    /// The name of the tool, or a pattern for names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name is a pattern.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        name::is_pattern(&self.name)
    }

    /// Whether the filter is for the tool of this name.
    #[must_use]
    pub fn fits(&self, tool: &str) -> bool {
        self.name == tool || (self.is_pattern() && name::fits(&self.name, tool))
    }

    /// What was declared.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        self.program.spec()
    }

    /// The compiled filter: a clone shares it.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The format of the file that it is from: `tamis`, `kimbap`, `reshapr`, `aios`.
    #[must_use]
    pub fn format(&self) -> &str {
        self.format
    }

    /// The file that it is from.
    #[must_use]
    pub fn file(&self) -> &str {
        self.place.file()
    }

    /// The line in which its name stands, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.place.line()
    }

    /// The parameters that the tool takes for its filter, beside its own; see [`Spec::reserved_parameters`].
    #[must_use]
    pub fn reserved_parameters(&self) -> Option<ReservedParameters> {
        self.spec().reserved_parameters()
    }

    /// What works, but is not what it may seem: rules that shall remove, or fail, under a root that depends on the
    /// document.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }
}

impl Manifest {
    /// Reads a manifest; `name` is what errors call the text, usually a path.
    ///
    /// # Errors
    /// Whatever is wrong with it, as far as it can be said at once, each with line, column, source line and caret. Texts of
    /// more than 16 MiB, more than 24 containers inside one another, 200,000 keys and values, aliases that stand for
    /// more than 100,000 of them, 10,000 filters, 100,000 steps in all paths, or 1,000 patterns are refused; so are text filters
    /// whose patterns compile to more than 10 MiB in one list, or 24 MiB in all of the file.
    ///
    /// # Complexity
    /// Linear in the text, beside the patterns of text filters: those take work and memory for what they compile to.
    pub fn parse(name: &str, text: &str) -> Result<Self, ManifestError> {
        Self::parse_within(name, text, &mut RegexBudget::new())
    }

    /// The same with so much for its patterns.
    pub(crate) fn parse_within(
        name: &str,
        text: &str,
        allowance: &mut RegexBudget,
    ) -> Result<Self, ManifestError> {
        let invalid = |problems: Problems| ManifestError::new(ManifestErrorKind::Invalid, problems);
        let text = Text::new(name, text.strip_prefix('\u{feff}').unwrap_or(text));
        let root = yaml::parse(&text).map_err(invalid)?;
        let format = FORMATS.iter().find(|format| (format.recognises)(&root));
        let Some(format) = format else { return Err(invalid(unrecognised(&text, &root).into())) };
        let mut building = Building::new(&text, format.name, allowance);
        (format.read)(&mut building, &root);
        let (entries, others) = building.finish().map_err(invalid)?;
        Self::build(vec![text.name().clone()], entries, others)
    }

    /// Reads a manifest from bytes, which must be UTF-8.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Self, ManifestError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(name, text),
            Err(error) => {
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
                let message = format!(
                    "the manifest is not UTF-8: byte {} in line {line}; save it as UTF-8",
                    error.valid_up_to()
                );
                let problem = Problem::nowhere(name, message);
                Err(ManifestError::new(ManifestErrorKind::Invalid, problem))
            }
        }
    }

    /// One manifest with the filters of all. Names that none of them has are unknown, even where one of several manifests is a
    /// tool registry of AIOS.
    ///
    /// # Errors
    /// A name that two of them have; both places are told.
    pub fn merge(manifests: impl IntoIterator<Item = Self>) -> Result<Self, ManifestError> {
        let mut manifests = manifests.into_iter();
        let Some(first) = manifests.next() else {
            return Self::build(Vec::new(), Vec::new(), None);
        };
        let mut rest = manifests.peekable();
        if rest.peek().is_none() {
            return Ok(first);
        }
        let (mut files, mut entries) = (first.0.files.clone(), first.0.entries.clone());
        for manifest in rest {
            files.extend(manifest.0.files.iter().cloned());
            entries.extend(manifest.0.entries.iter().cloned());
        }
        // What a registry does not name passes only where no other file could have named it.
        Self::build(files, entries, None)
    }

    /// As [`merge`](Self::merge), of manifests that are called by one name.
    pub(crate) fn merge_as(name: &str, manifests: &[Self]) -> Result<Self, ManifestError> {
        let entries = manifests.iter().flat_map(|manifest| &manifest.0.entries);
        Self::build(vec![name.into()], entries.cloned().collect(), None)
    }

    fn build(
        files: Vec<Arc<str>>,
        entries: Vec<ManifestEntry>,
        others: Option<ManifestEntry>,
    ) -> Result<Self, ManifestError> {
        let mut by_name: HashMap<String, SmallVec<[usize; 1]>> =
            HashMap::with_capacity(entries.len());
        let mut patterns = Vec::new();
        let mut problems = Problems::default();
        for (number, entry) in entries.iter().enumerate() {
            let same = by_name.entry(entry.name.clone()).or_default();
            let mut before = same.iter().filter_map(|number| entries.get(*number));
            let clash = before.find(|other| match (&other.service, &entry.service) {
                (Some(other), Some(own)) => other == own,
                _ => true,
            });
            same.push(number);
            if let Some(first) = clash {
                problems.push(|| {
                    let message = format!(
                        "`{}` has a filter already, at {}; leave one of them out",
                        suggest::short(&entry.name),
                        first.place.place()
                    );
                    entry.place.clone().with_message(message)
                });
            }
            if entry.is_pattern() {
                patterns.push((name::literals(&entry.name), number));
            }
        }
        if !problems.is_empty() {
            return Err(ManifestError::new(ManifestErrorKind::Invalid, problems));
        }
        if patterns.len() > MAX_PATTERNS {
            let message = too_many_patterns();
            let problem = Problem::nowhere(files.first().map_or("", |file| file), message);
            return Err(ManifestError::new(ManifestErrorKind::Invalid, problem));
        }
        patterns.sort_by_key(|(literals, _)| std::cmp::Reverse(*literals));
        Ok(Self(Arc::new(Inner { files, entries, by_name, patterns, others })))
    }

    /// The compiled filter for a tool. In a tool registry of AIOS, used without other manifests, a tool that no name fits has
    /// a filter under which the full response passes; its report says so ([`filter_error`](crate::Report::filter_error)).
    ///
    /// # Errors
    /// [`ManifestErrorKind::UnknownTool`] with what was probably meant; [`ManifestErrorKind::Ambiguous`] with both patterns.
    pub fn program(&self, tool: &str) -> Result<Program, ManifestError> {
        self.entry(tool).map(|entry| entry.program.clone())
    }

    /// What was declared for a tool.
    ///
    /// # Errors
    /// As for [`program`](Self::program).
    pub fn spec(&self, tool: &str) -> Result<&Spec, ManifestError> {
        self.entry(tool).map(ManifestEntry::spec)
    }

    /// The parameters that a tool takes for its filter, beside its own: kimbap's `_output_mode` and `_budget`, for a
    /// gateway to add to the tool's input schema. `None` for a tool whose filter changes no output
    /// ([`Spec::reserved_parameters`]). [`CallOptions::from_json`](crate::CallOptions::from_json) reads them.
    ///
    /// ```
    /// use tamis::Manifest;
    ///
    /// let manifest = Manifest::parse("crm.yaml", "
    /// actions:
    ///   list: {response: {compact: {item: '{{.id}}'}}}
    ///   get: {}
    /// ")?;
    /// let parameters = manifest.reserved_parameters("crm.list")?.unwrap();
    /// assert!(parameters.json_schema().starts_with(r#"{"properties":{"_output_mode":{"type":"string","enum":["default", "raw"]"#));
    /// assert_eq!(manifest.reserved_parameters("crm.get")?, None);
    /// # Ok::<(), tamis::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`program`](Self::program).
    pub fn reserved_parameters(
        &self,
        tool: &str,
    ) -> Result<Option<ReservedParameters>, ManifestError> {
        self.entry(tool).map(ManifestEntry::reserved_parameters)
    }

    /// The filter for a tool, with where it is from.
    ///
    /// # Errors
    /// As for [`program`](Self::program).
    pub fn entry(&self, tool: &str) -> Result<&ManifestEntry, ManifestError> {
        let Inner { entries, by_name, patterns, .. } = &*self.0;
        let named = by_name.get(tool).into_iter().flatten();
        let named: SmallVec<[&ManifestEntry; 1]> =
            named.filter_map(|number| entries.get(*number)).collect();
        match named.as_slice() {
            [] => {}
            [entry] => return Ok(entry),
            several => return Err(ManifestEntry::of_several(several, tool)),
        }
        let fitting = patterns.iter().filter_map(|(literals, number)| {
            let entry = entries.get(*number)?;
            entry.fits(tool).then_some((*literals, entry))
        });
        let mut fitting = fitting.take(2);
        match (fitting.next(), fitting.next()) {
            (Some((best, entry)), Some((next, other))) if best == next => {
                let message = format!(
                    "the tool `{}` fits `{}` and `{}` ({}) equally well; make one of them longer, or add the exact name",
                    suggest::short(tool),
                    entry.name,
                    other.name,
                    other.place.place(),
                );
                let problem = entry.place.clone().with_message(message);
                Err(ManifestError::new(ManifestErrorKind::Ambiguous, problem))
            }
            (Some((_, entry)), _) => Ok(entry),
            (None, _) => self.0.others.as_ref().ok_or_else(|| self.unknown(tool)),
        }
    }

    fn unknown(&self, tool: &str) -> ManifestError {
        let entries = &self.0.entries;
        let meant = match suggest::closest(tool, self.names()) {
            Some(close) => format!("did you mean `{close}`?"),
            None if entries.is_empty() => "it has none".to_owned(),
            None => {
                let mut names: Vec<&str> = self.names().take(10).collect();
                if entries.len() > names.len() {
                    names.push("…");
                }
                format!("there are {}", names.join(", "))
            }
        };
        let message = format!("no filter for the tool `{}`; {meant}", suggest::short(tool));
        let problem = Problem::nowhere(&self.files_named(), message);
        ManifestError::new(ManifestErrorKind::UnknownTool, problem)
    }

    /// What messages call the files.
    fn files_named(&self) -> String {
        let files = &self.0.files;
        let mut names: Vec<&str> = files.iter().take(5).map(|file| &**file).collect();
        names.dedup();
        if files.len() > 5 {
            names.push("…");
        }
        names.join(", ")
    }

    /// Whether a filter is for the tool of this name: quicker than a look-up that fails.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        let Inner { entries, by_name, patterns, .. } = &*self.0;
        let fits = |number: usize| entries.get(number).is_some_and(|entry| entry.fits(tool));
        by_name.contains_key(tool) || patterns.iter().any(|(_, number)| fits(*number))
    }

    /// All filters, in the order of their files.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &ManifestEntry> {
        self.0.entries.iter()
    }

    /// The names of all filters, in the order of their files.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries().map(ManifestEntry::name)
    }

    /// The JSON Schema of tamis' own format, for editors.
    #[must_use]
    pub fn schema() -> &'static str {
        schema::NATIVE
    }
}

/// What is said of names that are patterns, where they are more than [`MAX_PATTERNS`].
fn too_many_patterns() -> String {
    format!(
        "more than {MAX_PATTERNS} names are patterns, and a look-up tries each; write exact names"
    )
}

/// What no format recognises, with what is understood.
fn unrecognised(text: &Text<'_>, root: &Node) -> Problem {
    let understood: Vec<String> =
        FORMATS.iter().map(|format| format!("{} ({})", format.name, format.signs)).collect();
    let what = match &root.value {
        Value::Map(_) => "this format of manifest is not known".to_owned(),
        _ => format!("a manifest is a map, not {}", root.what()),
    };
    text.problem(root.at.start, format!("{what}; understood are: {}", understood.join(", ")))
}

/// A manifest is shared by any number of threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Manifest>();
    shared::<ManifestError>();
};
