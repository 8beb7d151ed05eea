//! A typed value together with the place where a file has it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor,
};

use super::node::{Flaw, Reader};

/// A typed value, and the byte of the file where it begins.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    pub at: usize,
    pub value: T,
}

/// The name by which the tree recognises a [`Placed`]. It reads as a list of byte and value.
pub(super) const PLACED: &str = "tamis: a value with its place";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlacedVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for PlacedVisitor<T> {
            type Value = Placed<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Placed<T>, A::Error> {
                let missing = || de::Error::custom("expected a value");
                let at = parts.next_element()?.ok_or_else(missing)?;
                let value = parts.next_element()?.ok_or_else(missing)?;
                Ok(Placed { at, value })
            }
        }
        deserializer.deserialize_newtype_struct(PLACED, PlacedVisitor(PhantomData))
    }
}

/// The parts of a [`Placed`].
pub(super) struct Parts<'a> {
    value: Reader<'a>,
    is_at_value: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn new(value: Reader<'a>) -> Self {
        Self { value, is_at_value: false }
    }
}

impl<'a> SeqAccess<'a> for Parts<'a> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        if std::mem::replace(&mut self.is_at_value, true) {
            seed.deserialize(self.value).map(Some)
        } else {
            seed.deserialize(self.value.node.at.start.into_deserializer()).map(Some)
        }
    }
}
