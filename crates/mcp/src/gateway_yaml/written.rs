//! A `gateway.yaml` as it is written, with the places of its values.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer, U64Deserializer};
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use tamis::Spec;
use tamis_manifest::placed::Placed;
use tamis_manifest::{Profile, StoreSettings, Structured};

use super::action::Action;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenGateway {
    pub(super) version: Placed<u64>,
    pub(super) listen: Option<Placed<String>>,
    pub(super) metrics: Option<Placed<String>>,
    #[serde(default)]
    pub(super) manifests: Vec<Placed<String>>,
    pub(super) default: Placed<Action>,
    pub(super) store: Option<StoreSettings>,
    pub(super) drain_seconds: Option<u64>,
    pub(super) idle_seconds: Option<Placed<u64>>,
    #[serde(default)]
    pub(super) pool: WrittenPool,
    #[serde(default)]
    pub(super) routes: Vec<Placed<WrittenRoute>>,
    pub(super) ext_mcp: Option<Placed<WrittenMcp>>,
    pub(super) recall: Option<WrittenRecall>,
}

/// The MCP server that reads stored results, as a target of agentgateway.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenRecall {
    pub(super) listen: Placed<String>,
    pub(super) target: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenRoute {
    pub(super) name: Option<Placed<String>>,
    #[serde(default)]
    pub(super) when: WrittenWhen,
    pub(super) manifest: Option<Placed<String>>,
    pub(super) tool: Option<Placed<String>>,
    pub(super) spec: Option<Placed<Spec>>,
    pub(super) mcp: Option<Placed<WrittenMcp>>,
    pub(super) action: Option<Placed<Action>>,
    pub(super) recall: Option<Placed<String>>,
    pub(super) on_unknown: Option<Placed<Action>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenWhen {
    pub(super) method: Option<Placed<OneOrMany<String>>>,
    pub(super) path: Option<Placed<OneOrMany<String>>>,
    pub(super) header: BTreeMap<String, Placed<String>>,
    pub(super) media_type: Option<Placed<OneOrMany<String>>>,
    pub(super) status: Option<Placed<OneOrMany<StatusPattern>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenMcp {
    pub(super) manifests: Vec<Placed<String>>,
    pub(super) profile: Option<Profile>,
    pub(super) service: Option<String>,
    pub(super) structured: Option<Structured>,
}

/// The limit for all responses together.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenPool {
    pub(super) memory: Option<ByteCount>,
    pub(super) spill: Option<ByteCount>,
}

/// A number of bytes: `4096`, or a text with `k`, `M` or `G` for powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteCount(pub(super) u64);

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = ByteCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, such as 65536, 64k, 256M or 4G")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ByteCount, E> {
                Ok(ByteCount(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteCount, E> {
                const UNITS: [(char, u64); 3] = [('k', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
                let found =
                    UNITS.iter().find_map(|(unit, by)| Some((text.strip_suffix(*unit)?, by)));
                let (digits, by) = found.unwrap_or((text, &1));
                let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
                let count = digits.parse::<u64>().ok().filter(|_| is_plain);
                let count = count.and_then(|count| count.checked_mul(*by)).map(ByteCount);
                count.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// One value, or a list of them. Only the values of a list have places of their own.
#[derive(Debug)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<Placed<T>>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let one: StrDeserializer<'_, E> = text.into_deserializer();
                T::deserialize(one).map(OneOrMany::One)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                let one: U64Deserializer<E> = number.into_deserializer();
                T::deserialize(one).map(OneOrMany::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
            }
        }
        deserializer.deserialize_any(Values(PhantomData))
    }
}

/// A status, or the first digit of some: `200`, `2xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusPattern {
    Exact(u16),
    Class(u16),
}

impl StatusPattern {
    pub(super) fn matches(self, status: u16) -> bool {
        match self {
            Self::Exact(code) => code == status,
            Self::Class(digit) => digit == status / 100,
        }
    }
}

const STATUS: &str = "a status such as 200, or a class such as 2xx";

impl<'de> Deserialize<'de> for StatusPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusVisitor;
        impl Visitor<'_> for StatusVisitor {
            type Value = StatusPattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(STATUS)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<StatusPattern, E> {
                let code = u16::try_from(number).ok().filter(|code| (100..600).contains(code));
                code.map(StatusPattern::Exact)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StatusPattern, E> {
                let digit = text.strip_suffix("xx").and_then(|digit| digit.parse::<u16>().ok());
                match (digit.filter(|digit| (1..=5).contains(digit)), text.parse::<u64>()) {
                    (Some(digit), _) => Ok(StatusPattern::Class(digit)),
                    (None, Ok(number)) => self.visit_u64(number),
                    (None, Err(_)) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(StatusVisitor)
    }
}

const ACTION: &str = "`pass`, `refuse` or a status from 400 to 599";

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ActionVisitor;
        impl Visitor<'_> for ActionVisitor {
            type Value = Action;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(ACTION)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Action, E> {
                let code = u16::try_from(number).ok().filter(|code| (400..600).contains(code));
                code.map(Action::Refuse)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Action, E> {
                match text {
                    "pass" => Ok(Action::Pass),
                    "refuse" => Ok(Action::REFUSE),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(ActionVisitor)
    }
}
