//! The rule `json_strings`: filters JSON documents inside strings of the document.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Spec;
use tamis_text::fields::some;

/// An entry of [`Spec::json_strings`]: the strings at a pointer hold JSON, which has rules of its own.
///
/// ```
/// use tamis::spec::{JsonStringFallback, JsonStrings};
/// use tamis::{Program, Spec, filter_slice};
///
/// let entry = JsonStrings::new("/content/text", Spec::new().exclude("token"))
///     .otherwise(JsonStringFallback::Drop);
/// let program = Program::compile(&Spec::new().json_strings(entry))?;
/// let input = br#"{"content": [{"text": "{\"id\": 1.10, \"token\": \"x\"}"}, {"text": "plain"}]}"#;
/// let (output, _) = filter_slice(&program, input)?;
/// assert_eq!(output, br#"{"content":[{"text":"{\"id\":1.10}"},{}]}"#);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonStrings {
    #[doc(hidden)]
    pub at: String,
    #[doc(hidden)]
    pub apply: InnerRules,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    #[doc(hidden)]
    pub otherwise: Option<JsonStringFallback>,
}

impl JsonStrings {
    /// Applies rules to the JSON in the strings at a JSON Pointer. Names reach through arrays: `/content/text` is also the
    /// `text` of each element of an array `content`. The empty pointer is the whole document.
    #[must_use]
    pub fn new(at: impl Into<String>, apply: impl Into<InnerRules>) -> Self {
        Self { at: at.into(), apply: apply.into(), otherwise: None }
    }

    /// Sets what happens to a value there that is not a string with JSON.
    ///
    /// Default: [`JsonStringFallback::Error`] if the spec or the rules to apply have
    /// [`OnError::Closed`](super::OnError::Closed), which is the default with `retain`, `patches` and `when`;
    /// otherwise [`JsonStringFallback::Keep`].
    #[must_use]
    pub fn otherwise(mut self, otherwise: JsonStringFallback) -> Self {
        self.otherwise = Some(otherwise);
        self
    }
}

/// The rules for JSON inside a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InnerRules {
    /// The rules of the spec that has this entry, without its `json_strings`.
    Same,
    /// Rules of their own, which may have `json_strings` again.
    Spec(Box<Spec>),
}

impl From<Spec> for InnerRules {
    fn from(spec: Spec) -> Self {
        Self::Spec(Box::new(spec))
    }
}

/// The text of [`InnerRules::Same`].
const SAME: &str = "same";

impl Serialize for InnerRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same => serializer.serialize_str(SAME),
            Self::Spec(spec) => spec.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InnerRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InnerRulesVisitor)
    }
}

struct InnerRulesVisitor;

impl<'de> Visitor<'de> for InnerRulesVisitor {
    type Value = InnerRules;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`same` or a map of rules")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<InnerRules, E> {
        if text == SAME {
            return Ok(InnerRules::Same);
        }
        Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<InnerRules, A::Error> {
        Spec::deserialize(MapAccessDeserializer::new(map)).map(InnerRules::from)
    }
}

/// The handling of a value at the pointer of a [`JsonStrings`] that is not a string with one JSON object or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonStringFallback {
    /// It is kept as it is. A string with JSON is held until it is known to be valid.
    Keep,
    /// It is dropped with its key. A string with JSON is held until it is known to be valid.
    Drop,
    /// It is an error. Nothing is held.
    Error,
}
