//! Rules for the output as a whole, applied after the rules on items: its length, and its items as text.
//!
//! Contains data only. Field names are kimbap's (`compact`, seed 000), and those of SPEC §6.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

/// The maximum length of an output. In files `{bytes: 4096}` or `{tokens: 1000}`: one of the two, at least 1.
///
/// ```
/// use tamis::Spec;
/// use tamis::spec::Budget;
///
/// let spec: Spec = serde_json::from_str(r#"{"budget": {"bytes": 4096}}"#).unwrap();
/// assert_eq!(spec, Spec::new().budget(Budget::Bytes(4096)));
/// assert!(serde_json::from_str::<Budget>(r#"{"bytes": 0}"#).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Budget {
    /// Bytes of the minified output.
    Bytes(u64),
    /// Tokens of the minified output.
    Tokens(u64),
}

impl Budget {
    /// Returns the budget unless it is 0, which means no budget (seed 000).
    #[doc(hidden)]
    pub fn unless_zero(self) -> Option<Self> {
        let (Self::Bytes(count) | Self::Tokens(count)) = self;
        (count > 0).then_some(self)
    }
}

/// Whether the output marks what a budget or `max_items` left out.
///
/// ```
/// use tamis::spec::{Budget, Omitted};
/// use tamis::{Program, Spec, filter_slice};
///
/// let document = br#"{"items": [{"id": 1}, {"id": 2}, {"id": 3}]}"#;
/// let spec = Spec::new().max_items(1).omitted(Omitted::Mark);
/// let (output, _) = filter_slice(&Program::compile(&spec)?, document)?;
/// assert_eq!(output, br#"{"items":[{"id":1}],"_omitted":{"items":2,"of":3}}"#);
///
/// let spec = Spec::new().budget(Budget::Bytes(30)).omitted(Omitted::Silent);
/// let (output, _) = filter_slice(&Program::compile(&spec)?, document)?;
/// assert_eq!(output, br#"{"items":[{"id":1},{"id":2}]}"#);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Omitted {
    /// A member `_omitted` at the end of an object gives the number of missing items or members. In an array that is
    /// cut, or that is not a member of an object, the last element is an object with this member. The name gets a
    /// number if a member of that name exists: `_omitted2`.
    Mark,
    /// Only the report records omissions.
    Silent,
}

/// The treatment of an output that exceeds its budget even after everything that may be left out was left out.
///
/// ```
/// use tamis::spec::{Budget, OnOver};
/// use tamis::{ErrorKind, Program, Spec, filter_slice};
///
/// let document = br#"{"a_long_name_that_no_budget_cuts": 1}"#;
/// let spec = Spec::new().budget(Budget::Bytes(10));
/// let (output, report) = filter_slice(&Program::compile(&spec)?, document)?;
/// assert_eq!(output.len(), 37);
/// assert!(report.budget_exceeded);
///
/// let spec = spec.on_over(OnOver::Error);
/// let error = filter_slice(&Program::compile(&spec)?, document).unwrap_err().error;
/// assert_eq!(error.kind(), ErrorKind::Budget);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnOver {
    /// The output is emitted as it is, and the report has `budget_exceeded`.
    #[default]
    Warn,
    /// An error without output.
    Error,
}

/// The parts of a document that a budget keeps if it is too long.
///
/// ```
/// use tamis::spec::{Budget, Prefer};
/// use tamis::{Program, Spec, filter_slice};
///
/// let document = br#"[{"id":1,"text":"first"},{"id":2,"text":"second"},{"id":3,"text":"third"}]"#;
/// let spec = Spec::new().budget(Budget::Bytes(64)).prefer(Prefer::Order);
/// let (output, _) = filter_slice(&Program::compile(&spec)?, document)?;
/// assert_eq!(output, br#"[{"id":1,"text":"first"},{"_omitted":{"items":2,"of":3}}]"#);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Prefer {
    /// The first items. If they are too long, strings are cut, then arrays and objects.
    #[default]
    Order,
    /// The parts that are likely to be needed: items that are evenly spread or, where long strings have a third of the bytes, there is no
    /// array or fewer than four items would fit, the values and the passages of strings with the most information for each
    /// byte. Names and numbers by which people refer to an item come first in it. The document is held in memory; one that is
    /// longer than [`Limits::held`](crate::Limits::held) is cut by [`Order`](Self::Order).
    Information,
}

/// The form in which a filtered document is written.
///
/// A document that a form cannot carry is written as JSON, and [`Report::encode_skipped`](crate::Report::encode_skipped)
/// has the reason. So are the document of a total miss, the response of a failed call, and a document with more than
/// 1,048,576 values. A document above [`Limits::item`](crate::Limits::item) is an error.
///
/// ```
/// use tamis::spec::Encode;
/// use tamis::{Program, Spec, filter_slice};
///
/// let spec = Spec::new().select("id").select("state").encode(Encode::Toon);
/// let input = br#"[{"id":7,"state":"open","url":"/8"},{"id":8,"state":"closed"}]"#;
/// let (output, _) = filter_slice(&Program::compile(&spec)?, input)?;
/// assert_eq!(output, b"[2]{id,state}:\n  7,open\n  8,closed");
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Encode {
    /// JSON.
    #[default]
    Json,
    /// [TOON](https://toonformat.dev), as version 4.4 of its reference implementation writes it: names of members are
    /// written once for all rows of a table. The whole document is encoded.
    Toon,
    /// Comma-separated values (RFC 4180) with a header, and lines that end with `\n`. Only for a payload that is an
    /// array of objects with scalar members, without siblings. A member that is absent or null is an empty cell.
    Csv,
    /// A table of GitHub Flavored Markdown, under the same conditions as [`Csv`](Self::Csv).
    Markdown,
}

impl Encode {
    /// Returns the word for this form in specs and flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toon => "toon",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
        }
    }
}

/// Prints the budget as in `4096 bytes` and `1000 tokens`.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, unit) = match self {
            Self::Bytes(count) => (count, "byte"),
            Self::Tokens(count) => (count, "token"),
        };
        write!(f, "{count} {unit}{}", if *count == 1 { "" } else { "s" })
    }
}

/// The unit of a budget.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum BudgetUnit {
    Bytes,
    Tokens,
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BudgetVisitor;
        impl<'de> Visitor<'de> for BudgetVisitor {
            type Value = Budget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`bytes: N` or `tokens: N`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Budget, A::Error> {
                let mut budget = None;
                while let Some(unit) = map.next_key()? {
                    let AtLeastOne(count) = map.next_value()?;
                    let this = match unit {
                        BudgetUnit::Bytes => Budget::Bytes(count),
                        BudgetUnit::Tokens => Budget::Tokens(count),
                    };
                    if budget.replace(this).is_some() {
                        let both = "a budget must be `bytes: N` or `tokens: N`, not both";
                        return Err(de::Error::custom(both));
                    }
                }
                let none = "a budget must have `bytes: N` or `tokens: N`";
                budget.ok_or_else(|| de::Error::custom(none))
            }
        }
        deserializer.deserialize_map(BudgetVisitor)
    }
}

/// A number that is at least 1.
struct AtLeastOne(u64);

impl<'de> Deserialize<'de> for AtLeastOne {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AtLeastOneVisitor;
        impl Visitor<'_> for AtLeastOneVisitor {
            type Value = AtLeastOne;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of at least 1, such as 4096")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AtLeastOne, E> {
                match number {
                    0 => Err(E::invalid_value(Unexpected::Unsigned(0), &self)),
                    number => Ok(AtLeastOne(number)),
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<AtLeastOne, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_u64(AtLeastOneVisitor)
    }
}

/// Renders the items of an output as text: a line before them, one for each item, and a line after them. Each is a Go
/// `text/template`; `Templates` (feature `template`) documents the supported syntax.
///
/// ```
/// use tamis::Spec;
/// use tamis::spec::Compact;
///
/// let compact = Compact::new("  #{{.number}} {{.title}}")
///     .header("Issues ({{.Total}}):")
///     .footer("{{.Omitted}} more");
/// let same: Spec = serde_json::from_str(
///     r##"{"compact": {"header": "Issues ({{.Total}}):", "item": "  #{{.number}} {{.title}}", "footer": "{{.Omitted}} more"}}"##,
/// ).unwrap();
/// assert_eq!(same, Spec::new().compact(compact));
/// // A `compact` without `item` is none.
/// assert!(serde_json::from_str::<Spec>(r#"{"compact": {"header": "Issues"}}"#).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = r#"a template such as {"item": "{{.id}} {{.title}}"}"#)]
pub struct Compact {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub header: Option<String>,
    #[serde(deserialize_with = "template")]
    #[doc(hidden)]
    pub item: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub footer: Option<String>,
}

impl Compact {
    /// Creates a summary from the template of an item. It sees the members of the item as the rules on items left them.
    #[must_use]
    pub fn new(item: impl Into<String>) -> Self {
        Self { header: None, item: item.into(), footer: None }
    }

    /// Sets the template of the line before the items. It sees `.Total` and `.Count` (the number of items), `.Original`
    /// (the number in the response) and `.Omitted` (the difference).
    #[must_use]
    pub fn header(mut self, template: impl Into<String>) -> Self {
        self.header = Some(template.into());
        self
    }

    /// Sets the template of the line after the items. It sees the same values as the header, and `.Remaining`, which is
    /// 0.
    #[must_use]
    pub fn footer(mut self, template: impl Into<String>) -> Self {
        self.footer = Some(template.into());
        self
    }
}

/// Deserialises a template that is not empty. An empty one would write an empty line for each item.
fn template<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Err(de::Error::invalid_value(Unexpected::Str(""), &"the template of an item"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Budget, Compact, Omitted, OnOver};
    use crate::spec::{Spec, TextSpec};

    fn read(text: &str) -> Result<Spec, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn written_specs_are_read_back() {
        let filter = TextSpec::new().strip_ansi(true).keep_lines_matching("^x").max_lines(3);
        for (spec, text) in [
            (Spec::new(), "{}"),
            (Spec::new().budget(Budget::Bytes(1)), r#"{"budget":{"bytes":1}}"#),
            (
                Spec::new().budget(Budget::Tokens(u64::MAX)),
                r#"{"budget":{"tokens":18446744073709551615}}"#,
            ),
            (
                Spec::new().budget(Budget::Bytes(9)).min_items(2),
                r#"{"budget":{"bytes":9},"min_items":2}"#,
            ),
            (
                Spec::new().min_items(0).omitted(Omitted::Silent).on_over(OnOver::Error),
                r#"{"min_items":0,"omitted":"silent","on_over":"error"}"#,
            ),
            (Spec::new().compact(Compact::new("x")), r#"{"compact":{"item":"x"}}"#),
            (
                Spec::new().compact(Compact::new("x").footer("b").header("a")),
                r#"{"compact":{"header":"a","item":"x","footer":"b"}}"#,
            ),
            (
                Spec::new().text_filter(filter),
                r#"{"text_filter":{"strip_ansi":true,"keep_lines_matching":["^x"],"max_lines":3}}"#,
            ),
            // A call without a limit, as kimbap spells it.
            (Spec::new().budget(Budget::Bytes(3)).budget(Budget::Bytes(0)), "{}"),
        ] {
            assert_eq!(serde_json::to_string(&spec).unwrap(), text);
            assert_eq!(read(text).unwrap(), spec);
        }
    }

    #[test]
    fn invalid_budgets_are_refused() {
        for (text, why) in [
            (r#"{"bytes":0}"#, "integer `0`, expected a whole number of at least 1"),
            (r#"{"tokens":-5}"#, "integer `-5`, expected a whole number of at least 1"),
            (r#"{"bytes":2.5}"#, "floating point `2.5`, expected a whole number"),
            (r#"{"bytes":"4096"}"#, "string \"4096\", expected a whole number"),
            (r#"{"bytes":null}"#, "null, expected a whole number"),
            (r#"{"bytes":1,"tokens":1}"#, "not both"),
            (r#"{"bytes":1,"bytes":1}"#, "not both"),
            (r#"{"byte":1}"#, "unknown field `byte`"),
            ("{}", "a budget must have `bytes: N` or `tokens: N`"),
            ("4096", "expected `bytes: N` or `tokens: N`"),
            (r#""4096""#, "expected `bytes: N` or `tokens: N`"),
        ] {
            let error = read(&format!("{{\"budget\":{text}}}")).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_templates_are_refused() {
        for (text, why) in [
            ("{}", "missing field `item`"),
            (r#"{"header":"x"}"#, "missing field `item`"),
            (r#"{"item":""}"#, "expected the template of an item"),
            (r#"{"item":null}"#, "expected a string"),
            (r#"{"item":"x","limit":3}"#, "unknown field `limit`"),
            (r#""{{.x}}""#, "expected a template such as"),
        ] {
            let error = read(&format!("{{\"compact\":{text}}}")).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
