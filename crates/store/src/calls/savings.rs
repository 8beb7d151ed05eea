//! [`Savings`]: the sums of a log, by tool, command, agent or day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Serialize;

use super::CallLine;

/// How many tools are listed on their own. The rest is one row, so that any log takes bounded memory.
const TOOLS: usize = 10_000;

/// How many kinds are listed for each row on their own.
const KINDS: usize = 1_000;

/// Longest line of a log that is read.
const LINE: u64 = 1 << 20;

/// The kind of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavingsBy {
    /// Tools, and programs of commands.
    #[default]
    Tool,
    /// Tools and programs with the kind of rule, or with the filter of the command.
    Command,
    /// Coding agents.
    Agent,
    /// Days, in UTC.
    Day,
}

impl SavingsBy {
    /// All values, with the words for them in command lines.
    pub const ALL: [(&'static str, Self); 4] = [
        ("tool", Self::Tool),
        ("command", Self::Command),
        ("agent", Self::Agent),
        ("day", Self::Day),
    ];

    fn title(self) -> &'static str {
        Self::ALL.iter().find(|(_, by)| *by == self).map_or("", |(title, _)| title)
    }

    /// Returns the name of the row of a call.
    fn row(self, call: &CallLine<'_>) -> String {
        match self {
            Self::Tool => call.tool.clone().into_owned(),
            Self::Command if call.rule.is_empty() => call.tool.clone().into_owned(),
            Self::Command => format!("{} {}", call.tool, call.rule),
            Self::Agent => call.agent.as_deref().unwrap_or("(none)").to_owned(),
            Self::Day => call.time.get(..10).unwrap_or("(unknown)").to_owned(),
        }
    }
}

/// The sums of the calls of a row. Bytes are those that the agent shows to its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    calls: u64,
    failed: u64,
    without: u64,
    shown: u64,
    read_again: u64,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.without = self.without.saturating_add(other.without);
        self.shown = self.shown.saturating_add(other.shown);
        self.read_again = self.read_again.saturating_add(other.read_again);
    }

    /// The bytes that were saved; less than zero if the agent reads more than without filters.
    fn saved(&self) -> i128 {
        i128::from(self.without) - i128::from(self.shown) - i128::from(self.read_again)
    }

    /// The same in tokens of four bytes.
    fn tokens(&self) -> i128 {
        self.saved() / 4
    }
}

/// The sums of a log: by tool, if nothing else is asked for.
#[derive(Debug, Default)]
pub struct Savings {
    by: SavingsBy,
    rows: HashMap<String, Sum>,
    /// Tools of lists, with the bytes of their descriptions and whether they were called.
    listed: HashMap<String, u64>,
    called: HashSet<String>,
    /// How many values of each kind were replaced, by the name of the row.
    redacted: BTreeMap<String, BTreeMap<String, u64>>,
    /// Lines that are not records of calls.
    skipped: u64,
}

/// A tool that is in a list and was never called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedTool {
    /// Its name.
    pub tool: String,
    /// The bytes of its description, which the model reads in every session.
    pub bytes: u64,
}

/// How many values of a kind were replaced in the results of one tool, or of another row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RedactedKind {
    /// The name of the row: a tool, if nothing else was asked for.
    pub name: String,
    /// The kind, such as `github-token`.
    pub kind: String,
    /// The number of values.
    pub count: u64,
}

/// A row in JSON.
#[derive(Debug, Serialize)]
struct SavingsRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    calls: u64,
    failed: u64,
    bytes_without: u64,
    bytes_shown: u64,
    bytes_read_again: u64,
    bytes_saved: i128,
    tokens_saved: i128,
}

impl<'a> SavingsRow<'a> {
    fn new(name: Option<&'a str>, sum: &Sum) -> Self {
        Self {
            name,
            calls: sum.calls,
            failed: sum.failed,
            bytes_without: sum.without,
            bytes_shown: sum.shown,
            bytes_read_again: sum.read_again,
            bytes_saved: sum.saved(),
            tokens_saved: sum.tokens(),
        }
    }
}

impl Savings {
    /// Creates empty sums with these rows.
    #[must_use]
    pub fn by(by: SavingsBy) -> Self {
        Self { by, ..Self::default() }
    }

    /// Adds the lines of a log. Lines that are not records of calls are counted and skipped: standard error holds others.
    ///
    /// # Errors
    /// The error of the input.
    pub fn read(&mut self, mut log: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = io::Read::take(&mut log, LINE).read_until(b'\n', &mut line)?;
            if count == 0 {
                return Ok(());
            }
            self.add(&line);
        }
    }

    /// Adds the lines of a file, as [`read`](Self::read) does.
    ///
    /// # Errors
    /// The error of the file.
    pub fn read_file(&mut self, path: &Path) -> io::Result<()> {
        self.read(BufReader::new(File::open(path)?))
    }

    fn add(&mut self, line: &[u8]) {
        let Ok(call) = serde_json::from_slice::<CallLine<'_>>(line) else {
            self.skipped += u64::from(!line.trim_ascii().is_empty());
            return;
        };
        if call.outcome == "inserted" {
            // The same call has another line for its result.
            return;
        }
        if call.outcome == "listed" {
            for (tool, bytes) in call.listed {
                if self.listed.len() < TOOLS || self.listed.contains_key(&*tool) {
                    self.listed.insert(tool.into_owned(), bytes);
                }
            }
            return;
        }
        if self.called.len() < TOOLS {
            self.called.insert(call.tool.clone().into_owned());
        }
        let [without, with] = call.shown();
        let is_read_again = call.outcome == "retrieved";
        let sum = Sum {
            calls: 1,
            failed: u64::from(call.outcome.starts_with("failed")),
            without,
            shown: if is_read_again { 0 } else { with },
            read_again: if is_read_again { with } else { 0 },
        };
        let row = self.by.row(&call);
        let known = self.rows.len() < TOOLS || self.rows.contains_key(&row);
        let row = if known { row } else { String::from("(others)") };
        if !call.redacted.is_empty() {
            let kinds = self.redacted.entry(row.clone()).or_default();
            for (kind, count) in call.redacted {
                let known = kinds.len() < KINDS || kinds.contains_key(&*kind);
                let kind = if known { kind.into_owned() } else { String::from("(others)") };
                let sum = kinds.entry(kind).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        self.rows.entry(row).or_default().add(&sum);
    }

    /// Returns the number of lines that are not records of calls.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the tools that were listed and never called, the longest description first.
    #[must_use]
    pub fn unused(&self) -> Vec<UnusedTool> {
        let unused = self.listed.iter().filter(|(tool, _)| !self.called.contains(*tool));
        let mut unused: Vec<UnusedTool> = unused
            .map(|(tool, bytes)| UnusedTool { tool: printable(tool), bytes: *bytes })
            .collect();
        unused.sort_by(|one, other| {
            other.bytes.cmp(&one.bytes).then_with(|| one.tool.cmp(&other.tool))
        });
        unused
    }

    /// Returns how many values were replaced, by row and kind: those rows first in which most were, and of a row the kinds of
    /// which there were most.
    #[must_use]
    pub fn redacted(&self) -> Vec<RedactedKind> {
        let sum = |kinds: &BTreeMap<String, u64>| {
            kinds.values().fold(0, |a: u64, b| a.saturating_add(*b))
        };
        let mut rows: Vec<_> = self.redacted.iter().collect();
        rows.sort_by_key(|(_, kinds)| Reverse(sum(kinds)));
        let mut redacted = Vec::new();
        for (name, kinds) in rows {
            let mut kinds: Vec<_> = kinds.iter().collect();
            kinds.sort_by_key(|(_, count)| Reverse(**count));
            redacted.extend(kinds.into_iter().map(|(kind, count)| RedactedKind {
                name: printable(name),
                kind: printable(kind),
                count: *count,
            }));
        }
        redacted
    }

    /// Returns the table of [`redacted`](Self::redacted). Empty if no value was replaced.
    #[must_use]
    pub fn redacted_table(&self) -> String {
        let rows = self.redacted();
        if rows.is_empty() {
            return String::new();
        }
        let title = self.by.title();
        let mut lines = vec![[title.to_owned(), "replaced".to_owned(), "count".to_owned()]];
        lines.extend(
            rows.into_iter().map(|row| [row.name, row.kind, grouped(i128::from(row.count))]),
        );
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let [name, kind, count] = [width(0), width(1), width(2)];
        lines.iter().fold(String::new(), |mut table, [a, b, c]| {
            // Writing to a string does not fail.
            _ = writeln!(table, "{a:name$}  {b:kind$}  {c:>count$}");
            table
        })
    }

    /// Returns the rows, in the order of the table, and their total.
    fn sorted(&self) -> (Vec<(String, Sum)>, Sum) {
        let mut rows: Vec<(String, Sum)> =
            self.rows.iter().map(|(row, sum)| (printable(row), *sum)).collect();
        rows.sort_by(|(one, a), (other, b)| match self.by {
            SavingsBy::Day => one.cmp(other),
            _ => b.saved().cmp(&a.saved()).then_with(|| one.cmp(other)),
        });
        let mut total = Sum::default();
        for (_, sum) in &rows {
            total.add(sum);
        }
        (rows, total)
    }

    /// Returns the sums as a JSON document.
    ///
    /// # Errors
    /// A number that JSON cannot have, which does not occur.
    pub fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Document<'a> {
            by: &'static str,
            rows: Vec<SavingsRow<'a>>,
            total: SavingsRow<'a>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            redacted: Vec<RedactedKind>,
        }
        let (rows, total) = self.sorted();
        serde_json::to_string(&Document {
            by: self.by.title(),
            rows: rows.iter().map(|(name, sum)| SavingsRow::new(Some(name), sum)).collect(),
            total: SavingsRow::new(None, &total),
            redacted: self.redacted(),
        })
    }

    /// Returns the table: the largest saving first, or the days in their order, and a row with the total.
    #[must_use]
    pub fn table(&self) -> String {
        self.table_with(["", ""])
    }

    /// Returns the table with these texts around negative numbers, such as those that make them red on a terminal.
    #[must_use]
    pub fn table_with(&self, negative: [&str; 2]) -> String {
        let (mut rows, total) = self.sorted();
        rows.push((String::from("total"), total));
        let cells: Vec<[String; COLUMNS]> = rows.iter().map(|(row, sum)| cells(row, sum)).collect();
        let first = self.by.title();
        let titles =
            [first, "calls", "failed", "without", "shown", "read again", "~tokens saved", "saved"];
        let mut table = String::new();
        let all = || std::iter::once(titles.map(String::from)).chain(cells.iter().cloned());
        let mut widths = [0; COLUMNS];
        for cells in all() {
            for (width, cell) in widths.iter_mut().zip(&cells) {
                *width = cell.chars().count().max(*width);
            }
        }
        for cells in all() {
            for (number, (width, cell)) in widths.iter().zip(&cells).enumerate() {
                let [before, after] = if cell.starts_with('-') && cell.len() > 1 && number > 0 {
                    negative
                } else {
                    ["", ""]
                };
                // Writing to a string does not fail.
                _ = match number {
                    0 => write!(table, "{cell:width$}"),
                    _ => write!(table, "  {before}{cell:>width$}{after}"),
                };
            }
            table.push('\n');
        }
        table
    }
}

const COLUMNS: usize = 8;

fn cells(row: &str, sum: &Sum) -> [String; COLUMNS] {
    let share = match sum.without {
        0 => String::from("-"),
        all => format!("{}%", sum.saved() * 100 / i128::from(all)),
    };
    [
        String::from(row),
        grouped(i128::from(sum.calls)),
        grouped(i128::from(sum.failed)),
        grouped(i128::from(sum.without)),
        grouped(i128::from(sum.shown)),
        grouped(i128::from(sum.read_again)),
        grouped(sum.tokens()),
        share,
    ]
}

/// Writes a number with commas: 41,200.
fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Replaces control characters, which names may contain, and shortens long names.
fn printable(name: &str) -> String {
    name.chars().take(60).map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Savings, SavingsBy};

    const LOG: &str = "\
        {\"time\":\"2026-01-02T10:00:00Z\",\"tool\":\"search\",\"outcome\":\"filtered\",\"bytes_in\":160000,\"bytes_out\":8000}\n\
        tamis: listening\n\
        {\"tool\":\"echo\",\"outcome\":\"unchanged\",\"bytes_in\":40,\"bytes_out\":40,\"new\":[]}\n\
        \n\
        {\"time\":\"2026-01-01T10:00:00Z\",\"tool\":\"cargo\",\"rule\":\"cargo-test\",\"agent\":\"codex\",\"outcome\":\"filtered\",\"bytes_in\":1000000,\"bytes_out\":4000,\"shown_without\":2000}\n\
        {\"tool\":\"tamis\",\"outcome\":\"retrieved\",\"bytes_in\":9000,\"bytes_out\":400}\n\
        {\"tool\":\"search\",\"outcome\":\"failed_open\",\"bytes_in\":4000,\"bytes_out\":4000}\n\
        {\"tool\":\"\",\"outcome\":\"listed\",\"listed\":{\"search\":10,\"a\":20,\"b\":30}}\n\
        {\"tool\":\"cut off";

    fn savings(by: SavingsBy) -> Savings {
        let mut savings = Savings::by(by);
        savings.read(LOG.as_bytes()).unwrap();
        savings
    }

    #[test]
    fn a_log_becomes_a_table() {
        let savings = savings(SavingsBy::Tool);
        assert_eq!(savings.skipped(), 2);
        let expected = "\
tool    calls  failed  without   shown  read again  ~tokens saved  saved
search      2       1  164,000  12,000           0         38,000    92%
echo        1       0       40      40           0              0     0%
tamis       1       0        0       0         400           -100      -
cargo       1       0    2,000   4,000           0           -500  -100%
total       5       1  166,040  16,040         400         37,400    90%
";
        assert_eq!(savings.table(), expected);
        let red = savings.table_with(["<", ">"]);
        assert!(red.contains("<         -500>  <-100%>\n"), "{red}");
        assert!(red.contains("<         -100>      -\n"), "{red}");
    }

    #[test]
    fn rows_are_what_was_asked_for() {
        let first = |by| savings(by).table().lines().nth(1).unwrap().to_owned();
        assert!(first(SavingsBy::Day).starts_with("(unknown) "));
        assert!(first(SavingsBy::Agent).starts_with("(none) "));
        let table = savings(SavingsBy::Command).table();
        assert!(table.contains("\ncargo cargo-test  "), "{table}");
        let json: serde_json::Value =
            serde_json::from_str(&savings(SavingsBy::Day).json().unwrap()).unwrap();
        assert_eq!(json["rows"][1]["name"], "2026-01-01");
        assert_eq!(json["rows"][1]["tokens_saved"], -500);
        assert_eq!(json["total"]["bytes_saved"], 149_600);
    }

    #[test]
    fn tools_that_were_listed_and_never_called() {
        let unused = savings(SavingsBy::Tool).unused();
        let unused: Vec<_> = unused.iter().map(|tool| (tool.tool.as_str(), tool.bytes)).collect();
        assert_eq!(unused, [("b", 30), ("a", 20)]);
    }

    #[test]
    fn replaced_values_are_summed_by_tool_and_kind() {
        let log = r#"
            {"tool":"env","outcome":"filtered","redacted":{"aws-access-key":1,"github-token":2}}
            {"tool":"search","outcome":"filtered","redacted":{"email":1200}}
            {"tool":"env","outcome":"filtered","redacted":{"github-token":1}}
            {"tool":"echo","outcome":"unchanged"}"#;
        let mut savings = Savings::by(SavingsBy::Tool);
        savings.read(log.as_bytes()).unwrap();
        let expected = "\
tool    replaced        count
search  email           1,200
env     github-token        3
env     aws-access-key      1
";
        assert_eq!(savings.redacted_table(), expected);
        let json: serde_json::Value = serde_json::from_str(&savings.json().unwrap()).unwrap();
        assert_eq!(
            json["redacted"][1],
            serde_json::json!({"name":"env","kind":"github-token","count":3})
        );
        let without: serde_json::Value =
            serde_json::from_str(&Savings::default().json().unwrap()).unwrap();
        assert!(without.get("redacted").is_none());
        assert_eq!(Savings::default().redacted_table(), "");
    }

    #[test]
    fn an_empty_log_has_a_total() {
        let table = Savings::default().table();
        assert!(table.starts_with("tool   calls"), "{table}");
        assert!(table.ends_with("    0      -\n"), "{table}");
    }
}
