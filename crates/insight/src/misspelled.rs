//! Paths of a filter whose names are probably misspelled: no document has them, but some have a name that is close.
//!
//! A misspelled path of `select` leaves a gap in the output. One of `exclude` or `redact` leaves nothing to see: the value
//! that it should have removed is in the output. [`MisspelledPaths`] reads the documents next to the filter and compares names.
//! It also knows the paths with a name that is nowhere in the documents, close to another or not.
//!
//! ```
//! use tamis::Spec;
//! use tamis_insight::misspelled::MisspelledPaths;
//!
//! let mut paths = MisspelledPaths::new(&Spec::new().exclude("ownr.login").retain("/owner"));
//! paths.write(br#"{"owner": {"login": "mira"}}"#);
//! let missed = paths.missed();
//! assert_eq!((missed.len(), missed[0].path.as_str()), (1, "ownr.login"));
//! assert_eq!(missed[0].meant.as_deref(), Some("owner.login"));
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tamis_json::StringDecoder;
use tamis_json::nearest::{ComparisonBudget, LONGEST, closest_within};
use tamis_json::path::{Path, PathToken};

use tamis::MissedPath;
use tamis::Spec;
use tamis::spec::{Selection, ValueTest};

/// Input beyond this many bytes is not looked at, and nothing is reported.
const MOST_BYTES: u64 = 16 << 20;
/// The number of names that are kept for comparison.
const MOST_NAMES: usize = 10_000;
/// The length in bytes of a name as it may be spelled with escapes. Longer ones are not compared.
const SPELLED: usize = 6 * LONGEST;

/// Finds the paths of `where`, `exclude`, `redact` and `retain` with a name that no document has: those whose name differs in one
/// or two letters from one that a document has, those of conditions that need a value, or all of them.
///
/// It takes the same input as the filter: one document, or several after each other. Only the names of members are read,
/// wherever they are; branches of `when` and JSON inside strings are not looked at. Work is linear, and stops as soon as every
/// name was seen. Memory: 10,000 names.
#[derive(Debug, Default)]
pub struct MisspelledPaths {
    paths: Vec<RulePath>,
    /// A path of `redact` that is close to a word for kinds of values, and this word.
    kind: Option<(String, &'static str)>,
    /// The names in the paths, and whether each was seen.
    wanted: HashMap<String, bool>,
    /// How many of them were not seen.
    left: usize,
    /// Other names that were seen, or that the filter itself writes.
    seen: BTreeSet<String>,
    bytes: u64,
    place: NamePlace,
    /// The current string, as it is spelled.
    text: Vec<u8>,
}

/// A path of a rule.
#[derive(Debug)]
struct RulePath {
    /// The path as it is written.
    text: String,
    path: Path,
    /// A condition that only holds if there is a value.
    is_needed: bool,
}

/// Returns the word for kinds of values that a path of `redact` is close to.
fn nearest_kind(path: &str) -> Option<&'static str> {
    let path = path.to_ascii_lowercase();
    let is_close = |word: &&str| strsim::damerau_levenshtein(&path, word) <= 1;
    if let Some(word) = ["secrets", "personal"].iter().find(|word| is_close(word)) {
        return Some(word);
    }
    match path.as_str() {
        "credentials" | "passwords" | "tokens" | "keys" | "all" => Some("secrets"),
        "pii" | "personal_data" | "personal-data" | "emails" => Some("personal"),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NamePlace {
    #[default]
    Outside,
    InString,
    Escaped,
    /// After a string, which is a name if a colon follows.
    After,
}

impl MisspelledPaths {
    /// Creates a reader for the documents of a filter with these rules.
    #[must_use]
    pub fn new(spec: &Spec) -> Self {
        let mut paths = Self::default();
        // Rules for JSON in strings name members that are not read here.
        if !spec.json_strings.is_empty() {
            return paths;
        }
        let redacted = || spec.redact.iter().flat_map(|redact| &redact.paths);
        for condition in &spec.conditions {
            let test = &condition.test;
            let is_needed = *test != ValueTest::default() && test.exists != Some(false);
            paths.rule(&condition.path, is_needed);
        }
        // Conditions are tested before the filter writes anything.
        let of_conditions = paths.wanted.clone();
        let removing = spec.exclude.iter().chain(redacted()).chain(spec.retain.iter().flatten());
        removing.for_each(|text| paths.rule(text, false));
        paths.kind = redacted().find_map(|text| Some((text.clone(), nearest_kind(text)?)));
        paths.left = paths.wanted.len();
        for name in written_names(spec) {
            if !of_conditions.contains_key(&name) {
                paths.name(&name);
            }
        }
        paths
    }

    fn rule(&mut self, text: &str, is_needed: bool) {
        let Ok(path) = Path::parse(text) else { return };
        self.wanted.extend(names(&path).map(|name| (name.to_owned(), false)));
        self.paths.push(RulePath { text: text.to_owned(), path, is_needed });
    }

    /// Whether further input does not change the result.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.left == 0 || self.bytes > MOST_BYTES
    }

    /// Reads the next bytes of the documents.
    pub fn write(&mut self, chunk: &[u8]) {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        let mut rest = chunk;
        while !rest.is_empty() && !self.is_done() {
            rest = self.step(rest);
        }
    }

    fn step<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let after = |at: usize| bytes.get(at..).unwrap_or_default();
        match self.place {
            NamePlace::Outside => {
                let Some(at) = memchr::memchr(b'"', bytes) else { return &[] };
                self.text.clear();
                self.place = NamePlace::InString;
                after(at + 1)
            }
            NamePlace::InString => {
                let end = memchr::memchr2(b'"', b'\\', bytes);
                let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                self.push(part);
                match rest.first() {
                    None => return &[],
                    Some(b'"') => self.place = NamePlace::After,
                    Some(_) => {
                        self.push(b"\\");
                        self.place = NamePlace::Escaped;
                    }
                }
                after(part.len() + 1)
            }
            NamePlace::Escaped => {
                self.push(bytes.get(..1).unwrap_or_default());
                self.place = NamePlace::InString;
                after(1)
            }
            NamePlace::After => {
                let Some(at) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
                    return &[];
                };
                self.place = NamePlace::Outside;
                if bytes.get(at) == Some(&b':') {
                    self.end_name();
                }
                after(at)
            }
        }
    }

    fn push(&mut self, part: &[u8]) {
        let room = (SPELLED + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    fn end_name(&mut self) {
        if self.text.len() > SPELLED {
            return;
        }
        let spelled = std::mem::take(&mut self.text);
        if spelled.contains(&b'\\') {
            let (mut decoder, mut name) = (StringDecoder::new(), Vec::new());
            let decoded = decoder.write(&spelled, &mut name).and_then(|()| decoder.end());
            if decoded.is_ok() {
                self.name(&String::from_utf8_lossy(&name));
            }
        } else if let Ok(name) = std::str::from_utf8(&spelled) {
            self.name(name);
        }
        self.text = spelled;
    }

    fn name(&mut self, name: &str) {
        if let Some(is_seen) = self.wanted.get_mut(name) {
            self.left -= usize::from(!std::mem::replace(is_seen, true));
        } else if self.seen.len() < MOST_NAMES && name.len() <= LONGEST && !self.seen.contains(name)
        {
            self.seen.insert(name.to_owned());
        }
    }

    /// Returns a path of `redact` that no document has, and the word that was probably meant: `secrets`, which finds credentials, or
    /// `personal`, which finds personal data.
    #[must_use]
    pub fn misspelled_kind(&self) -> Option<(&str, &'static str)> {
        let (path, word) = self.kind.as_ref()?;
        let is_seen = self.wanted.get(path).copied().unwrap_or(false);
        (!is_seen).then_some((path.as_str(), *word))
    }

    /// Returns the paths that are probably misspelled, in the order of the rules `where`, `exclude`, `redact` and `retain`, each
    /// with the path that was probably meant.
    #[must_use]
    pub fn missed(&self) -> Vec<MissedPath> {
        self.select(|_, intended| intended.is_some())
    }

    /// Returns the paths of conditions that no document fulfils because it lacks the path, also if no name is close.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::{ItemCondition, ValueTest};
    /// use tamis_insight::misspelled::MisspelledPaths;
    ///
    /// let condition = ItemCondition::new("colour", ValueTest::new().equals("red"));
    /// let mut paths = MisspelledPaths::new(&Spec::new().keep_where(condition));
    /// paths.write(br#"[{"id": 1}]"#);
    /// assert!(paths.missed().is_empty());
    /// assert_eq!(paths.unfulfilled()[0].path, "colour");
    /// ```
    #[must_use]
    pub fn unfulfilled(&self) -> Vec<MissedPath> {
        self.select(|rule, _| rule.is_needed)
    }

    /// Returns the paths that no document has, in the order of [`missed`](Self::missed).
    #[must_use]
    pub fn absent(&self) -> Vec<MissedPath> {
        self.select(|_, _| true)
    }

    /// Returns the paths with a name that was not seen, of those that are asked for.
    fn select(&self, is_wanted: impl Fn(&RulePath, Option<&Path>) -> bool) -> Vec<MissedPath> {
        if self.is_done() {
            return Vec::new();
        }
        let mut pairs = ComparisonBudget::default();
        let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let is_seen = |name: &str| self.wanted.get(name).copied().unwrap_or(false);
        let names_seen = || {
            let wanted = self.wanted.iter().filter(|(_, is_seen)| **is_seen);
            self.seen.iter().chain(wanted.map(|(name, _)| name)).map(String::as_str)
        };
        let mut texts = HashSet::new();
        let mut missed = Vec::new();
        for rule in &self.paths {
            let mut intended = rule.path.clone();
            let (mut is_absent, mut is_close) = (false, false);
            for token in &mut intended.0 {
                let PathToken::Name(name) = token else { continue };
                if tamis_json::path::index(name).is_some() || is_seen(name) {
                    continue;
                }
                let Some((own, _)) = self.wanted.get_key_value(&**name) else { continue };
                is_absent = true;
                let close = *known
                    .entry(own.as_str())
                    .or_insert_with(|| closest_within(own, names_seen(), &mut pairs));
                if let Some(close) = close {
                    *name = close.into();
                    is_close = true;
                }
            }
            let intended = is_close.then_some(&intended);
            if is_absent && is_wanted(rule, intended) && texts.insert(&rule.text) {
                let is_pointer = rule.text.trim_start().starts_with('/');
                let spelled = |path: &Path| match is_pointer {
                    true => path.to_pointer(),
                    false => path.to_string(),
                };
                missed.push(MissedPath::new(&rule.text, intended.map(spelled)));
            }
        }
        missed
    }
}

/// Returns the names of members in a path.
fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.0.iter().filter_map(|token| match token {
        PathToken::Name(name) if tamis_json::path::index(name).is_none() => Some(&**name),
        _ => None,
    })
}

/// Returns the names that a filter may write although no document has them: output keys of `select`, and members that patches
/// add.
fn written_names(spec: &Spec) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |text: &str| {
        let words = text.split(['{', '}', ',', '=', '[', ']', '.', '/', '"']);
        names.extend(words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
    };
    for selected in spec.select.iter().flat_map(|Selection(list)| list) {
        add(&selected.output_key().unwrap_or_default());
        add(selected.path.split_once('{').map_or("", |(_, fields)| fields));
    }
    for operation in spec.patches.iter().flatten() {
        add(&operation.path);
    }
    names
}
