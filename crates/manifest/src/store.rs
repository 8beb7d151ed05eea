//! The setting `store`: where a gateway keeps the results that it has cut, for how long, and who may read them.
//!
//! In a file it is one word or path, or a map:
//!
//! ```text
//! store: memory
//! store: {at: ~/.cache/results, max_entry: 64M, max_total: 1G, max_age: 24h, scope: {header: X-User}}
//! ```

use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};

/// The place of stored results. In a file it is one word, or else the path of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorePlace {
    /// The user's own folder for a proxy on standard input and output, so that results outlive it, and the memory of the
    /// process for servers.
    #[default]
    Automatic,
    /// The memory of the process.
    Memory,
    /// A folder, as it is written in the manifest: `~` is not expanded.
    Folder(String),
    /// A bucket of an object store, and a prefix in it: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or
    /// `az://CONTAINER/PREFIX`.
    Cloud(String),
    /// Nothing is stored.
    Off,
}

/// Who may read a stored result, where a connection has no session of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreScope {
    /// Requests with the same `Authorization` header.
    #[default]
    Authorization,
    /// Requests with the same value of this header.
    Header(String),
}

/// The setting `store` of a manifest. Limits that are not set are `None`; the gateway has defaults for each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreSettings {
    place: StorePlace,
    max_entry: Option<u64>,
    max_total: Option<u64>,
    max_age: Option<Duration>,
    scope: StoreScope,
}

impl StoreSettings {
    /// Returns the place of the results.
    #[must_use]
    pub fn place(&self) -> &StorePlace {
        &self.place
    }

    /// Returns the maximum size of one result in bytes.
    #[must_use]
    pub fn max_entry(&self) -> Option<u64> {
        self.max_entry
    }

    /// Returns the maximum size of all results in bytes.
    #[must_use]
    pub fn max_total(&self) -> Option<u64> {
        self.max_total
    }

    /// Returns the age after which a result is removed.
    #[must_use]
    pub fn max_age(&self) -> Option<Duration> {
        self.max_age
    }

    /// Returns who may read a result.
    #[must_use]
    pub fn scope(&self) -> &StoreScope {
        &self.scope
    }
}

/// The map form. Each key is optional, and a misspelled one is an error with its place.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StoreMap {
    at: Option<StorePlace>,
    max_entry: Option<ByteCount>,
    max_total: Option<ByteCount>,
    max_age: Option<Age>,
    scope: Option<StoreScope>,
}

impl<'de> Deserialize<'de> for StoreSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Reads either form: only a place, or a map with limits.
        struct StoreVisitor;
        impl<'de> Visitor<'de> for StoreVisitor {
            type Value = StoreSettings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`memory`, `off`, the path of a folder, the URL of an object store such as `s3://BUCKET/PREFIX`, or a map with `at`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StoreSettings, E> {
                Ok(StoreSettings { place: PlaceVisitor.visit_str(text)?, ..Default::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoreSettings, A::Error> {
                let StoreMap { at, max_entry, max_total, max_age, scope } =
                    StoreMap::deserialize(MapAccessDeserializer::new(map))?;
                let (max_entry, max_total) = (max_entry.map(|it| it.0), max_total.map(|it| it.0));
                // A result that is larger than the store could never be stored.
                if let (Some(entry), Some(total)) = (max_entry, max_total)
                    && entry > total
                {
                    let message = "`max_entry` must not be more than `max_total`";
                    return Err(de::Error::custom(message));
                }
                Ok(StoreSettings {
                    place: at.unwrap_or_default(),
                    max_entry,
                    max_total,
                    max_age: max_age.map(|age| age.0),
                    scope: scope.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_any(StoreVisitor)
    }
}

/// The schemes of object stores: Amazon, Google, Azure.
const CLOUD: [&str; 3] = ["s3://", "gs://", "az://"];

impl StorePlace {
    /// Returns the place of a URL of an object store. `None` if the text is something else.
    ///
    /// ```
    /// use tamis_manifest::StorePlace;
    ///
    /// let place = StorePlace::of_url("gs://results/tamis");
    /// assert_eq!(place, Some(StorePlace::Cloud("gs://results/tamis".to_owned())));
    /// assert_eq!(StorePlace::of_url("/var/tamis"), None);
    /// ```
    #[must_use]
    pub fn of_url(text: &str) -> Option<Self> {
        CLOUD.iter().any(|scheme| text.starts_with(scheme)).then(|| Self::Cloud(text.to_owned()))
    }
}

/// Returns whether a URL has the name of a bucket, and a prefix of plain segments, if it has one.
fn is_cloud(url: &str) -> bool {
    let rest = CLOUD.iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or_default();
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_segment =
        |part: &str| !part.is_empty() && part.bytes().all(is_name) && part != ".." && part != ".";
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    is_segment(bucket) && (prefix.is_empty() || prefix.split('/').all(is_segment))
}

/// Reads the text of a place. A path may have any characters that a file system accepts.
struct PlaceVisitor;

impl Visitor<'_> for PlaceVisitor {
    type Value = StorePlace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`memory`, `off`, the path of a folder or the URL of an object store such as `s3://BUCKET/PREFIX`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StorePlace, E> {
        match text {
            "memory" => Ok(StorePlace::Memory),
            "off" => Ok(StorePlace::Off),
            "" => Err(E::invalid_value(Unexpected::Str(text), &self)),
            folder if folder.contains('\0') => Err(E::invalid_value(Unexpected::Str(text), &self)),
            text => match StorePlace::of_url(text) {
                None => Ok(StorePlace::Folder(text.to_owned())),
                Some(cloud) if is_cloud(text) => Ok(cloud),
                Some(_) => Err(E::invalid_value(Unexpected::Str(text), &self)),
            },
        }
    }
}

impl<'de> Deserialize<'de> for StorePlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlaceVisitor)
    }
}

impl<'de> Deserialize<'de> for StoreScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The map form: `{header: X-User}`.
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ByHeader {
            header: HeaderName,
        }
        /// Reads either form.
        struct ScopeVisitor;
        impl<'de> Visitor<'de> for ScopeVisitor {
            type Value = StoreScope;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`authorization` or `header: NAME`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StoreScope, E> {
                match text {
                    "authorization" => Ok(StoreScope::Authorization),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoreScope, A::Error> {
                let ByHeader { header } = ByHeader::deserialize(MapAccessDeserializer::new(map))?;
                Ok(StoreScope::Header(header.0))
            }
        }
        deserializer.deserialize_any(ScopeVisitor)
    }
}

/// The name of an HTTP header.
struct HeaderName(String);

impl<'de> Deserialize<'de> for HeaderName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        // The characters of a token (RFC 9110, section 5.6.2).
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            let expected = "the name of a header, such as X-User";
            return Err(de::Error::invalid_value(Unexpected::Str(&name), &expected));
        }
        Ok(Self(name))
    }
}

/// A number of bytes of at least 1, with `k`, `M` or `G` for powers of 1024.
struct ByteCount(u64);

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const UNITS: [(&str, u64); 5] =
            [("k", 1 << 10), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("", 1)];
        let expected = "a number of bytes of at least 1, such as 65536, 64k, 16M or 1G";
        deserializer.deserialize_any(QuantityVisitor { units: &UNITS, expected }).map(Self)
    }
}

/// A duration of at least a second: a number of seconds, or a number with `s`, `m`, `h` or `d`.
struct Age(Duration);

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const UNITS: [(&str, u64); 5] =
            [("s", 1), ("m", 60), ("h", 60 * 60), ("d", 24 * 60 * 60), ("", 1)];
        let expected = "a duration of at least a second, such as 90s, 30m, 24h or 7d";
        let seconds = deserializer.deserialize_any(QuantityVisitor { units: &UNITS, expected })?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// Reads a whole number of at least 1, or a text of such a number with a unit. Fractions and blanks are refused, so that a
/// quantity can be spelled in few ways.
struct QuantityVisitor {
    /// The suffixes with their factors; the empty one is last.
    units: &'static [(&'static str, u64)],
    expected: &'static str,
}

impl Visitor<'_> for QuantityVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        if number == 0 {
            return Err(E::invalid_value(Unexpected::Unsigned(0), &self));
        }
        Ok(number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        let parts =
            self.units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
        let number = parts.and_then(|(digits, factor)| {
            // `parse` accepts a plus sign.
            let digits =
                Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
            digits.parse::<u64>().ok()?.checked_mul(*factor)
        });
        match number {
            Some(number) if number > 0 => Ok(number),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}
