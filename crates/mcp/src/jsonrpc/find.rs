//! Finds the places of values in a message, by the scanner of the engine.

use std::ops::Range;

use smallvec::SmallVec;
pub(crate) use tamis::json::JsonKind as ValueKind;
use tamis::json::{FoundValue, ValueFinder, ValuePaths};
use tamis::{ErrorKind, Limits};

use crate::spool::{Spool, SpoolError};

/// The largest number of values that are looked at in one message. A listing of 10,000 tools has about 70,000.
const MOST_VALUES: usize = 250_000;

/// The deepest message that is looked at. A filter refuses a result that nests as deeply, but the id of the message must
/// be known, so that its request gets a response.
const DEEPEST: usize = 100_000;

/// A value and its place in a message.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The position of its path among those that were looked for.
    pub(crate) path: usize,
    pub(crate) kind: ValueKind,
    /// Its bytes.
    pub(crate) span: Range<u64>,
    /// The first byte of its name, or of an element itself.
    pub(crate) start: u64,
    /// The positions of the elements that the wildcards of the path stand for.
    pub(crate) indices: SmallVec<[u64; 2]>,
}

impl Found {
    /// Returns a value of the document that begins at `base` of the message.
    fn at(base: u64, value: &FoundValue) -> Self {
        Self {
            path: value.path,
            kind: value.kind,
            span: base + value.span.start..base + value.span.end,
            start: base + value.start(),
            indices: value.indices().into(),
        }
    }
}

/// The paths to look for.
#[derive(Debug)]
pub(crate) struct Paths(Option<ValuePaths>);

impl Paths {
    /// Compiles paths. A path that cannot be compiled makes every search fail, which a test rules out.
    pub(crate) fn new(paths: &[&str]) -> Self {
        let limits = Limits::new().with_depth(DEEPEST);
        let paths = ValuePaths::new(paths).ok();
        Self(paths.map(|paths| paths.with_limits(limits).with_max_values(MOST_VALUES)))
    }

    /// Returns whether all paths could be compiled.
    #[cfg(test)]
    pub(crate) fn are_valid(&self) -> bool {
        self.0.is_some()
    }
}

/// The reason why a message was not understood.
#[derive(Debug)]
pub(crate) enum FindError {
    /// It is not valid JSON.
    NotJson,
    /// It ends too early, such as the last line of a process that was killed.
    Incomplete,
    /// It has too many parts, or is too deep.
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

impl From<tamis::Error> for FindError {
    fn from(error: tamis::Error) -> Self {
        match error.kind() {
            ErrorKind::Syntax | ErrorKind::Encoding => Self::NotJson,
            ErrorKind::UnexpectedEnd => Self::Incomplete,
            _ => Self::Limit,
        }
    }
}

/// Finds all values at the paths in the JSON document that is a range of a message, duplicates included, in document
/// order. Names are compared after unescaping. The document is validated completely.
pub(crate) fn find(
    paths: &Paths,
    message: &Spool,
    range: Range<u64>,
) -> Result<Vec<Found>, FindError> {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let base = range.start;
    let Some(paths) = &paths.0 else { return Err(FindError::Limit) };
    // Files may begin with this mark, messages may not, and receivers disagree on it.
    if message.to_vec(base..base + 3, 3)? == BYTE_ORDER_MARK {
        return Err(FindError::NotJson);
    }
    let mut finder = ValueFinder::new(paths);
    message.each_chunk(range, |chunk| Ok::<_, FindError>(finder.write(chunk)?))?;
    finder.end()?;
    Ok(finder.found().map(|value| Found::at(base, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::{FindError, Found, Paths, find};
    use crate::spool::Spool;

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
        for text in ["", "{", "{\"a\":1", "[1,", "nul"] {
            assert!(matches!(found(&["id"], text), Err(FindError::Incomplete)), "{text}");
        }
        for text in ["{} {}", "nil", "{\"a\":01}", "{\"a\":\"\n\"}", "[1,]", "{\"id\":NaN}"] {
            assert!(matches!(found(&["id"], text), Err(FindError::NotJson)), "{text}");
        }
        let message = Spool::from_vec(b"\xEF\xBB\xBF{}".to_vec());
        let found = find(&Paths::new(&["id"]), &message, 0..message.len());
        assert!(matches!(found, Err(FindError::NotJson)));
    }

    #[test]
    fn a_deep_result_does_not_hide_the_id() {
        let text = format!("{{\"result\":{}{},\"id\":1}}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(found(&["id"], &text).unwrap().len(), 1);
        let text =
            format!("{{\"result\":{}{},\"id\":1}}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(matches!(found(&["id"], &text), Err(FindError::Limit)));
        let text = format!("[{}1]", "1,".repeat(300_000));
        assert!(matches!(found(&["[]"], &text), Err(FindError::Limit)));
    }
}
