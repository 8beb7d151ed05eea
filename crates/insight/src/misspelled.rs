//! Paths of a filter whose names are probably misspelled: no document has them, but some have a name that is close.
//!
//! A misspelled path of `select` leaves a gap in the output. One of `exclude` or `redact` leaves nothing to see: the value
//! that it should have removed is in the output. [`MisspelledPaths`] reads the documents next to the filter and compares names.
//! It also knows the paths with a name that is nowhere in the documents, close to another or not, and conditions that name a
//! member of a value that is always an array.
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
/// wherever they are, and the first byte of the values of conditions; branches of `when` and JSON inside strings are not looked
/// at. Work is linear, and stops as soon as no rule can be wrong. Memory: 10,000 names.
#[derive(Debug, Default)]
pub struct MisspelledPaths {
    paths: Vec<RulePath>,
    /// A path of `redact` that is close to a word for kinds of values, and this word.
    kind: Option<(String, &'static str)>,
    /// The names in the paths, and the values of each.
    wanted: HashMap<String, SeenValues>,
    /// How many of them may still be wrong.
    left: usize,
    /// The names on the way to the payload.
    root: Vec<String>,
    /// Other names that were seen, or that the filter itself writes.
    seen: BTreeSet<String>,
    bytes: u64,
    place: NamePlace,
    /// The current string, as it is spelled.
    text: Vec<u8>,
    /// The name whose value begins next, if its kind matters.
    valued: Option<String>,
}

/// The kinds of values that a name in a path has.
#[derive(Clone, Copy, Debug, Default)]
struct SeenValues {
    is_seen: bool,
    /// A condition names a member of the value, so it must be an object.
    needs_object: bool,
    /// A condition tests the value, so it must not be an array.
    is_tested: bool,
    array: bool,
    object: bool,
    scalar: bool,
}

impl SeenValues {
    /// Whether all values were arrays, although a condition names a member of one. Nulls do not count.
    fn lacks_object(self) -> bool {
        self.array && !self.object
    }

    /// Whether all values were arrays, although a condition tests one.
    fn lacks_single(self) -> bool {
        self.array && !self.object && !self.scalar
    }

    /// Whether further input does not change what is said about the name.
    fn is_settled(self) -> bool {
        self.is_seen
            && (!self.needs_object || self.object)
            && (!self.is_tested || self.object || self.scalar)
    }
}

/// A path of a rule.
#[derive(Debug)]
struct RulePath {
    /// The path as it is written.
    text: String,
    path: Path,
    is_condition: bool,
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
    /// Before the value of a name whose kind matters.
    Value,
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
            paths.condition(&condition.path, is_needed);
        }
        // Conditions are tested before the filter writes anything.
        let of_conditions = paths.wanted.clone();
        let removing = spec.exclude.iter().chain(redacted()).chain(spec.retain.iter().flatten());
        removing.for_each(|text| paths.rule(text, false, false));
        paths.kind = redacted().find_map(|text| Some((text.clone(), nearest_kind(text)?)));
        paths.left = paths.wanted.len();
        for name in written_names(spec) {
            if !of_conditions.contains_key(&name) {
                paths.name(&name);
            }
        }
        paths
    }

    fn condition(&mut self, text: &str, is_needed: bool) {
        self.rule(text, true, is_needed);
        let Some(RulePath { path, .. }) = self.paths.last() else { return };
        for (step, token) in path.0.iter().enumerate() {
            let Some(seen) = member(Some(token)).and_then(|name| self.wanted.get_mut(name)) else {
                continue;
            };
            match path.0.get(step + 1) {
                None => seen.is_tested |= is_needed,
                next => seen.needs_object |= member(next).is_some(),
            }
        }
    }

    fn rule(&mut self, text: &str, is_condition: bool, is_needed: bool) {
        let Ok(path) = Path::parse(text) else { return };
        for name in names(&path) {
            self.wanted.entry(name.to_owned()).or_default();
        }
        self.paths.push(RulePath { text: text.to_owned(), path, is_condition, is_needed });
    }

    /// Sets the payload of the documents, as a JSON Pointer. Conditions begin inside its items.
    pub fn set_root(&mut self, pointer: &str) {
        let path = Path::parse(pointer).unwrap_or_default();
        self.root = names(&path).map(str::to_owned).collect();
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
                if bytes.get(at) != Some(&b':') {
                    return after(at);
                }
                self.end_name();
                if self.valued.is_some() {
                    self.place = NamePlace::Value;
                }
                after(at + 1)
            }
            NamePlace::Value => {
                let is_begin = |byte: &u8| !byte.is_ascii_whitespace();
                let Some(at) = bytes.iter().position(is_begin) else { return &[] };
                self.place = NamePlace::Outside;
                self.begin_value(bytes.get(at).copied().unwrap_or_default());
                // A string begins here.
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

    /// Notes the kind of the value that begins with `first`.
    fn begin_value(&mut self, first: u8) {
        let Some(seen) = self.valued.take().and_then(|name| self.wanted.get_mut(&name)) else {
            return;
        };
        let was_settled = seen.is_settled();
        match first {
            b'[' => seen.array = true,
            b'{' => seen.object = true,
            b'n' => {}
            _ => seen.scalar = true,
        }
        self.left -= usize::from(!was_settled && seen.is_settled());
    }

    fn name(&mut self, name: &str) {
        if let Some(seen) = self.wanted.get_mut(name) {
            let was_settled = seen.is_settled();
            seen.is_seen = true;
            self.left -= usize::from(!was_settled && seen.is_settled());
            self.valued = (!seen.is_settled()).then(|| name.to_owned());
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
        let is_seen = self.wanted.get(path).is_some_and(|seen| seen.is_seen);
        (!is_seen).then_some((path.as_str(), *word))
    }

    /// Returns the paths that are probably misspelled, in the order of the rules `where`, `exclude`, `redact` and `retain`, each
    /// with the path that was probably meant.
    ///
    /// In a condition, the name of an array is not followed by that of a member.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::{ItemCondition, ValueTest};
    /// use tamis_insight::misspelled::MisspelledPaths;
    ///
    /// let condition = ItemCondition::new("labels.name", ValueTest::new().equals("bug"));
    /// let mut paths = MisspelledPaths::new(&Spec::new().keep_where(condition));
    /// paths.write(br#"[{"labels": [{"name": "bug"}]}]"#);
    /// assert_eq!(paths.missed()[0].meant.as_deref(), Some("labels[].name"));
    /// ```
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

    /// Returns the paths with a name that was not seen, or of which all values are arrays, of those that are asked for.
    fn select(&self, is_wanted: impl Fn(&RulePath, Option<&Path>) -> bool) -> Vec<MissedPath> {
        if self.is_done() {
            return Vec::new();
        }
        let mut pairs = ComparisonBudget::default();
        let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let names_seen = || {
            let wanted = self.wanted.iter().filter(|(_, seen)| seen.is_seen);
            self.seen.iter().chain(wanted.map(|(name, _)| name)).map(String::as_str)
        };
        let mut texts = HashSet::new();
        let mut missed = Vec::new();
        for rule in &self.paths {
            let mut intended = rule.path.clone();
            let (mut is_absent, mut is_close) = (false, false);
            for token in &mut intended.0 {
                let Some((own, seen)) =
                    member(Some(token)).and_then(|name| self.wanted.get_key_value(name))
                else {
                    continue;
                };
                if seen.is_seen {
                    continue;
                }
                is_absent = true;
                let close = *known
                    .entry(own.as_str())
                    .or_insert_with(|| closest_within(own, names_seen(), &mut pairs));
                if let Some(close) = close {
                    *token = PathToken::Name(close.into());
                    is_close = true;
                }
            }
            let has_elements =
                rule.is_condition && self.enter_arrays(&mut intended, rule.is_needed);
            (is_absent, is_close) = (is_absent || has_elements, is_close || has_elements);
            let corrected = is_close.then_some(&intended);
            if is_absent && is_wanted(rule, corrected) && texts.insert(&rule.text) {
                // A pointer has no `[]`.
                let is_pointer = rule.text.trim_start().starts_with('/') && !has_elements;
                let spelled = |path: &Path| match is_pointer {
                    true => path.to_pointer(),
                    false => path.to_string(),
                };
                missed.push(MissedPath::new(&rule.text, corrected.map(spelled)));
            }
        }
        missed
    }

    /// Adds `[]` after the names of arrays in the path of a condition, or removes the path of the payload at its beginning. Returns
    /// whether it has changed something.
    fn enter_arrays(&self, path: &mut Path, is_needed: bool) -> bool {
        let tokens = std::mem::take(&mut path.0);
        let mut entered = Vec::with_capacity(tokens.len() + 1);
        let mut has_changed = false;
        for (step, token) in tokens.iter().enumerate() {
            entered.push(token.clone());
            let Some(seen) = member(Some(token)).and_then(|name| self.wanted.get(name)) else {
                continue;
            };
            let is_array = match tokens.get(step + 1) {
                None => is_needed && seen.lacks_single(),
                next => member(next).is_some() && seen.lacks_object(),
            };
            if !is_array {
                continue;
            }
            has_changed = true;
            let outer = entered.iter().map(|token| member(Some(token)));
            if step + 1 < tokens.len() && outer.eq(self.root.iter().map(|name| Some(name.as_str())))
            {
                entered.clear();
            } else {
                entered.push(PathToken::Any);
            }
        }
        path.0 = entered;
        has_changed
    }
}

/// Returns the name that a token only matches as that of a member.
fn member(token: Option<&PathToken>) -> Option<&str> {
    match token {
        Some(PathToken::Name(name)) if tamis_json::path::index(name).is_none() => Some(name),
        _ => None,
    }
}

/// Returns the names of members in a path.
fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.0.iter().filter_map(|token| member(Some(token)))
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
