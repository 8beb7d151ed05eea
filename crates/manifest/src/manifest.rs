//! A manifest: the filters of one or more files, by the names of their tools.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;
use tamis::reserved::ReservedParameters;
use tamis::{Program, Spec};

use super::entry::{Built, MAX_PATTERNS, ManifestEntry, too_many_patterns};
use super::error::{Diagnostic, ManifestError, ManifestErrorKind, Problems};
use super::settings::Settings;
use super::{name, suggest};

/// A map from the names of tools to compiled filters.
///
/// It is immutable, cheap to clone, and can be shared between threads. Names are exact, or patterns with `*` and `?`.
/// An exact name wins; after that, the matching pattern with the most literal characters.
///
/// ```
/// use tamis::filter_slice;
/// use tamis_manifest::Manifest;
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
/// A manifest never changes. A server keeps the current one behind a lock and clones a program for each call. If the
/// new manifest is invalid, the old one stays in use:
///
/// ```
/// use std::sync::RwLock;
/// use tamis::Program;
/// use tamis_manifest::{Manifest, ManifestError};
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
    /// The names of the files, for messages.
    files: Vec<Arc<str>>,
    entries: Vec<ManifestEntry>,
    /// Exact names and patterns, by their text, with one entry for each service.
    by_name: HashMap<String, SmallVec<[usize; 1]>>,
    /// Patterns, most literal characters first.
    patterns: Vec<Pattern>,
    /// The filter of tools that no name matches. Only a single AIOS registry has one: it passes the full response.
    others: Option<ManifestEntry>,
    settings: Settings,
}

/// A name of an entry that is a pattern.
#[derive(Debug)]
struct Pattern {
    text: String,
    literals: usize,
    entry: usize,
}

impl Manifest {
    /// Combines several manifests into one. A name that none of them declares is unknown, even if one of several
    /// manifests is an AIOS tool registry.
    ///
    /// # Errors
    /// Fails if two manifests declare the same name, or set the same key for gateways; the message has both places.
    pub fn merge(manifests: impl IntoIterator<Item = Self>) -> Result<Self, ManifestError> {
        let mut manifests = manifests.into_iter();
        let Some(first) = manifests.next() else {
            return Self::build(Vec::new(), Built::default());
        };
        let mut rest = manifests.peekable();
        if rest.peek().is_none() {
            return Ok(first);
        }
        let (mut files, mut entries) = (first.0.files.clone(), first.0.entries.clone());
        let (mut settings, mut problems) = (first.0.settings.clone(), Problems::default());
        for manifest in rest {
            files.extend(manifest.0.files.iter().cloned());
            entries.extend(manifest.0.entries.iter().cloned());
            settings = settings.merge(&manifest.0.settings, &mut problems);
        }
        if !problems.is_empty() {
            return Err(ManifestError::new(ManifestErrorKind::Invalid, problems));
        }
        // A registry passes the tools that it does not name only if no other file could have named them.
        Self::build(files, Built { entries, others: None, settings })
    }

    /// Like [`merge`](Self::merge), for manifests that messages refer to by one name.
    pub(super) fn merge_as(name: &str, manifests: &[Self]) -> Result<Self, ManifestError> {
        let entries = manifests.iter().flat_map(|manifest| &manifest.0.entries);
        let entries = entries.cloned().collect();
        Self::build(vec![name.into()], Built { entries, ..Built::default() })
    }

    /// Returns the manifest with other filters.
    pub(super) fn with_entries(&self, entries: Vec<ManifestEntry>) -> Result<Self, ManifestError> {
        let Inner { files, others, settings, .. } = &*self.0;
        let (others, settings) = (others.clone(), settings.clone());
        Self::build(files.clone(), Built { entries, others, settings })
    }

    pub(super) fn build(files: Vec<Arc<str>>, built: Built) -> Result<Self, ManifestError> {
        let Built { entries, others, settings } = built;
        let mut by_name: HashMap<String, SmallVec<[usize; 1]>> =
            HashMap::with_capacity(entries.len());
        let mut patterns = Vec::new();
        let mut problems = Problems::default();
        let named = entries.iter().enumerate();
        let named = named.flat_map(|(number, entry)| {
            entry.named().map(move |(name, place)| (number, entry, name, place))
        });
        for (number, entry, name, place) in named {
            let same = by_name.entry(name.to_owned()).or_default();
            let mut before = same.iter().filter_map(|number| entries.get(*number));
            let clash = before.find(|other| match (&other.service, &entry.service) {
                (Some(other), Some(own)) => other == own,
                _ => true,
            });
            same.push(number);
            if let Some(first) = clash {
                problems.push(|| {
                    let mut places = first.named().filter(|(other, _)| *other == name);
                    let place_of_first = places.next().map_or(&first.place, |(_, place)| place);
                    let message = format!(
                        "`{}` has a filter already, at {}; leave one of them out",
                        suggest::short(name),
                        place_of_first.place()
                    );
                    place.clone().with_message(message)
                });
            }
            if name::is_pattern(name) {
                let literals = name::literals(name);
                patterns.push(Pattern { text: name.to_owned(), literals, entry: number });
            }
        }
        if !problems.is_empty() {
            return Err(ManifestError::new(ManifestErrorKind::Invalid, problems));
        }
        if patterns.len() > MAX_PATTERNS {
            let message = too_many_patterns();
            let problem = Diagnostic::nowhere(files.first().map_or("", |file| file), message);
            return Err(ManifestError::new(ManifestErrorKind::Invalid, problem));
        }
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.literals));
        Ok(Self(Arc::new(Inner { files, entries, by_name, patterns, others, settings })))
    }

    /// Returns the compiled filter for a tool. In an AIOS tool registry that is used without other manifests, a tool
    /// that no name matches has a filter that passes the full response and reports it
    /// (`fallback`).
    ///
    /// # Errors
    /// [`ManifestErrorKind::UnknownTool`] with the nearest name, or [`ManifestErrorKind::Ambiguous`] with both
    /// patterns.
    pub fn program(&self, tool: &str) -> Result<Program, ManifestError> {
        self.entry(tool).map(|entry| entry.program.clone())
    }

    /// Returns the rules that were declared for a tool.
    ///
    /// # Errors
    /// As for [`program`](Self::program).
    pub fn spec(&self, tool: &str) -> Result<&Spec, ManifestError> {
        self.entry(tool).map(ManifestEntry::spec)
    }

    /// Returns the parameters that a tool's filter adds to the tool's own: kimbap's `_output_mode` and `_budget`, for a
    /// gateway to add to the tool's input schema. Returns `None` for a tool whose filter changes no output
    /// ([`Spec::reserved_parameters`]). `CallOptions::from_json` reads their values.
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let manifest = Manifest::parse("crm.yaml", "
    /// actions:
    ///   list: {response: {compact: {item: '{{.id}}'}}}
    ///   get: {}
    /// ")?;
    /// let parameters = manifest.reserved_parameters("crm.list")?.unwrap();
    /// assert!(parameters.json_schema().starts_with(r#"{"properties":{"_output_mode":{"type":"string","enum":["default", "raw"]"#));
    /// assert_eq!(manifest.reserved_parameters("crm.get")?, None);
    /// # Ok::<(), tamis_manifest::ManifestError>(())
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

    /// Returns the entry for a tool: its filter and the place of its declaration.
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
        let mut fitting = patterns.iter().filter(|pattern| name::fits(&pattern.text, tool));
        let Some(best) = fitting.next() else {
            return self.0.others.as_ref().ok_or_else(|| self.unknown(tool));
        };
        let Some(entry) = entries.get(best.entry) else { return Err(self.unknown(tool)) };
        // Two names of one filter do not contradict each other.
        let mut tied = fitting.take_while(|next| next.literals == best.literals);
        let Some(other) = tied.find(|next| next.entry != best.entry) else { return Ok(entry) };
        let place = entries.get(other.entry).into_iter().flat_map(ManifestEntry::named);
        let place = place.filter(|(name, _)| *name == other.text).map(|(_, place)| place.place());
        let message = format!(
            "the tool `{}` matches `{}` and `{}` ({}) equally well; make one of them longer, or add the exact name",
            suggest::short(tool),
            best.text,
            other.text,
            place.last().unwrap_or_default(),
        );
        let mut named = entry.named().filter(|(name, _)| *name == best.text);
        let place = named.next().map_or(&entry.place, |(_, place)| place);
        let problem = place.clone().with_message(message);
        Err(ManifestError::new(ManifestErrorKind::Ambiguous, problem))
    }

    fn unknown(&self, tool: &str) -> ManifestError {
        let entries = &self.0.entries;
        let all = entries.iter().flat_map(ManifestEntry::named).map(|(name, _)| name);
        let closest = match suggest::closest(tool, all) {
            Some(close) => format!("did you mean `{close}`?"),
            None if entries.is_empty() => "the manifest has no filters".to_owned(),
            None => {
                let mut names: Vec<&str> = self.names().take(10).collect();
                if entries.len() > names.len() {
                    names.push("…");
                }
                format!("expected one of {}", names.join(", "))
            }
        };
        let message = format!("no filter for the tool `{}`; {closest}", suggest::short(tool));
        let problem = Diagnostic::nowhere(&self.files_named(), message);
        ManifestError::new(ManifestErrorKind::UnknownTool, problem)
    }

    /// Returns the name that messages use for the files.
    pub(super) fn files_named(&self) -> String {
        let files = &self.0.files;
        let mut names: Vec<&str> = files.iter().take(5).map(|file| &**file).collect();
        names.dedup();
        if files.len() > 5 {
            names.push("…");
        }
        names.join(", ")
    }

    /// Whether there is a filter for the tool with this name. Faster than a lookup that fails.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        let Inner { by_name, patterns, .. } = &*self.0;
        by_name.contains_key(tool) || patterns.iter().any(|pattern| name::fits(&pattern.text, tool))
    }

    /// Iterates over all filters, in the order of their files.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &ManifestEntry> {
        self.0.entries.iter()
    }

    /// Iterates over the names of all filters, in the order of their files.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries().map(ManifestEntry::name)
    }

    /// Returns the keys that only a gateway reads.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Checks that the manifest only has keys that a file may have that was merely found: `filters` and `profile`. A
    /// gateway that looks for a file in the working directory calls this, because such a file may come from a
    /// repository that the user does not trust.
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let manifest = Manifest::parse("tamis.yaml", "version: 1\nfilters: {}\nstore: /tmp\n")?;
    /// assert_eq!(
    ///     manifest.check_found().unwrap_err().to_string(),
    ///     "tamis.yaml:3:1: `store` is not allowed in a file that was found and not named; set it in your own file, or name this one (--manifest)\n  store: /tmp\n  ^"
    /// );
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// [`ManifestErrorKind::Invalid`] with a problem for each other key.
    pub fn check_found(&self) -> Result<(), ManifestError> {
        let mut problems = Problems::default();
        for (key, place) in self
            .settings()
            .keys()
            .filter(|(key, _)| !["profile", "profiles", "commands"].contains(key))
        {
            problems.push(|| {
                let message = format!(
                    "`{key}` is not allowed in a file that was found and not named; set it in your own file, or name \
                     this one (--manifest)"
                );
                place.clone().with_message(message)
            });
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(ManifestError::new(ManifestErrorKind::Invalid, problems))
    }
}

/// Compile-time check: a manifest can be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Manifest>();
    shared::<ManifestError>();
};
