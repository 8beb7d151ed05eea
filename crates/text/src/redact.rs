//! The rule `redact`: replaces values at paths, and credentials wherever they are.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fields::some;
use crate::secrets::SecretLevel;

/// The values that `Spec::redact` replaces. In files also `redact: secrets`, short for
/// `redact: {secrets: true}`.
///
/// ```
/// use tamis::spec::Redact;
/// use tamis::{Program, Spec, filter_slice};
///
/// let spec = Spec::new().redact(Redact::new().path("owner.ssn").secrets(true));
/// let token = format!("ghp_{}", "a1B2".repeat(9));
/// let input = format!(r#"[{{"owner": {{"ssn": 7}}, "note": "use {token} for now"}}]"#);
/// let (output, report) = filter_slice(&Program::compile(&spec)?, input.as_bytes())?;
/// let expected = br#"[{"owner":{"ssn":"[redacted]"},"note":"use [redacted:github-token] for now"}]"#;
/// assert_eq!(output, expected);
/// assert_eq!(report.redacted["github-token"], 1);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redact {
    /// Paths of values that are replaced.
    pub paths: Vec<String>,
    /// The replacement; by default, a mark.
    pub with: Option<String>,
    /// Which credentials are replaced; by default, none. In files `secrets: true` and `secrets: aggressive`.
    pub secrets: Option<SecretLevel>,
    /// Whether personal data are replaced.
    pub personal: bool,
    /// Names of kinds, and what they look like.
    pub patterns: Vec<(String, String)>,
}

/// The form of a file: `secrets` is a truth value or a word.
impl Serialize for Redact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if !self.paths.is_empty() {
            map.serialize_entry("paths", &self.paths)?;
        }
        if let Some(text) = &self.with {
            map.serialize_entry("with", text)?;
        }
        match self.secrets {
            Some(SecretLevel::Aggressive) => map.serialize_entry("secrets", AGGRESSIVE)?,
            Some(SecretLevel::Known) => map.serialize_entry("secrets", &true)?,
            None => {}
        }
        if self.personal {
            map.serialize_entry("personal", &true)?;
        }
        if !self.patterns.is_empty() {
            map.serialize_entry("patterns", &PatternMap(&self.patterns))?;
        }
        map.end()
    }
}

/// Patterns as a map, in their order.
struct PatternMap<'a>(&'a [(String, String)]);

impl Serialize for PatternMap<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, pattern)| (name, pattern)))
    }
}

/// The word of `secrets: aggressive`.
const AGGRESSIVE: &str = "aggressive";

/// The text of `redact: secrets`.
const SECRETS: &str = "secrets";

impl Redact {
    /// Replaces nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces values at a path. The path is read as those of `Spec::exclude`: from each item as it
    /// is written, through arrays, with every duplicate. The key is kept.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Sets the text that replaces values at paths. Default: `[redacted]`.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>) -> Self {
        self.with = Some(text.into());
        self
    }

    /// Sets whether credentials are replaced by `[redacted:KIND]`, in every string and key of the output. The kinds are in
    /// [`Redact::kinds`].
    #[must_use]
    pub fn secrets(mut self, yes: bool) -> Self {
        self.secrets = yes.then_some(self.secrets.unwrap_or_default());
        self
    }

    /// Sets whether random text after any name of a key, a token, a secret or a password is replaced, too, by
    /// `[redacted:random-value]`. This also replaces checksums and identifiers with such a name. Implies
    /// [`secrets`](Self::secrets).
    ///
    /// ```
    /// use tamis::spec::{Redact, SecretLevel};
    ///
    /// assert_eq!(Redact::new().aggressive(true).secrets, Some(SecretLevel::Aggressive));
    /// ```
    #[must_use]
    pub fn aggressive(mut self, yes: bool) -> Self {
        self.secrets = match yes {
            true => Some(SecretLevel::Aggressive),
            false => self.secrets.map(|_| SecretLevel::Known),
        };
        self
    }

    /// Sets whether personal data are replaced: e-mail addresses, phone numbers, IBANs and numbers of cards, national
    /// identifiers, and IP addresses. Where a kind has a checksum, it must be right. Needs the feature `text`.
    ///
    /// ```
    /// use tamis::spec::Redact;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new().redact(Redact::new().personal(true));
    /// let input = br#"{"by": "mira@example.org", "note": "from 192.0.2.7"}"#;
    /// let (output, _) = filter_slice(&Program::compile(&spec)?, input)?;
    /// assert_eq!(output, br#"{"by":"[redacted:email]","note":"from [redacted:ip-address]"}"#);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn personal(mut self, yes: bool) -> Self {
        self.personal = yes;
        self
    }

    /// Replaces what a regular expression matches by `[redacted:NAME]`, in every string, key and number of the output. The
    /// syntax is that of the crate [regex](https://docs.rs/regex/latest/regex/#syntax). A name has at most 32 small letters,
    /// digits and hyphens, and is not that of a [built-in kind](Self::kinds).
    ///
    /// A number of which a part matches is replaced as a whole, by a string; one of more than 32 bytes is not looked at. In
    /// text, a match does not go beyond a line. A match may have any length. Needs the feature
    /// `text`.
    ///
    /// ```
    /// use tamis::spec::Redact;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new().redact(Redact::new().pattern("employee", "E-[0-9]{6}"));
    /// let input = br#"{"badge": "E-104729", "text": "ask E-104723 or E-7"}"#;
    /// let (output, _) = filter_slice(&Program::compile(&spec)?, input)?;
    /// let expected = br#"{"badge":"[redacted:employee]","text":"ask [redacted:employee] or E-7"}"#;
    /// assert_eq!(output, expected);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn pattern(mut self, name: impl Into<String>, regex: impl Into<String>) -> Self {
        self.patterns.push((name.into(), regex.into()));
        self
    }

    /// Returns the names of the kinds of credentials that are found.
    ///
    /// ```
    /// assert!(tamis::spec::Redact::kinds().contains(&"aws-access-key"));
    /// ```
    #[must_use]
    pub fn kinds() -> Vec<&'static str> {
        crate::secrets::kind_names()
    }

    /// Returns the rule that replaces what either of two rules replaces. The text of this one is used for both.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            paths: self.paths.iter().chain(&other.paths).cloned().collect(),
            with: self.with.clone().or_else(|| other.with.clone()),
            secrets: match (self.secrets, other.secrets) {
                (Some(SecretLevel::Aggressive), _) => self.secrets,
                (own, more) => more.or(own),
            },
            personal: self.personal || other.personal,
            patterns: self.patterns.iter().chain(&other.patterns).cloned().collect(),
        }
    }

    /// Returns whether nothing is replaced.
    pub fn is_nothing(&self) -> bool {
        self.paths.is_empty() && !self.searches()
    }

    /// Returns whether everything that leaves is searched.
    pub fn searches(&self) -> bool {
        self.secrets.is_some() || self.personal || !self.patterns.is_empty()
    }
}

impl<'de> Deserialize<'de> for Redact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RedactVisitor)
    }
}

/// The members of a map of rules.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RedactMap {
    paths: Vec<String>,
    #[serde(deserialize_with = "some")]
    with: Option<String>,
    #[serde(deserialize_with = "secret_level")]
    secrets: Option<SecretLevel>,
    personal: bool,
    #[serde(deserialize_with = "patterns")]
    patterns: Vec<(String, String)>,
}

/// Reads the value of `secrets`.
fn secret_level<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretLevel>, D::Error> {
    from.deserialize_any(SecretLevelVisitor)
}

struct SecretLevelVisitor;

impl Visitor<'_> for SecretLevelVisitor {
    type Value = Option<SecretLevel>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or `aggressive`")
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Self::Value, E> {
        Ok(yes.then_some(SecretLevel::Known))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            AGGRESSIVE => Ok(Some(SecretLevel::Aggressive)),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

/// Reads a map of names and regular expressions, in its order.
fn patterns<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    from.deserialize_map(PatternsVisitor)
}

struct PatternsVisitor;

impl<'de> Visitor<'de> for PatternsVisitor {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of names and regular expressions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut patterns = Vec::new();
        while let Some(entry) = map.next_entry()? {
            patterns.push(entry);
        }
        Ok(patterns)
    }
}

struct RedactVisitor;

impl<'de> Visitor<'de> for RedactVisitor {
    type Value = Redact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`secrets` or a map with `paths`, `with`, `secrets`, `personal` and `patterns`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Redact, E> {
        if text == SECRETS {
            return Ok(Redact::new().secrets(true));
        }
        Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Redact, A::Error> {
        let RedactMap { paths, with, secrets, personal, patterns } =
            RedactMap::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Redact { paths, with, secrets, personal, patterns })
    }
}

#[cfg(test)]
mod tests {
    use super::{Redact, SecretLevel};

    const LEVELS: [Option<SecretLevel>; 3] =
        [None, Some(SecretLevel::Known), Some(SecretLevel::Aggressive)];

    fn of(secrets: Option<SecretLevel>) -> Redact {
        Redact { secrets, ..Redact::new() }
    }

    /// Each level has one form in files, in both directions.
    #[test]
    fn levels_have_a_form_in_files() {
        for (level, text) in
            LEVELS.into_iter().zip(["{}", r#"{"secrets":true}"#, r#"{"secrets":"aggressive"}"#])
        {
            assert_eq!(serde_json::to_string(&of(level)).unwrap(), text);
            assert_eq!(serde_json::from_str::<Redact>(text).unwrap(), of(level), "{text}");
        }
        assert_eq!(serde_json::from_str::<Redact>(r#"{"secrets":false}"#).unwrap(), of(None));
        assert_eq!(serde_json::from_str::<Redact>(r#""secrets""#).unwrap(), of(LEVELS[1]));
        for wrong in ["null", "1", r#""yes""#] {
            let error = serde_json::from_str::<Redact>(&format!("{{\"secrets\":{wrong}}}"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains("true, false or `aggressive`"), "{error}");
        }
    }

    /// Setters and the union of rules never find less than one of them asks for.
    #[test]
    fn levels_are_combined() {
        let [none, known, aggressive] = LEVELS;
        for (redact, level) in [
            (of(none).secrets(true), known),
            (of(aggressive).secrets(true), aggressive),
            (of(aggressive).secrets(false), none),
            (of(known).aggressive(true), aggressive),
            (of(none).aggressive(false), none),
            (of(aggressive).aggressive(false), known),
        ] {
            assert_eq!(redact.secrets, level);
            assert_eq!(redact.searches(), level.is_some());
        }
        for (number, level) in LEVELS.into_iter().enumerate() {
            for (other, more) in LEVELS.into_iter().enumerate() {
                let both = of(level).and(&of(more));
                assert_eq!(both.secrets, LEVELS[number.max(other)], "{level:?} {more:?}");
            }
        }
    }
}
