//! Documents in which a value is planted that must not leave, and where in them it is.

use tamis_json::path::PathToken;

use super::random::Random;
use super::shapes::Shape;
use super::value::Json;

/// A number that occurs nowhere else. It is planted as a number, and as a part of strings.
#[derive(Clone, Debug)]
pub(super) struct Canary(String);

impl Canary {
    pub(super) fn new(random: &mut Random) -> Self {
        Self(random.digits(9))
    }

    pub(super) fn digits(&self) -> &str {
        &self.0
    }

    /// Returns the text that is planted for a rule: one that the rule must remove.
    pub(super) fn text(&self, kind: RuleKind) -> String {
        match kind {
            // A credential of a known form. It belongs to nobody.
            RuleKind::Secrets => ["gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N", &self.0].concat(),
            // The domain is reserved for examples (RFC 2606).
            RuleKind::Personal => format!("canary-{}@example.org", self.0),
            RuleKind::Exclude
            | RuleKind::Redact
            | RuleKind::Patch
            | RuleKind::Retain
            | RuleKind::Select => format!("canary-{}", self.0),
        }
    }

    /// Returns the value that is planted for a rule.
    pub(super) fn value(&self, kind: RuleKind) -> Json {
        Json::string(&self.text(kind))
    }

    /// Returns whether the value is in an output, also if its characters are escaped there.
    pub(super) fn is_in(&self, output: &[u8]) -> bool {
        let holds =
            |text: &[u8]| text.windows(self.0.len()).any(|window| window == self.0.as_bytes());
        holds(output) || (output.contains(&b'\\') && holds(&without_escapes(output)))
    }
}

/// Replaces `\u00XX`, after any number of backslashes, by the character.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            plain.push(*byte);
            continue;
        }
        let digits = after.strip_prefix(b"u00").and_then(|after| after.get(..2));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(char) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            plain.push(char);
            rest = after.get(5..).unwrap_or_default();
        }
    }
    plain
}

/// The kind of rule that removes the value at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleKind {
    Exclude,
    /// `redact`: the value is replaced.
    Redact,
    /// `redact: secrets`: a credential is replaced, wherever it is.
    Secrets,
    /// `redact: {personal: true}`: an e-mail address is replaced, wherever it is.
    Personal,
    Patch,
    /// `retain`: everything else is removed.
    Retain,
    /// `select` with `on_error: closed`: everything else is removed.
    Select,
}

/// A place of documents whose value a rule removes.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) kind: RuleKind,
    /// The rule, for readers.
    pub(super) rule: String,
    /// The path that the rule names or, for rules that keep, the path of a value that they do not keep.
    pub(super) path: String,
    /// Whether the path has an index, and so names one element of an array.
    pub(super) has_index: bool,
    /// Whether the rule has to notice that the whole document is inside another object.
    pub(super) notices_wrappers: bool,
}

/// A document with a planted value.
#[derive(Clone, Debug)]
pub(super) struct Planted {
    /// The position of its place in the list of places.
    pub(super) place: usize,
    pub(super) document: Json,
    /// The location of the planted value.
    pub(super) at: Vec<usize>,
    /// The branch of `when` that must apply.
    pub(super) branch: Option<usize>,
    /// The paths of the values that decide which operations or branches apply.
    pub(super) tests: Vec<Vec<PathToken>>,
    /// The number of levels at the beginning of the location that lead to the payload by name.
    pub(super) root_levels: usize,
    /// Whether the payload is found by its shape.
    pub(super) is_automatic: bool,
    /// Whether the planted value is inside a string with JSON.
    pub(super) in_string: bool,
    /// The changes that were made to the plain document.
    pub(super) shapes: Vec<Shape>,
    /// The plain document, if shapes were applied before it was put into a string.
    pub(super) origin: Option<String>,
}

impl Planted {
    /// Puts the document at a path of another one.
    pub(super) fn below(mut self, path: &[PathToken]) -> Option<Self> {
        if path.is_empty() {
            return Some(self);
        }
        let mut document = Json::object();
        let mut at = document.set(path, Json::object())?;
        *document.at_mut(&at)? = std::mem::replace(&mut self.document, Json::null());
        self.root_levels += at.len();
        at.append(&mut self.at);
        // The origin lacks the path.
        let origin = None;
        let tests = self.tests.into_iter().map(|test| [path, &test].concat()).collect();
        Some(Self { document, at, tests, origin, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::Canary;

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let canary = Canary("7531".into());
        for (output, is_in) in [
            ("{\"a\":7531}", true),
            ("7 5 3 1", false),
            (r#""\u0037\u0035\u0033\u0031""#, true),
            (r#""{\"a\":\"7\\u003531\"}""#, true),
            (r#""\u00"#, false),
            (r#""75\"31""#, false),
        ] {
            assert_eq!(canary.is_in(output.as_bytes()), is_in, "{output}");
        }
    }
}
