//! Finds the places of values in a message. The only file that knows which scanner does it.

use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use crate::transport::spool::{Spool, SpoolError};

/// The largest number of values that are looked at in one message. A listing of 10,000 tools has about 70,000.
const MOST_VALUES: usize = 250_000;

/// The longest message that this scanner reads.
const LONGEST: usize = 64 << 20;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The position of its path among those that were looked for.
    pub(crate) path: usize,
    pub(crate) kind: ValueKind,
    /// Its bytes in the message.
    pub(crate) span: Range<u64>,
    /// The first byte of its name, or of an element itself.
    pub(crate) start: u64,
    /// The positions of the elements that the wildcards of the path stand for.
    pub(crate) indices: SmallVec<[u64; 2]>,
}

/// The paths to look for: names with dots between them, `["…"]` for a name with dots, `[]` for each element.
#[derive(Debug)]
pub(crate) struct Paths(Vec<Vec<Step>>);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Each,
}

/// The reason why a message was not understood.
#[derive(Debug)]
pub(crate) enum FindError {
    /// It is not valid JSON.
    NotJson,
    /// It has too many parts, or is too deep or too long.
    Limit,
    /// The temporary file that holds it cannot be read.
    Io,
}

impl From<SpoolError> for FindError {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::Full { .. } => Self::Limit,
            SpoolError::Io(_) => Self::Io,
        }
    }
}

impl Paths {
    pub(crate) fn new(paths: &[&str]) -> Self {
        Self(paths.iter().map(|path| steps(path)).collect())
    }
}

fn steps(mut path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    while !path.is_empty() {
        path = path.strip_prefix('.').unwrap_or(path);
        if let Some(rest) = path.strip_prefix("[]") {
            steps.push(Step::Each);
            path = rest;
        } else if let Some((name, rest)) =
            path.strip_prefix("[\"").and_then(|rest| rest.split_once("\"]"))
        {
            steps.push(Step::Name(name.to_owned()));
            path = rest;
        } else {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            let (name, rest) = path.split_at(end);
            steps.push(Step::Name(name.to_owned()));
            path = rest;
        }
    }
    steps
}

/// Finds all values at the paths in the JSON document that is a range of a message, duplicates included, in document
/// order. Names are compared after unescaping. The document is validated completely.
pub(crate) fn find(
    paths: &Paths,
    message: &Spool,
    range: Range<u64>,
) -> Result<Vec<Found>, FindError> {
    let start = range.start;
    let copy;
    let document = match message.as_slice() {
        Some(bytes) => slice(bytes, range),
        None => {
            copy = message.to_vec(range, LONGEST)?;
            &copy
        }
    };
    let text = std::str::from_utf8(document).map_err(|_invalid| FindError::NotJson)?;
    let value: &RawValue = serde_json::from_str(text).map_err(|_invalid| FindError::NotJson)?;
    let mut walk = Walk {
        paths: &paths.0,
        base: text.as_ptr() as usize,
        start,
        found: Vec::new(),
        indices: SmallVec::new(),
    };
    let live: Vec<(usize, usize)> = (0..paths.0.len()).map(|path| (path, 0)).collect();
    walk.value(value, &live)?;
    Ok(walk.found)
}

fn slice(bytes: &[u8], range: Range<u64>) -> &[u8] {
    let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes.get(clamp(range.start)..clamp(range.end)).unwrap_or_default()
}

struct Walk<'a> {
    paths: &'a [Vec<Step>],
    base: usize,
    start: u64,
    found: Vec<Found>,
    indices: SmallVec<[u64; 2]>,
}

impl Walk<'_> {
    /// `live`: the paths that lead through this value, each with the number of steps taken.
    fn value(&mut self, value: &RawValue, live: &[(usize, usize)]) -> Result<(), FindError> {
        let kind = value.get().as_bytes().first();
        let mut deserializer = serde_json::Deserializer::from_str(value.get());
        let visited = match kind {
            Some(b'{') => Members { walk: self, live }.deserialize(&mut deserializer),
            Some(b'[') => Elements { walk: self, live }.deserialize(&mut deserializer),
            _ => return Ok(()),
        };
        visited.map_err(|_invalid| FindError::NotJson)?;
        if self.found.len() > MOST_VALUES { Err(FindError::Limit) } else { Ok(()) }
    }

    fn child(
        &mut self,
        key_start: Option<u64>,
        value: &RawValue,
        live: &[(usize, usize)],
    ) -> Result<(), FindError> {
        let from = self.start + (value.get().as_ptr() as usize - self.base) as u64;
        let span = from..from + value.get().len() as u64;
        let kind = match value.get().as_bytes().first() {
            Some(b'{') => ValueKind::Object,
            Some(b'[') => ValueKind::Array,
            Some(b'"') => ValueKind::String,
            Some(b't' | b'f') => ValueKind::Bool,
            Some(b'n') => ValueKind::Null,
            _ => ValueKind::Number,
        };
        let mut further: SmallVec<[(usize, usize); 8]> = SmallVec::new();
        for (path, taken) in live {
            let steps = self.paths.get(*path).map_or(0, Vec::len);
            if *taken == steps {
                self.found.push(Found {
                    path: *path,
                    kind,
                    span: span.clone(),
                    start: key_start.unwrap_or(from),
                    indices: self.indices.clone(),
                });
            } else {
                further.push((*path, *taken));
            }
        }
        if further.is_empty() { Ok(()) } else { self.value(value, &further) }
    }

    fn step(&self, (path, taken): (usize, usize), is: impl Fn(&Step) -> bool) -> Option<(usize, usize)> {
        let step = self.paths.get(path)?.get(taken)?;
        is(step).then_some((path, taken + 1))
    }
}

struct Members<'w, 'a, 'l> {
    walk: &'w mut Walk<'a>,
    live: &'l [(usize, usize)],
}

impl<'de> DeserializeSeed<'de> for Members<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<&RawValue>()? {
            let value: &RawValue = map.next_value()?;
            let name: String = serde_json::from_str(key.get()).unwrap_or_default();
            let live: SmallVec<[(usize, usize); 8]> = self
                .live
                .iter()
                .filter_map(|live| {
                    self.walk.step(*live, |step| matches!(step, Step::Name(own) if *own == name))
                })
                .collect();
            if !live.is_empty() {
                let at = self.walk.start + (key.get().as_ptr() as usize - self.walk.base) as u64;
                let went = self.walk.child(Some(at), value, &live);
                went.map_err(|_error| serde::de::Error::custom("limit"))?;
            }
        }
        Ok(())
    }
}

struct Elements<'w, 'a, 'l> {
    walk: &'w mut Walk<'a>,
    live: &'l [(usize, usize)],
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let live: SmallVec<[(usize, usize); 8]> = self
            .live
            .iter()
            .filter_map(|live| self.walk.step(*live, |step| *step == Step::Each))
            .collect();
        if live.is_empty() {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let mut index = 0;
        while let Some(value) = elements.next_element::<&RawValue>()? {
            self.walk.indices.push(index);
            let went = self.walk.child(None, value, &live);
            self.walk.indices.pop();
            went.map_err(|_error| serde::de::Error::custom("limit"))?;
            index += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FindError, Found, Paths, find};
    use crate::transport::spool::Spool;

    fn found(paths: &[&str], text: &str) -> Result<Vec<String>, FindError> {
        let message = Spool::from_vec(format!("  {text}").into_bytes());
        let found = find(&Paths::new(paths), &message, 2..message.len())?;
        let show = |found: &Found| {
            let span = found.span.start as usize - 2..found.span.end as usize - 2;
            let start = found.start as usize - 2;
            format!("{}{:?} {} @{start}", found.path, found.indices.as_slice(), &text[span])
        };
        Ok(found.iter().map(show).collect())
    }

    #[test]
    fn values_are_found_with_their_places() {
        let text = r#"{"id" : 1.0,"r":{"a.b":[ {"t":"x"},7,{"\u0074":null,"t":{}} ],"s":[[1,2]]},"id":"2"}"#;
        let paths = ["id", "r", "r[\"a.b\"][].t", "r.s[][]", "none"];
        assert_eq!(
            found(&paths, text).unwrap(),
            [
                "0[] 1.0 @1",
                r#"1[] {"a.b":[ {"t":"x"},7,{"\u0074":null,"t":{}} ],"s":[[1,2]]} @12"#,
                r#"2[0] "x" @26"#,
                "2[2] null @38",
                "2[2] {} @52",
                "3[0, 0] 1 @68",
                "3[0, 1] 2 @70",
                r#"0[] "2" @75"#,
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "{} {}", "nul", "{\"a\":01}", "{\"a\":\"\n\"}", "[1,]", "{\"id\":NaN}"] {
            assert!(matches!(found(&["id"], text), Err(FindError::NotJson)), "{text}");
        }
    }
}
