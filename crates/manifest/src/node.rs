//! The tree of a manifest or of a `gateway.yaml`, in which every value has its place, and a serde deserializer over it.
//!
//! The tree does not depend on a format or on YAML. Places are byte ranges of the text; an error in a value is a
//! `Flaw`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};

use super::placed::{PLACED, Parts};
use super::suggest;
use tamis::spec::{JSON_TEXT, RawJson, SOURCE};

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub at: Range<usize>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    /// Any other number.
    Number,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Clone, Debug)]
pub struct Key {
    pub at: Range<usize>,
    pub text: String,
}

impl Node {
    /// Returns the entries of a map.
    pub fn entries(&self) -> Option<&[(Key, Self)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entry of a map with this key.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        let found = self.entries()?.iter().find(|(found, _)| found.text == key);
        found.map(|(key, node)| (key, node))
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the items of a list.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Describes the kind of value, for messages.
    pub fn what(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Unsigned(_) | Value::Signed(_) | Value::Number => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Deserializes the node as `T`; its places are byte ranges of `text`.
    ///
    /// # Errors
    /// Returns the first flaw, with its place.
    pub fn read<'a, T: de::Deserialize<'a>>(&'a self, text: &'a str) -> Result<T, Flaw> {
        self.read_as(text, Scalars::Written)
    }

    /// Like [`read`](Self::read), for a file that a template may have written, as a Helm chart does.
    ///
    /// # Errors
    /// Returns the first flaw, with its place.
    pub fn read_rendered<'a, T: de::Deserialize<'a>>(&'a self, text: &'a str) -> Result<T, Flaw> {
        self.read_as(text, Scalars::Rendered)
    }

    fn read_as<'a, T>(&'a self, text: &'a str, scalars: Scalars) -> Result<T, Flaw>
    where
        T: de::Deserialize<'a>,
    {
        let reader = Reader { node: self, text, scalars };
        T::deserialize(reader).map_err(|flaw| flaw.or_at(self.at.start))
    }
}

/// An error in a value.
#[derive(Clone, Debug)]
pub struct Flaw {
    pub at: Option<usize>,
    said: Said,
    about: About,
}

/// A message without its subject. Suggestions are computed when the message is formatted, which only happens for the
/// first flaws, since a manifest may have many.
#[derive(Clone, Debug)]
enum Said {
    Text(String),
    MissingKey(&'static str),
    UnknownKey(String, &'static [&'static str]),
    OtherWord(String, &'static [&'static str]),
}

/// The subject of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    /// The message is complete.
    Said,
    /// The subject is the key whose value this is; the key is also the place.
    Key,
    /// Not known yet: `must be text, not a list`.
    Value,
    Entry,
    /// This subject.
    Named(String),
}

impl Flaw {
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::said(Said::Text(message.into())) }
    }

    fn said(said: Said) -> Self {
        Self { at: None, said, about: About::Said }
    }

    fn of_value(said: Said) -> Self {
        Self { at: None, said, about: About::Value }
    }

    fn or_at(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }

    /// Sets the key whose value the flaw is in.
    fn of_key(mut self, key: &str) -> Self {
        self.about = match self.about {
            About::Said | About::Named(_) => return self,
            About::Key => About::Named(format!("`{key}`")),
            About::Value => About::Named(format!("`{key}`")),
            About::Entry => About::Named(format!("each entry of `{key}`")),
        };
        self
    }

    fn of_entry(mut self) -> Self {
        if self.about == About::Value {
            self.about = About::Entry;
        }
        self
    }

    /// Returns the key that the flaw is about, and its place, if the reader does not know the key.
    pub fn unknown_key(&self) -> Option<(usize, &str)> {
        match &self.said {
            Said::UnknownKey(key, _) => Some((self.at?, key)),
            _ => None,
        }
    }

    /// Returns the complete message.
    pub fn message(&self) -> String {
        let said = match &self.said {
            Said::Text(text) => text.clone(),
            Said::MissingKey(key) => format!("is missing the key `{key}`"),
            Said::UnknownKey(word, known) => suggest::unknown("key", word, known),
            Said::OtherWord(word, known) => {
                format!("must be {}, {}", or(known), suggest::instead_of(word, known))
            }
        };
        match &self.about {
            About::Said => said,
            // The outermost map has no name.
            About::Key if let Said::MissingKey(key) = &self.said => {
                format!("the key `{key}` is missing")
            }
            About::Key | About::Value => format!("this {said}"),
            About::Entry => format!("each entry {said}"),
            About::Named(subject) => format!("{subject} {said}"),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Flaw {}

/// Translates serde's `expecting` texts into the terms of a manifest.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u64" => "a whole number of at least 0, such as 25".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        // The types of `gateway.yaml`.
        _ if text.starts_with("struct Written") => "a map".to_owned(),
        _ if text.starts_with("struct ") => "a map of rules".to_owned(),
        _ => text,
    }
}

impl de::Error for Flaw {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::said(Said::Text(message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let given = match unexpected {
            Unexpected::Bool(yes) => yes.to_string(),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Str(text) if text.chars().count() <= 40 => format!("the text {text:?}"),
            Unexpected::Str(_) => "text".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a map".to_owned(),
            Unexpected::Unit => "nothing".to_owned(),
            other => other.to_string(),
        };
        Self::of_value(Said::Text(format!("must be {}, not {given}", wanted(expected))))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::said(Said::UnknownKey(field.to_owned(), expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::of_value(Said::OtherWord(variant.to_owned(), expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { at: None, said: Said::MissingKey(field), about: About::Key }
    }
}

/// `a, b or c`.
pub fn or(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// How scalars are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scalars {
    /// A number in quotes is a text, and each key must have a value.
    Written,
    /// A number or a boolean in quotes is also one without, a boolean is also a text, and an option may be empty.
    Rendered,
}

/// A node as a serde deserializer.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) node: &'a Node,
    text: &'a str,
    scalars: Scalars,
}

impl<'a> Reader<'a> {
    /// Parses a number or a boolean in quotes, if a template may have written it.
    fn unquoted<T: FromStr>(self) -> Option<T> {
        let text = self.node.as_text().filter(|_| self.scalars == Scalars::Rendered)?;
        text.parse().ok()
    }

    /// Writes the node as JSON. Recursion is bounded by the maximum depth of a manifest.
    fn write_json(self, out: &mut String) -> Result<(), Flaw> {
        let inside = |node: &'a Node| Reader { node, ..self };
        match &self.node.value {
            Value::Null => out.push_str("null"),
            Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
            Value::Unsigned(number) => out.push_str(&number.to_string()),
            Value::Signed(number) => out.push_str(&number.to_string()),
            Value::Number => {
                let written = self.text.get(self.node.at.clone()).unwrap_or_default();
                if written.parse::<RawJson>().is_err() {
                    let message = format!(
                        "`{}` is not a valid JSON number; write digits, as in 0.5 or 1e9, or quote it if it is text",
                        suggest::short(written)
                    );
                    return Err(Flaw::new(self.node.at.start, message));
                }
                out.push_str(written);
            }
            Value::Text(text) => out.push_str(RawJson::from(text.as_str()).as_str()),
            Value::List(list) => {
                out.push('[');
                for (number, node) in list.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    inside(node).write_json(out)?;
                }
                out.push(']');
            }
            Value::Map(entries) => {
                out.push('{');
                for (number, (key, node)) in entries.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    out.push_str(RawJson::from(key.text.as_str()).as_str());
                    out.push(':');
                    inside(node).write_json(out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

/// Reads a number or a boolean, which a template may have put in quotes.
macro_rules! deserialize_scalar {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Flaw> {
            match self.unquoted() {
                Some(value) => {
                    visitor.$visit(value).map_err(|flaw: Flaw| flaw.or_at(self.node.at.start))
                }
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'a> Deserializer<'a> for Reader<'a> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Flaw> {
        let Self { node, text, .. } = self;
        let read = match &node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(yes) => visitor.visit_bool(*yes),
            Value::Unsigned(number) => visitor.visit_u64(*number),
            Value::Signed(number) => visitor.visit_i64(*number),
            Value::Number => Err(de::Error::invalid_type(
                Unexpected::Other(text.get(node.at.clone()).unwrap_or("this number")),
                &visitor,
            )),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(list) => visitor.visit_seq(List { list: list.iter(), parent: self }),
            Value::Map(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), value: None, parent: self })
            }
        };
        read.map_err(|flaw| flaw.or_at(node.at.start))
    }

    /// A number where text is expected is read as its source text: the name of a member may be `404`.
    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Flaw> {
        let is_spelled = match &self.node.value {
            Value::Unsigned(_) | Value::Signed(_) | Value::Number => true,
            Value::Bool(_) => self.scalars == Scalars::Rendered,
            _ => false,
        };
        if !is_spelled {
            return self.deserialize_any(visitor);
        }
        let spelling = self.text.get(self.node.at.clone()).unwrap_or_default();
        let read = visitor.visit_borrowed_str(spelling.trim());
        read.map_err(|flaw: Flaw| flaw.or_at(self.node.at.start))
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.deserialize_str(visitor)
    }

    /// A key of a manifest must have a value: a key without one is a mistake, and must not disable the rule.
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match (&self.node.value, self.scalars) {
            (Value::Null, Scalars::Rendered) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    deserialize_scalar! {
        deserialize_bool visit_bool
        deserialize_i8 visit_u64 deserialize_i16 visit_u64 deserialize_i32 visit_u64 deserialize_i64 visit_u64
        deserialize_u8 visit_u64 deserialize_u16 visit_u64 deserialize_u32 visit_u64 deserialize_u64 visit_u64
    }

    /// A JSON value is passed on as text, so that its numbers keep their spelling.
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        if name == JSON_TEXT {
            let mut text = String::new();
            self.write_json(&mut text)?;
            return visitor.visit_str(&text).map_err(|flaw: Flaw| flaw.or_at(self.node.at.start));
        }
        if name == SOURCE {
            return self.deserialize_str(visitor);
        }
        if name == PLACED {
            return visitor.visit_seq(Parts::new(self));
        }
        visitor.visit_newtype_struct(self)
    }

    /// Fields must have names: by default serde would also accept a list of their values.
    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        if let Value::List(_) = self.node.value {
            let flaw: Flaw = de::Error::invalid_type(Unexpected::Seq, &visitor);
            return Err(flaw.or_at(self.node.at.start));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        let at = self.node.at.start;
        match &self.node.value {
            Value::Text(text) => {
                visitor.visit_enum(Variant(text)).map_err(|flaw: Flaw| flaw.or_at(at))
            }
            _ => {
                let said = format!("must be {}, not {}", or(variants), self.node.what());
                Err(Flaw::of_value(Said::Text(said)).or_at(at))
            }
        }
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct List<'a> {
    list: std::slice::Iter<'a, Node>,
    parent: Reader<'a>,
}

impl<'a> SeqAccess<'a> for List<'a> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        let Some(node) = self.list.next() else { return Ok(None) };
        let read = seed.deserialize(Reader { node, ..self.parent });
        read.map(Some).map_err(|flaw| flaw.or_at(node.at.start).of_entry())
    }
}

struct Entries<'a> {
    entries: std::slice::Iter<'a, (Key, Node)>,
    value: Option<(&'a Key, &'a Node)>,
    parent: Reader<'a>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Flaw;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Flaw> {
        let Some((key, node)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, node));
        let read = seed.deserialize(key.text.as_str().into_deserializer());
        read.map(Some).map_err(|flaw: Flaw| flaw.or_at(key.at.start))
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, Flaw> {
        let Some((key, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        // A missing value is reported at its key, and so is a value in which something is missing.
        let at = if let Value::Null = node.value { key.at.start } else { node.at.start };
        let read = seed.deserialize(Reader { node, ..self.parent });
        read.map_err(|flaw| {
            let flaw = match (&node.value, &flaw.about) {
                (Value::Null, About::Value) => Flaw { at: Some(at), ..flaw },
                (_, About::Key) => Flaw { at: Some(key.at.start), ..flaw },
                _ => flaw.or_at(at),
            };
            flaw.of_key(&key.text)
        })
    }
}

/// A word as the name of a variant.
struct Variant<'a>(&'a str);

impl<'a> EnumAccess<'a> for Variant<'a> {
    type Error = Flaw;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Flaw> {
        let value = seed.deserialize(self.0.into_deserializer())?;
        Ok((value, self))
    }
}

impl<'a> VariantAccess<'a> for Variant<'a> {
    type Error = Flaw;

    fn unit_variant(self) -> Result<(), Flaw> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, _: T) -> Result<T::Value, Flaw> {
        Err(de::Error::custom("expected a word"))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, _: V) -> Result<V::Value, Flaw> {
        Err(de::Error::custom("expected a word"))
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Flaw> {
        Err(de::Error::custom("expected a word"))
    }
}
