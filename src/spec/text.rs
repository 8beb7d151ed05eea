//! What is declared for plain text: operations on lines.
//!
//! Data alone; `text` compiles and runs it. Field names are kimbap's (`text_filter`).

use std::fmt;

use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::is_default;

/// Operations on the lines of a text, for output that is not JSON. They run in the order of the methods below, whatever
/// the order in which they were declared.
///
/// Build it in code, or deserialise it: field names are those of the methods. Feature `text` compiles and runs it.
///
/// ```
/// use tamis::TextSpec;
///
/// let filter = TextSpec::new()
///     .strip_ansi(true)
///     .strip_lines_matching("^npm warn")
///     .dedup(true)
///     .max_lines(100)
///     .on_empty("nothing to report");
/// let same: TextSpec = serde_json::from_str(
///     r#"{"strip_ansi": true, "strip_lines_matching": ["^npm warn"], "dedup": true, "max_lines": 100,
///         "on_empty": "nothing to report"}"#,
/// ).unwrap();
/// assert_eq!(same, filter);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TextSpec {
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) strip_ansi: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strip_lines_matching: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_lines_matching: Option<Vec<String>>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) dedup: Dedup,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) max_lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_empty: Option<String>,
}

/// Which equal lines become one: `true`, `false`, `{scope: neighbours}` or `{scope: all}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dedup {
    #[default]
    Off,
    /// Those in a row.
    Neighbours,
    /// Those anywhere in the text.
    Everywhere,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scoped {
    #[serde(default)]
    scope: Option<Scope>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Neighbours,
    All,
}

impl Serialize for Dedup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Neighbours => serializer.serialize_bool(true),
            Self::Everywhere => Scoped { scope: Some(Scope::All) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Dedup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadDedup)
    }
}

struct ReadDedup;

impl<'de> Visitor<'de> for ReadDedup {
    type Value = Dedup;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a map with `scope`")
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Dedup, E> {
        Ok(if yes { Dedup::Neighbours } else { Dedup::Off })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Dedup, A::Error> {
        let Scoped { scope } = Scoped::deserialize(MapAccessDeserializer::new(map))?;
        match scope {
            Some(Scope::Neighbours) => Ok(Dedup::Neighbours),
            Some(Scope::All) => Ok(Dedup::Everywhere),
            None => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

impl TextSpec {
    /// No operations: the text as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves what a terminal would show: escape sequences (ECMA-48: CSI, OSC, DCS, SOS, PM, APC and the short ones) go,
    /// and of a line that was written over after a carriage return the last text stays: `10 %\r100 %` is `100 %`.
    ///
    /// A sequence that is not closed ends at the end of its line at the latest. Carriage returns before a line feed are the
    /// end of the line: `\r\n` stays. C1 controls are removed in both spellings, as characters (U+0080 to U+009F) and as raw
    /// bytes that are no part of UTF-8, with the sequences that they begin. A backspace goes back by one character, and text after
    /// it is written over what stands there. Other controls stay, and so do characters that are not shown or turn the
    /// direction of text (zero-width, bidirectional, tags): they are text, and only some of them are harmful.
    #[must_use]
    pub fn strip_ansi(mut self, yes: bool) -> Self {
        self.strip_ansi = yes;
        self
    }

    /// Removes the lines that `pattern` matches somewhere. Repeat it for more.
    ///
    /// Patterns are those of the crate [regex](https://docs.rs/regex/1/regex/#syntax), without flags: `^` and `$` are the
    /// ends of the line, whose line end is not part of what is matched. What is not UTF-8 matches no character class. All patterns
    /// of a list may compile to 10 MiB, and those of all lists of a spec or a file to 24 MiB; inside repetitions a list may have 1,024 characters and classes, counted as often as they may come.
    #[must_use]
    pub fn strip_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.strip_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Once used, of the lines that are left only those stay that one of these patterns matches somewhere.
    #[must_use]
    pub fn keep_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.keep_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Makes equal lines in a row one, with their number: `line (x3)`; only where that is shorter.
    #[must_use]
    pub fn dedup(mut self, yes: bool) -> Self {
        self.dedup = if yes { Dedup::Neighbours } else { Dedup::Off };
        self
    }

    /// Makes equal lines one, wherever in the text they stand: the first of them stays, with their number. In a declaration:
    /// `dedup: {scope: all}`.
    ///
    /// A line and the indented lines after it are compared as one. Lines of less than 16 bytes stay where they are. At most 10,000
    /// different lines, and [`Limits::held`](crate::Limits::with_held) bytes, wait for others like them. Beyond that the first of
    /// them leaves with its number, and is counted anew if it comes again.
    ///
    /// ```
    /// use tamis::{TextSpec, TextProgram};
    ///
    /// let program = TextProgram::compile(&TextSpec::new().dedup_everywhere(true))?;
    /// let text = "GET /health 200 OK\ncache hit for page 7\n".repeat(300);
    /// let (output, report) = program.apply(text.as_bytes());
    /// assert_eq!(output, b"GET /health 200 OK (x300)\ncache hit for page 7 (x300)\n");
    /// assert_eq!(report.lines_folded, 598);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn dedup_everywhere(mut self, yes: bool) -> Self {
        self.dedup = if yes { Dedup::Everywhere } else { Dedup::Off };
        self
    }

    /// Cuts the text after its first `count` lines, and says in one more how many lines of the text were left out:
    /// `... 12 lines left out`. Where that line would be longer than those that it stands for, they stay. 0 is no limit.
    #[must_use]
    pub fn max_lines(mut self, count: u64) -> Self {
        self.max_lines = count;
        self
    }

    /// What stands for a text of which nothing is left, as it is: no line end is added.
    #[must_use]
    pub fn on_empty(mut self, text: impl Into<String>) -> Self {
        self.on_empty = Some(text.into());
        self
    }
}
