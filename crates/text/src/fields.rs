//! Functions that the serde attributes of fields name.

use serde::{Deserialize, Deserializer};

/// Returns whether a field has its default value, and is not serialised.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Deserialises a field that must not be null.
pub fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
