//! A peer that reads with serde and writes while it reads, without a tree: a streaming filter built on serde.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::to_writer;

use crate::harness::Job;

use super::typed::Text;

/// The values to leave out.
#[derive(Clone, Copy, Default)]
pub(super) struct Rules {
    /// Members of the items of the outermost array.
    pub(super) exclude: &'static [&'static str],
    /// Members whose value is null, everywhere.
    pub(super) nulls: bool,
    /// Items after this number; 0 means no limit. They are still read.
    pub(super) max_items: usize,
}

pub(super) fn jobs(rules: Rules) -> [Job; 2] {
    [
        Job::new("serde_json transcode", move |document, output| {
            let mut deserializer = serde_json::Deserializer::from_slice(document);
            let seed = Transcode { output, rules: &rules, depth: 0 };
            seed.deserialize(&mut deserializer).unwrap();
            deserializer.end().unwrap();
        }),
        Job::new("sonic-rs transcode", move |document, output| {
            let mut deserializer = sonic_rs::Deserializer::from_slice(document);
            let seed = Transcode { output, rules: &rules, depth: 0 };
            seed.deserialize(&mut deserializer).unwrap();
            deserializer.end().unwrap();
        }),
    ]
}

/// Writes the next value and returns whether it is null.
struct Transcode<'o> {
    output: &'o mut Vec<u8>,
    rules: &'o Rules,
    depth: usize,
}

impl Transcode<'_> {
    fn deeper(&mut self) -> Transcode<'_> {
        Transcode { output: self.output, rules: self.rules, depth: self.depth + 1 }
    }

    fn scalar<E: Error>(self, value: &(impl serde::Serialize + ?Sized)) -> Result<bool, E> {
        to_writer(self.output, value).map_err(E::custom)?;
        Ok(false)
    }
}

impl<'de> DeserializeSeed<'de> for Transcode<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcode<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.output.extend_from_slice(b"null");
        Ok(true)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        self.scalar(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<bool, E> {
        self.scalar(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<bool, E> {
        self.scalar(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<bool, E> {
        self.scalar(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<bool, E> {
        self.scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<bool, A::Error> {
        self.output.push(b'[');
        let mut count = 0;
        loop {
            if self.depth == 0 && self.rules.max_items > 0 && count == self.rules.max_items {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            // The comma is written first, and removed if nothing follows.
            let mark = self.output.len();
            if count > 0 {
                self.output.push(b',');
            }
            if seq.next_element_seed(self.deeper())?.is_none() {
                self.output.truncate(mark);
                break;
            }
            count += 1;
        }
        self.output.push(b']');
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        self.output.push(b'{');
        let mut first = true;
        while let Some(Text(key)) = map.next_key()? {
            if self.depth == 1 && self.rules.exclude.contains(&&*key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let mark = self.output.len();
            if !first {
                self.output.push(b',');
            }
            to_writer(&mut *self.output, &*key).map_err(A::Error::custom)?;
            self.output.push(b':');
            let null = map.next_value_seed(self.deeper())?;
            if null && self.rules.nulls {
                self.output.truncate(mark);
            } else {
                first = false;
            }
        }
        self.output.push(b'}');
        Ok(false)
    }
}
