//! The explanation of a run, as data and as a table.

use std::fmt;

use serde::Serialize;
use tamis::KeptParts;

use crate::is_hidden;

/// The number of paths of a rule that the table shows.
const SHOWN: usize = 8;
/// The widest rule and path that the table shows.
const WIDEST: usize = 48;

/// Which rule of a filter removed which bytes of a document: the result of [`why`](super::why()).
///
/// `Display` prints a table. The sums are exact: `input_bytes` − `removed_bytes` + `added_bytes` = `output_bytes`, for
/// the document as for each rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The version of the keys.
    pub version: u32,
    /// Size of the input, with all white space around the document.
    pub input_bytes: u64,
    /// Size of the output, without a final newline.
    pub output_bytes: u64,
    /// The sum over all rules.
    pub removed_bytes: u64,
    /// The sum over all rules: new keys, marks, summaries, values of patches.
    pub added_bytes: u64,
    /// Whether tokens were counted; otherwise all are estimated at four bytes each.
    pub tokens_counted: bool,
    /// The rules in the order in which they apply, each with the bytes that it removed from what the earlier ones left.
    pub rules: Vec<RuleEffect>,
    /// The parts that a budget kept that prefers information, by the reason why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptParts>,
    /// The value that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueFate>,
}

/// The effect of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleEffect {
    /// The place of the rule in the spec, such as `select`, `exclude[1]` and `when[0].retain`; or `white space`, which
    /// every filter removes.
    pub rule: String,
    /// The rule as it is written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Number of removed values.
    pub count: u64,
    /// Number of removed bytes, with keys and commas.
    pub removed_bytes: u64,
    /// Number of bytes that the output has instead or in addition.
    pub added_bytes: u64,
    /// Number of tokens that the paths have less than before.
    pub tokens: u64,
    /// The same by path, merged over the elements of arrays, with the most removed bytes first. Empty if the rule gave
    /// the document another form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathEffect>,
}

/// The effect of one rule at one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PathEffect {
    /// The path in the document before the rule: `items[].owner.url`. The document itself is empty.
    pub path: String,
    /// Number of values that were removed as a whole. 0 if only the text of values or the containers around them changed.
    pub count: u64,
    /// Number of removed bytes, with keys and commas.
    pub removed_bytes: u64,
    /// Number of added bytes.
    pub added_bytes: u64,
    /// Number of tokens that the path has less than before.
    pub tokens: u64,
}

/// The fate of one value of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ValueFate {
    /// Its pointer in the input.
    pub pointer: String,
    /// The outcome.
    pub outcome: ValueOutcome,
    /// The rule that decided it. Absent for values that are kept unchanged, and for those that do not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The rule as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its pointer in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_pointer: Option<String>,
}

/// The outcome for one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ValueOutcome {
    /// The value is in the output. Values inside it may be removed.
    Kept,
    /// Another value is at its place: it was cut, replaced or filtered, or elements before it were removed.
    Changed,
    /// The value is not at its place any more. A rule that moves or renames a value removes it.
    Removed,
    /// A rule gave the document another form, in which the value cannot be followed.
    Rewritten,
    /// A rule moved elements of arrays, and the place is inside one.
    Unfollowed,
    /// The input has no such value.
    Missing,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = &self.value {
            return writeln!(f, "{value}");
        }
        let mut rows = vec![Row::heading()];
        for rule in &self.rules {
            rows.push(Row::of_rule(rule));
            rows.extend(rule.paths.iter().take(SHOWN).map(Row::of_path));
            rows.extend(rule.paths.get(SHOWN..).filter(|rest| !rest.is_empty()).map(Row::of_rest));
        }
        let tokens = self.rules.iter().map(|rule| rule.tokens).sum();
        rows.push(Row::new("all rules", 0, self.removed_bytes, self.added_bytes, tokens));
        let widths: [usize; 5] = std::array::from_fn(|column| {
            let cells = rows.iter().filter_map(|row| row.0.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        });
        for Row(cells) in &rows {
            let mut line = String::new();
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                // Text is aligned left, numbers right.
                let parts =
                    if column == 0 { [cell, space.as_str()] } else { [space.as_str(), cell] };
                line.push_str(if column == 0 { "" } else { "  " });
                line.push_str(&parts.concat());
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        for kept in &self.kept {
            writeln!(f, "budget: {}", kept.to_string().replace(is_hidden, "\u{fffd}"))?;
        }
        let Self { input_bytes, output_bytes, .. } = self;
        writeln!(f, "{input_bytes} bytes in, {output_bytes} bytes out")
    }
}

impl fmt::Display for ValueFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        let rule = match (&self.rule, &self.text) {
            (Some(rule), Some(text)) => format!("{rule} ({})", shortened(text)),
            (Some(rule), None) => rule.clone(),
            (None, _) => String::new(),
        };
        let at = match self.output_pointer.as_deref() {
            Some("") => "as the document",
            other => other.unwrap_or_default(),
        };
        match self.outcome {
            ValueOutcome::Kept if at.starts_with('/') => write!(f, "{name}: kept, at {at}"),
            ValueOutcome::Kept => write!(f, "{name}: kept, {at}"),
            ValueOutcome::Changed => write!(f, "{name}: changed by {rule}, at {at}"),
            ValueOutcome::Removed => write!(f, "{name}: no longer there after {rule}"),
            ValueOutcome::Unfollowed => {
                write!(f, "{name}: not followed past {rule}, which moves elements of arrays")
            }
            ValueOutcome::Rewritten => {
                write!(f, "{name}: kept up to {rule}, which gives the document another form")
            }
            ValueOutcome::Missing => write!(f, "{name}: the input has no such value"),
        }
    }
}

/// A row of the table.
struct Row([String; 5]);

impl Row {
    fn heading() -> Self {
        Self(["rule and path", "values", "removed", "added", "tokens"].map(str::to_owned))
    }

    fn new(name: &str, count: u64, removed: u64, added: u64, tokens: u64) -> Self {
        let number = |count: u64| if count == 0 { String::new() } else { count.to_string() };
        Self([shortened(name), number(count), removed.to_string(), number(added), number(tokens)])
    }

    fn of_rule(rule: &RuleEffect) -> Self {
        let RuleEffect { rule, text, count, removed_bytes, added_bytes, tokens, .. } = rule;
        let name = if text.is_empty() { rule.clone() } else { format!("{rule}: {text}") };
        Self::new(&name, *count, *removed_bytes, *added_bytes, *tokens)
    }

    fn of_path(path: &PathEffect) -> Self {
        let PathEffect { path, count, removed_bytes, added_bytes, tokens } = path;
        let path = if path.is_empty() { "(the document)" } else { path };
        Self::new(&format!("  {path}"), *count, *removed_bytes, *added_bytes, *tokens)
    }

    fn of_rest(rest: &[PathEffect]) -> Self {
        let sum = |field: fn(&PathEffect) -> u64| rest.iter().map(field).sum();
        Self::new(
            &format!("  {} more paths", rest.len()),
            sum(|path| path.count),
            sum(|path| path.removed_bytes),
            sum(|path| path.added_bytes),
            sum(|path| path.tokens),
        )
    }
}

/// Returns a text for one cell, without hidden characters.
fn shortened(text: &str) -> String {
    let mut cell: String = text.chars().take(WIDEST).collect();
    if cell.len() < text.len() {
        cell.pop();
        cell.push('…');
    }
    cell.replace(is_hidden, "\u{fffd}")
}
