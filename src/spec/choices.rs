//! The enums that rules take.

use serde::{Deserialize, Serialize};

/// The place of the payload: the part of a document that the rules on items apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Root {
    /// The document if it is an array. If it is an object, the first array among `items`, `result` and `data`,
    /// otherwise the first member that is an array, otherwise the object itself (kimbap). May have to hold the
    /// document; see [`Limits`](crate::Limits).
    #[default]
    Auto,
    /// The first member that is an array, decided when it begins. For an object without an array this is a total miss.
    First,
    /// The document itself, even if it contains arrays.
    Object,
    /// The value at a path without wildcards.
    At(String),
}

impl From<String> for Root {
    /// `auto`, `array` (an alias of `auto`), `first` and `object` name the variants. Any other text is a path. Write a
    /// member with one of these names as a pointer: `/first`.
    fn from(text: String) -> Self {
        match text.as_str() {
            "auto" | "array" => Self::Auto,
            "first" => Self::First,
            "object" => Self::Object,
            _ => Self::At(text),
        }
    }
}

impl From<&str> for Root {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Root> for String {
    fn from(root: Root) -> Self {
        match root {
            Root::Auto => "auto".into(),
            Root::First => "first".into(),
            Root::Object => "object".into(),
            // Without the slash, the name would be read as a variant.
            Root::At(path) if !matches!(Root::from(path.as_str()), Root::At(_)) => {
                format!("/{path}")
            }
            Root::At(path) => path,
        }
    }
}

/// Whether the members next to the payload, and next to the path that leads to it, are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Siblings {
    /// They are kept unchanged.
    #[default]
    Keep,
    /// They are removed.
    Drop,
}

/// The output after a total miss: no item has a selected path, or the root has no payload. Also applies if an
/// operation of `patches` cannot be applied, or one of its tests fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The payload passes unselected; `exclude` still applies, and the report records the miss. After failed patches,
    /// the output of `retain` passes unpatched. The default for specs without rules on the document.
    Raw,
    /// An error without output. The default for specs with `retain`, `patches` or `when`.
    Closed,
}

/// The treatment of a value of another kind than the rest of a select source's path needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnKind {
    /// It is left out.
    #[default]
    Drop,
    /// It is kept as it is there. Where an object is needed and an array is there, the rest of the path applies to each element. Where
    /// `[]` needs an array and an object is there, it is the only element. A scalar is the value itself.
    Keep,
}

/// How strictly dropped values are checked. Kept values are always checked in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// RFC 8259, the whole document.
    #[default]
    Full,
    /// Skipped values are checked only for terminated strings, brackets, UTF-8 and control characters. For trusted
    /// input.
    Structure,
}

/// The treatment of white space between tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whitespace {
    /// It is removed.
    #[default]
    Minify,
    /// Emitted tokens keep the white space before them, and values that are kept as a whole keep all of it. White space
    /// around the document is removed.
    Keep,
}

/// The treatment of a selected member, or of the payload, whose name occurred before in the same object. Other members
/// are not compared, so this is not a general check for duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateKeys {
    /// The first one counts. Once an item is complete, later ones are not looked for.
    #[default]
    First,
    /// The first one counts. All later ones are looked for and counted in the report.
    Count,
    /// A second one is an error.
    Reject,
}
