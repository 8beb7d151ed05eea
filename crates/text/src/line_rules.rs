//! Rules for plain text: operations on lines.
//!
//! Contains data only; `text` compiles and runs it. Field names are kimbap's (`text_filter`).

use std::fmt;

use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fields::is_default;

/// Operations on the lines of a text that is not JSON. They are applied in the order of the methods below, not in the
/// order of declaration.
///
/// Build it in code, or deserialise it: the field names are the names of the methods. Feature `text` compiles and runs
/// it.
///
/// ```
/// use tamis::text::TextSpec;
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
    /// Whether terminal controls are removed.
    #[serde(skip_serializing_if = "is_default")]
    pub strip_ansi: bool,
    /// Patterns of lines that are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_lines_matching: Option<Vec<String>>,
    /// Patterns of lines that are kept; all others are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_lines_matching: Option<Vec<String>>,
    /// Which equal lines are folded.
    #[serde(skip_serializing_if = "is_default")]
    pub dedup: DedupMode,
    /// The most lines of the output; 0 for any number.
    #[serde(skip_serializing_if = "is_default")]
    pub max_lines: u64,
    /// The output if nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_empty: Option<String>,
}

/// Which equal lines are folded into one: `true`, `false`, `{scope: neighbours}` or `{scope: all}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DedupMode {
    /// None.
    #[default]
    Off,
    /// Consecutive lines.
    Neighbours,
    /// Lines anywhere in the text.
    Everywhere,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DedupWithScope {
    #[serde(default)]
    scope: Option<DedupScope>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DedupScope {
    Neighbours,
    All,
}

impl Serialize for DedupMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Neighbours => serializer.serialize_bool(true),
            Self::Everywhere => {
                DedupWithScope { scope: Some(DedupScope::All) }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for DedupMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DedupVisitor)
    }
}

struct DedupVisitor;

impl<'de> Visitor<'de> for DedupVisitor {
    type Value = DedupMode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a map with `scope`")
    }

    fn visit_bool<E>(self, yes: bool) -> Result<DedupMode, E> {
        Ok(if yes { DedupMode::Neighbours } else { DedupMode::Off })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DedupMode, A::Error> {
        let DedupWithScope { scope } =
            DedupWithScope::deserialize(MapAccessDeserializer::new(map))?;
        match scope {
            Some(DedupScope::Neighbours) => Ok(DedupMode::Neighbours),
            Some(DedupScope::All) => Ok(DedupMode::Everywhere),
            None => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

impl TextSpec {
    /// Creates a spec without operations, which keeps the text as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps only the text that a terminal would show. Removes escape sequences (ECMA-48: CSI, OSC, DCS, SOS, PM, APC
    /// and the short ones). If a line was overwritten after a carriage return, only the last text is kept: `10 %\r100
    /// %` becomes `100 %`.
    ///
    /// An unterminated sequence ends at the end of its line at the latest. Carriage returns before a line feed belong
    /// to the line end, so `\r\n` is kept. C1 controls are removed in both spellings, as characters (U+0080 to U+009F)
    /// and as raw bytes outside of UTF-8, together with the sequences that they begin. A backspace moves back by one
    /// character, and the text after it overwrites the text there. Other controls are kept, and so are invisible
    /// characters and those that change the direction of text (zero-width, bidirectional, tags): they are text, and
    /// only some of them are harmful.
    #[must_use]
    pub fn strip_ansi(mut self, yes: bool) -> Self {
        self.strip_ansi = yes;
        self
    }

    /// Removes the lines in which `pattern` matches. Repeat it for more patterns.
    ///
    /// Patterns have the syntax of the crate [regex](https://docs.rs/regex/1/regex/#syntax), without flags. `^` and `$`
    /// match the ends of the line; its line end is not part of the matched text. Bytes that are not UTF-8 match no
    /// character class. The patterns of one list may compile to 10 MiB, those of all lists of a spec or a file to 24
    /// MiB. Inside repetitions a list may have 1,024 characters and classes, counted as often as they may repeat.
    #[must_use]
    pub fn strip_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.strip_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Removes all remaining lines in which none of these patterns matches. Repeat it for more patterns.
    #[must_use]
    pub fn keep_lines_matching(mut self, pattern: impl Into<String>) -> Self {
        self.keep_lines_matching.get_or_insert_default().push(pattern.into());
        self
    }

    /// Folds consecutive equal lines into one with their number, `line (x3)`, if that is shorter.
    #[must_use]
    pub fn dedup(mut self, yes: bool) -> Self {
        self.dedup = if yes { DedupMode::Neighbours } else { DedupMode::Off };
        self
    }

    /// Folds equal lines anywhere in the text: the first one is kept, with their number. In a declaration:
    /// `dedup: {scope: all}`.
    ///
    /// A line and the indented lines after it are compared as one. Lines of less than 16 bytes are not folded. At most
    /// 10,000 different lines, and [`Limits::held`](tamis_json::limits::Limits::with_held) bytes, are held for comparison. After
    /// that the oldest one is written with its number; if it occurs again, it counts from one.
    ///
    /// ```
    /// use tamis::text::{TextProgram, TextSpec};
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
        self.dedup = if yes { DedupMode::Everywhere } else { DedupMode::Off };
        self
    }

    /// Cuts the text after its first `count` lines and adds a line with the number of omitted ones: `... 12 lines left
    /// out`. Does not cut if that line would be longer than the lines that it replaces. 0 means no limit.
    #[must_use]
    pub fn max_lines(mut self, count: u64) -> Self {
        self.max_lines = count;
        self
    }

    /// Sets the text to write if nothing is left, exactly as given: no line end is added.
    #[must_use]
    pub fn on_empty(mut self, text: impl Into<String>) -> Self {
        self.on_empty = Some(text.into());
        self
    }
}
