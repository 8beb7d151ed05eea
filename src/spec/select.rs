//! The `select` rule as it is declared: a map from output keys to paths, or a list of paths.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::OnKind;

/// The selected members in the order of declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(#[doc(hidden)] pub Vec<SelectPath>);

/// One selected member.
#[derive(Clone, Debug)]
pub struct SelectPath {
    /// The key in the output; `None` means the last name of the path.
    #[doc(hidden)]
    pub key: Option<String>,
    /// The path, with its projection if it has one.
    #[doc(hidden)]
    pub path: String,
    /// The treatment of a value of another kind; `None`: that of the spec.
    #[doc(hidden)]
    pub on_kind: Option<OnKind>,
}

impl SelectPath {
    /// Returns the key in the output, if the path can be parsed and has a name.
    #[doc(hidden)]
    pub fn output_key(&self) -> Option<String> {
        match &self.key {
            Some(key) => Some(key.clone()),
            None => tamis_json::path::Path::parse_selected(&self.path)
                .ok()?
                .path
                .last_name()
                .map(str::to_owned),
        }
    }
}

/// Two selected paths are equal if they have the same output key, spelled out or not.
impl PartialEq for SelectPath {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
            && self.on_kind == other.on_kind
            && self.output_key() == other.output_key()
    }
}

impl Eq for SelectPath {}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.iter().all(|source| source.key.is_none()) {
            let mut list = serializer.serialize_seq(Some(self.0.len()))?;
            for source in &self.0 {
                list.serialize_element(&WrittenSource::from(source))?;
            }
            return list.end();
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for source in &self.0 {
            let written = WrittenSource::from(source);
            map.serialize_entry(&source.output_key().unwrap_or_default(), &written)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SelectionVisitor;
        impl<'de> Visitor<'de> for SelectionVisitor {
            type Value = Selection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from output keys to paths, or a list of paths")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Selection, A::Error> {
                let mut select = Selection::default();
                while let Some((key, written)) = map.next_entry()? {
                    let WrittenSource { path, on_kind } = written;
                    select.0.push(SelectPath { key: Some(key), path, on_kind });
                }
                Ok(select)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Selection, A::Error> {
                let mut select = Selection::default();
                while let Some(WrittenSource { path, on_kind }) = list.next_element()? {
                    select.0.push(SelectPath { key: None, path, on_kind });
                }
                Ok(select)
            }
        }
        deserializer.deserialize_any(SelectionVisitor)
    }
}

/// The name by which a format recognises a source: a path that looks like a number is a path.
#[doc(hidden)]
pub const SOURCE: &str = "tamis: a path, or a map";

/// A source as it is written: its path, or a map with the path and what it yields for a value of another kind.
struct WrittenSource {
    path: String,
    on_kind: Option<OnKind>,
}

/// The form of a map.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = r#"a source such as {"path": "user.login"}"#)]
struct SourceFields {
    path: String,
    on_kind: Option<OnKind>,
}

impl From<&SelectPath> for WrittenSource {
    fn from(source: &SelectPath) -> Self {
        Self { path: source.path.clone(), on_kind: source.on_kind }
    }
}

impl Serialize for WrittenSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.on_kind {
            None => serializer.serialize_str(&self.path),
            on_kind => SourceFields { path: self.path.clone(), on_kind }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SourceVisitor;
        impl<'de> Visitor<'de> for SourceVisitor {
            type Value = WrittenSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, or a map with `path` and `on_kind`")
            }

            fn visit_str<E: de::Error>(self, path: &str) -> Result<WrittenSource, E> {
                Ok(WrittenSource { path: path.to_owned(), on_kind: None })
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<WrittenSource, D::Error> {
                deserializer.deserialize_any(self)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenSource, A::Error> {
                let fields = SourceFields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(WrittenSource { path: fields.path, on_kind: fields.on_kind })
            }
        }
        deserializer.deserialize_newtype_struct(SOURCE, SourceVisitor)
    }
}
