//! Finds out which credentials and personal data are in a document, and where.
//!
//! A person who lets a model call a tool can see what its responses hold before they leave. [`SensitiveReport`] names the
//! kinds and the paths, and never the values.
//!
//! ```
//! use tamis_insight::sensitive::SensitiveReport;
//!
//! let report = SensitiveReport::of(br#"{"users": [{"mail": "mira@example.org", "password": "tide"}]}"#);
//! let found: Vec<_> = report.places.iter().map(|one| (one.path.as_str(), one.kind.as_str())).collect();
//! assert_eq!(found, [("users[].mail", "email"), ("users[].password", "named")]);
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use tamis::spec::RawJson;
use tamis_json::key::unescape;
use tamis_json::tree::children;
use tamis_text::secrets::{SecretRules, SecretSearch, TextForm, personal_patterns};

use crate::suggest::credentials::is_credential;

/// The kind of a value that only its name shows, such as `password`.
const NAMED: &str = "named";
/// The deepest container that is entered. Deeper ones are searched as one text.
const MAX_DEPTH: usize = 64;
/// The most paths that are told apart. Further ones count as one.
const MAX_PLACES: usize = 10_000;

/// The credentials and personal data of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SensitiveReport {
    /// The places, by path and kind.
    pub places: Vec<SensitivePlace>,
}

/// How much of a kind is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SensitivePlace {
    /// The path, with `[]` for the elements of arrays. Empty in a text that is not JSON, and at the root.
    pub path: String,
    /// The kind, as in the marks of `redact`; `named` if only the name of the member shows it.
    pub kind: String,
    /// The number of values.
    pub count: u64,
}

impl SensitiveReport {
    /// Searches a document, or any other text.
    #[must_use]
    pub fn of(document: &[u8]) -> Self {
        let text = std::str::from_utf8(document).ok();
        let json: Option<RawJson> = text.and_then(|text| text.parse().ok());
        let mut scan = Scan::new();
        match &json {
            Some(json) => scan.read(json.as_str()),
            None => {
                scan.search("", document);
            }
        }
        let places = scan.found.into_iter();
        let places = places.map(|((path, kind), count)| SensitivePlace { path, kind, count });
        Self { places: places.collect() }
    }

    /// Returns how much there is of each kind.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<&str, u64> {
        let mut kinds = BTreeMap::new();
        for place in &self.places {
            *kinds.entry(place.kind.as_str()).or_default() += place.count;
        }
        kinds
    }
}

/// The search through one document.
struct Scan {
    search: SecretSearch,
    /// The counts of the search after the last text.
    before: BTreeMap<String, u64>,
    found: BTreeMap<(String, String), u64>,
}

impl Scan {
    fn new() -> Self {
        let mut rules = SecretRules::built_in();
        rules.patterns = Some(personal_patterns().into());
        Self {
            search: rules.filter(TextForm::Plain),
            before: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    fn add(&mut self, path: &str, kind: &str, count: u64) {
        let mut place = (path.to_owned(), kind.to_owned());
        if self.found.len() >= MAX_PLACES && !self.found.contains_key(&place) {
            place.0 = "…".to_owned();
        }
        *self.found.entry(place).or_default() += count;
    }

    /// Searches a text. Returns whether something was found.
    fn search(&mut self, path: &str, text: &[u8]) -> bool {
        let mut output = Vec::new();
        self.search.write(text, &mut output);
        self.search.end(&mut output);
        if output == text {
            return false;
        }
        let found = self.search.found();
        for (kind, count) in &found {
            let more = count - self.before.get(kind).copied().unwrap_or(0);
            if more > 0 {
                self.add(path, kind, more);
            }
        }
        self.before = found;
        true
    }

    /// Searches each string, key and number of a valid JSON text.
    fn read(&mut self, json: &str) {
        // The path, the depth, whether the name of the member is that of a credential, and the value.
        let mut open = vec![(String::new(), 0, false, json)];
        while let Some((path, depth, is_named, value)) = open.pop() {
            let first = value.as_bytes().first().copied();
            if matches!(first, Some(b'{' | b'[')) && depth < MAX_DEPTH {
                for (key, child) in children(value) {
                    let name = unescape(key.as_bytes())
                        .map(|key| String::from_utf8_lossy(&key).into_owned());
                    let name = name.unwrap_or_default();
                    let below = match (first, path.is_empty()) {
                        (Some(b'['), _) => format!("{path}[]"),
                        (_, true) => name.clone(),
                        (_, false) => format!("{path}.{name}"),
                    };
                    if first == Some(b'{') {
                        self.search(&path, name.as_bytes());
                    }
                    let is_named = first == Some(b'{') && is_credential(&name);
                    open.push((below, depth + 1, is_named, child));
                }
                continue;
            }
            let content = value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            let decoded = content.and_then(|content| unescape(content.as_bytes()));
            let text = decoded.as_deref().unwrap_or(value.as_bytes());
            let is_value = !matches!(value, "null" | "true" | "false" | "\"\"");
            if !(self.search(&path, text) || !is_named || !is_value) {
                self.add(&path, NAMED, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SensitiveReport;

    #[test]
    fn places_have_paths_and_kinds() {
        let token = ["gh", "p_", &"a1B2".repeat(9)].concat();
        let document = format!(
            r#"{{"by":[{{"mail":"mira@example.org"}},{{"mail":"x"}}],"log":"use {token}","card":4111111111111111,"api_key":null,"note":"\u0031\u00392.0.2.7"}}"#
        );
        let report = SensitiveReport::of(document.as_bytes());
        let places: Vec<_> = report
            .places
            .iter()
            .map(|one| (one.path.as_str(), one.kind.as_str(), one.count))
            .collect();
        assert_eq!(
            places,
            [
                ("by[].mail", "email", 1),
                ("card", "card", 1),
                ("log", "github-token", 1),
                ("note", "ip-address", 1)
            ]
        );
        assert_eq!(report.kinds()["email"], 1);
        let text = SensitiveReport::of(format!("{token} and {token}").as_bytes());
        assert_eq!(text.places[0].count, 2);
        assert!(SensitiveReport::of(b"[1, {\"a\": \"b\"}]").places.is_empty());
    }
}
