//! The places of all keys and values of a `gateway.yaml`, which is read again as a tree after an error.
//!
//! The parser gives an error that serde raises inside a map the place of that map. The tree is a deserializer as well, so
//! the same error gets the place of the innermost value, and a message in the terms of the file.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde_saphyr::{Location, Spanned};

/// A value of the file, and where it is written.
#[derive(Debug)]
pub(super) struct PlacedNode {
    pub(super) at: Location,
    value: NodeValue,
}

#[derive(Debug)]
enum NodeValue {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<PlacedNode>),
    Map(Vec<(PlacedNode, PlacedNode)>),
}

impl PlacedNode {
    /// Reads a value as `T`.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, PlacedError> {
        T::deserialize(self)
    }

    /// Returns the key of a map and its value.
    pub(super) fn entry(&self, name: &str) -> Option<(&Self, &Self)> {
        let NodeValue::Map(entries) = &self.value else { return None };
        let (key, value) = entries.iter().find(|(key, _)| key.text() == Some(name))?;
        Some((key, value))
    }

    /// Returns an element of a list.
    pub(super) fn element(&self, at: usize) -> Option<&Self> {
        let NodeValue::List(list) = &self.value else { return None };
        list.get(at)
    }

    /// Returns the place that the error of a spec refers to. Its message begins with the name of the key, and ends with
    /// the refused text in most cases.
    pub(super) fn place_of(&self, message: &str) -> Option<Location> {
        let name = message.split([':', ' ', '[']).next().unwrap_or_default();
        let entry = self.entry(name.trim_matches('`'));
        let refused = message.rsplit_once(" of `").and_then(|(_, rest)| rest.strip_suffix("`)"));
        let text = refused.and_then(|text| entry.map_or(self, |(_, value)| value).find(text));
        text.or(entry.map(|(key, _)| key)).map(|node| node.at)
    }

    /// Returns the first key or value that is this text.
    fn find(&self, text: &str) -> Option<&Self> {
        match &self.value {
            NodeValue::Text(own) if own == text => Some(self),
            NodeValue::List(list) => list.iter().find_map(|node| node.find(text)),
            NodeValue::Map(entries) => {
                entries.iter().find_map(|(key, value)| key.find(text).or_else(|| value.find(text)))
            }
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Gives an error without a place that of this value, or of the key that it names.
    fn place<T>(&self, result: Result<T, PlacedError>) -> Result<T, PlacedError> {
        result.map_err(|mut error| {
            if error.at.is_none() {
                let key = error.key.as_ref().and_then(|key| self.entry(key));
                error.at = Some(key.map_or(self.at, |(key, _)| key.at));
            }
            error
        })
    }
}

impl<'de> Deserialize<'de> for PlacedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { at: referenced, value })
    }
}

impl<'de> Deserialize<'de> for NodeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = NodeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<NodeValue, E> {
        Ok(NodeValue::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<NodeValue, E> {
        Ok(NodeValue::Unsigned(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<NodeValue, E> {
        Ok(u64::try_from(value).map_or(NodeValue::Signed(value), NodeValue::Unsigned))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<NodeValue, E> {
        Ok(NodeValue::Float(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NodeValue, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(NodeValue::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(NodeValue::Map(entries))
    }
}

/// The elements of a list.
struct Elements<'a>(std::slice::Iter<'a, PlacedNode>);

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = PlacedError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, PlacedError> {
        self.0.next().map(|node| node.place(seed.deserialize(node))).transpose()
    }
}

/// The entries of a map.
struct Entries<'a> {
    rest: std::slice::Iter<'a, (PlacedNode, PlacedNode)>,
    value: Option<&'a PlacedNode>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = PlacedError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, PlacedError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        key.place(seed.deserialize(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, PlacedError> {
        let value = self.value.take();
        let value = value.ok_or_else(|| de::Error::custom("expected a key before the value"))?;
        value.place(seed.deserialize(value))
    }
}

impl<'de> Deserializer<'de> for &PlacedNode {
    type Error = PlacedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let result = match &self.value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(value) => visitor.visit_bool(*value),
            NodeValue::Unsigned(value) => visitor.visit_u64(*value),
            NodeValue::Signed(value) => visitor.visit_i64(*value),
            NodeValue::Float(value) => visitor.visit_f64(*value),
            NodeValue::Text(text) => visitor.visit_str(text),
            NodeValue::List(list) => visitor.visit_seq(Elements(list.iter())),
            NodeValue::Map(map) => visitor.visit_map(Entries { rest: map.iter(), value: None }),
        };
        self.place(result)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match self.value {
            NodeValue::Null => visitor.visit_none(),
            _ => self.place(visitor.visit_some(self)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        self.place(visitor.visit_newtype_struct(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        let result = match &self.value {
            NodeValue::Text(text) => {
                let name: StrDeserializer<'_, PlacedError> = text.as_str().into_deserializer();
                visitor.visit_enum(name)
            }
            NodeValue::Map(map) => {
                let entries = Entries { rest: map.iter(), value: None };
                visitor.visit_enum(MapAccessDeserializer::new(entries))
            }
            _ => return self.deserialize_any(visitor),
        };
        self.place(result)
    }

    /// The parser reads a plain number as a text if a text is expected.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let text = match &self.value {
            NodeValue::Bool(value) => value.to_string(),
            NodeValue::Unsigned(value) => value.to_string(),
            NodeValue::Signed(value) => value.to_string(),
            NodeValue::Float(value) => value.to_string(),
            _ => return self.deserialize_any(visitor),
        };
        self.place(visitor.visit_string(text))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_str(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

/// An error of the tree.
#[derive(Debug)]
pub(super) struct PlacedError {
    /// The innermost value that was read. `None` until one is known.
    pub(super) at: Option<Location>,
    pub(super) message: String,
    /// The key that is not known.
    key: Option<String>,
    /// Whether a number was found where a text was expected. The parser accepts it in some places, and the tree does
    /// not.
    pub(super) is_doubtful: bool,
}

impl PlacedError {
    fn expected(found: Unexpected<'_>, expected: &str) -> Self {
        let number = ["u64", "u32", "u16", "u8", "usize", "i64", "i32"].contains(&expected);
        let expected = match expected {
            "a string" | "string" => "a text",
            "a boolean" => "`true` or `false`",
            "a sequence" => "a list",
            "span-aware newtype wrapper" => "a value",
            _ if number => "a whole number",
            _ if expected.starts_with("struct ") => "a map",
            _ => expected,
        };
        let is_scalar = matches!(
            found,
            Unexpected::Bool(_)
                | Unexpected::Unsigned(_)
                | Unexpected::Signed(_)
                | Unexpected::Float(_)
        );
        let found = match found {
            Unexpected::Bool(value) => format!("`{value}`"),
            Unexpected::Unsigned(value) => format!("`{value}`"),
            Unexpected::Signed(value) => format!("`{value}`"),
            Unexpected::Float(value) => format!("`{value}`"),
            Unexpected::Str(text) => {
                format!("`{}`", text.chars().take(80).collect::<String>().escape_debug())
            }
            Unexpected::Unit | Unexpected::Option => "an empty value".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a map".to_owned(),
            other => other.to_string(),
        };
        let is_doubtful = is_scalar && expected == "a text";
        let message = format!("expected {expected}, not {found}");
        Self { is_doubtful, ..de::Error::custom(message) }
    }
}

/// Returns names in backticks: `a`, `b` or `c`.
fn one_of(names: &[&str]) -> String {
    let mut quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let last = quoted.pop().unwrap_or_default();
    if quoted.is_empty() { last } else { format!("{} or {last}", quoted.join(", ")) }
}

impl de::Error for PlacedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { at: None, message: message.to_string(), key: None, is_doubtful: false }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(found, &expected.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(found, &expected.to_string())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("expected {}, not `{variant}`", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("unknown key `{field}`, expected {}", one_of(expected));
        Self { key: Some(field.to_owned()), ..Self::custom(message) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is written twice"))
    }
}

impl fmt::Display for PlacedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlacedError {}
