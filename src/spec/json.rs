//! JSON values inside a spec, kept as they are written: values that patches add, and values to compare with.
//!
//! A number in a spec is as exact as one in a document: a number that is read as text never becomes a float.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::key::{quote, unescape};
use tamis_json::tree::children;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot, machine};

/// The newtype name by which a deserialiser recognises that it may pass the value as a JSON text. A text keeps more
/// than serde's numbers do.
#[doc(hidden)]
pub const TEXT: &str = "tamis::spec::RawJson";

/// A JSON value as text: a value that a patch adds, or that a condition compares with.
///
/// Numbers, strings and keys keep their spelling; white space between tokens is removed. Create it from a text
/// ([`parse`](str::parse)), or deserialise it, in which case numbers are as exact as the deserialiser reports them.
///
/// ```
/// use tamis::spec::RawJson;
///
/// let value: RawJson = r#"{"price": 1.10, "id": 12345678901234567890123}"#.parse()?;
/// assert_eq!(value.as_str(), r#"{"price":1.10,"id":12345678901234567890123}"#);
/// assert_eq!(RawJson::from("a \"b\"").as_str(), r#""a \"b\"""#);
/// assert_eq!("[1, 2".parse::<RawJson>().unwrap_err().offset(), Some(5));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Returns the minified text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[doc(hidden)]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({})", self.0)
    }
}

impl FromStr for RawJson {
    type Err = Error;

    /// Parses a JSON text (RFC 8259) with at most 1,024 nested containers.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut minified = MinifyHandler(Vec::with_capacity(text.len()));
        machine::read(text.as_bytes(), 0, &mut minified)?;
        String::from_utf8(minified.0).map(|text| Self(text.into())).map_err(|_not_utf8| {
            let raise = Raise::new(ErrorKind::Encoding, "the value is not UTF-8");
            Error::at(raise, 0, String::new())
        })
    }
}

/// Collects the text without white space.
struct MinifyHandler(Vec<u8>);

impl Handler for MinifyHandler {
    fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&quote(text)).into_owned()
}

impl From<&str> for RawJson {
    /// Creates a string with this text.
    fn from(text: &str) -> Self {
        Self(quoted(text).into())
    }
}

impl From<bool> for RawJson {
    fn from(yes: bool) -> Self {
        Self(yes.to_string().into())
    }
}

impl From<i64> for RawJson {
    fn from(number: i64) -> Self {
        Self(number.to_string().into())
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawJsonVisitor;
        impl<'de> Visitor<'de> for RawJsonVisitor {
            type Value = RawJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            /// Reads the value from any deserialiser.
            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<RawJson, D::Error> {
                let mut text = String::new();
                deserializer.deserialize_any(RawJsonBuilder(&mut text))?;
                Ok(RawJson(text.into()))
            }

            /// Reads the text from a deserialiser that knows the newtype name.
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawJson, E> {
                text.parse().map_err(|error: Error| E::custom(error.message()))
            }
        }
        deserializer.deserialize_newtype_struct(TEXT, RawJsonVisitor)
    }
}

/// Appends a value of serde's data model to a JSON text.
struct RawJsonBuilder<'a>(&'a mut String);

impl<'de> de::DeserializeSeed<'de> for RawJsonBuilder<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RawJsonBuilder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, yes: bool) -> Result<(), E> {
        self.0.push_str(if yes { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        if !number.is_finite() {
            return Err(E::custom("JSON cannot represent this number"));
        }
        self.0.push_str(&format!("{number:?}"));
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.0.push_str(&quoted(text));
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.push('[');
        let mut first = true;
        loop {
            let at = self.0.len();
            if !first {
                self.0.push(',');
            }
            if list.next_element_seed(RawJsonBuilder(self.0))?.is_none() {
                self.0.truncate(at);
                self.0.push(']');
                return Ok(());
            }
            first = false;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.push('{');
        let mut first = true;
        while let Some(key) = map.next_key::<String>()? {
            if !std::mem::take(&mut first) {
                self.0.push(',');
            }
            self.0.push_str(&quoted(&key));
            self.0.push(':');
            map.next_value_seed(RawJsonBuilder(self.0))?;
        }
        self.0.push('}');
        Ok(())
    }
}

impl Serialize for RawJson {
    /// Serialises the value itself. Fails for a number that serde cannot represent exactly (in 64 bits, or as a float).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJsonRef(&self.0).serialize(serializer)
    }
}

/// A part of a JSON text.
struct RawJsonRef<'a>(&'a str);

impl Serialize for RawJsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0;
        match text.as_bytes() {
            b"null" => serializer.serialize_unit(),
            b"true" => serializer.serialize_bool(true),
            b"false" => serializer.serialize_bool(false),
            [b'"', inside @ .., b'"'] => {
                let inside = unescape(inside).and_then(|text| String::from_utf8(text).ok());
                let lone = "a string with a lone surrogate is not valid Unicode";
                serializer.serialize_str(&inside.ok_or_else(|| ser::Error::custom(lone))?)
            }
            [b'[', ..] => {
                let mut list = serializer.serialize_seq(None)?;
                for (_, value) in children(text) {
                    list.serialize_element(&RawJsonRef(value))?;
                }
                list.end()
            }
            [b'{', ..] => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in children(text) {
                    let name = unescape(key.as_bytes()).and_then(|key| String::from_utf8(key).ok());
                    let lone = "a key with a lone surrogate is not valid Unicode";
                    let name = name.ok_or_else(|| ser::Error::custom(lone))?;
                    map.serialize_entry(&name, &RawJsonRef(value))?;
                }
                map.end()
            }
            _ => {
                if let Ok(number) = text.parse::<u64>() {
                    return serializer.serialize_u64(number);
                }
                // An integer zero has no sign.
                if text != "-0"
                    && let Ok(number) = text.parse::<i64>()
                {
                    return serializer.serialize_i64(number);
                }
                match text.parse::<f64>() {
                    Ok(number) if tamis_json::tree::same_number(text, &format!("{number:?}")) => {
                        serializer.serialize_f64(number)
                    }
                    _ => Err(ser::Error::custom(format!(
                        "the number {text:.40} has no exact place here"
                    ))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn through_serde_and_back() {
        for text in [
            "null",
            "true",
            "-7",
            "18446744073709551615",
            "1.5",
            "1e300",
            r#""a\"\\b\u0001é""#,
            "[]",
            "{}",
            r#"[1,[2,{"a":null}],"x"]"#,
            r#"{"a":{"b":[{}]},"":0}"#,
        ] {
            let json: RawJson = serde_json::from_str(text).unwrap();
            let back = serde_json::to_string(&json).unwrap();
            let again: RawJson = back.parse().unwrap();
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(again.as_str()).unwrap(), value);
            assert_eq!(serde_json::from_str::<serde_json::Value>(json.as_str()).unwrap(), value);
        }
    }

    #[test]
    fn a_negative_zero_stays_negative() {
        let json: RawJson = "-0".parse().unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), "-0.0");
    }

    #[test]
    fn numbers_that_serde_does_not_have() {
        for text in ["12345678901234567890123", "1E400", "0.10000000000000000000001"] {
            let json: RawJson = text.parse().unwrap();
            assert_eq!(json.as_str(), text);
            assert!(serde_json::to_string(&json).is_err(), "{text} is not rounded");
        }
    }

    #[test]
    fn only_white_space_is_removed() {
        let json: RawJson = " { \"\\u0041 b\" : [ 1.10 , -0 ] } ".parse().unwrap();
        assert_eq!(json.as_str(), r#"{"\u0041 b":[1.10,-0]}"#);
    }
}
