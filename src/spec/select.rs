//! The `select` rule as it is declared: a map from output keys to paths, or a list of paths.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

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
        self.path == other.path && self.output_key() == other.output_key()
    }
}

impl Eq for SelectPath {}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.iter().all(|source| source.key.is_none()) {
            let mut list = serializer.serialize_seq(Some(self.0.len()))?;
            for source in &self.0 {
                list.serialize_element(&source.path)?;
            }
            return list.end();
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for source in &self.0 {
            map.serialize_entry(&source.output_key().unwrap_or_default(), &source.path)?;
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
                while let Some((key, path)) = map.next_entry()? {
                    select.0.push(SelectPath { key: Some(key), path });
                }
                Ok(select)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Selection, A::Error> {
                let mut select = Selection::default();
                while let Some(path) = list.next_element()? {
                    select.0.push(SelectPath { key: None, path });
                }
                Ok(select)
            }
        }
        deserializer.deserialize_any(SelectionVisitor)
    }
}
