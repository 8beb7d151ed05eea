//! [`Savings`]: the sums of a log, per tool.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::CallLine;

/// How many tools are listed on their own. The rest is one row, so that any log takes bounded memory.
const TOOLS: usize = 10_000;

/// Longest line of a log that is read.
const LINE: u64 = 1 << 20;

/// The sums of the calls of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    calls: u64,
    failed: u64,
    bytes_in: u64,
    bytes_out: u64,
    tokens_in: u64,
    tokens_out: u64,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.bytes_in = self.bytes_in.saturating_add(other.bytes_in);
        self.bytes_out = self.bytes_out.saturating_add(other.bytes_out);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
    }
}

/// The sums of a log, per tool.
#[derive(Debug, Default)]
pub struct Savings {
    tools: HashMap<String, Sum>,
    /// Lines that are not records of calls.
    skipped: u64,
}

impl Savings {
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
        let sum = Sum {
            calls: 1,
            failed: u64::from(call.outcome.starts_with("failed")),
            bytes_in: call.bytes_in,
            bytes_out: call.bytes_out,
            tokens_in: call.tokens_in,
            tokens_out: call.tokens_out,
        };
        let known = self.tools.len() < TOOLS || self.tools.contains_key(&*call.tool);
        let tool = if known { call.tool.into_owned() } else { String::from("(others)") };
        self.tools.entry(tool).or_default().add(&sum);
    }

    /// Returns the number of lines that are not records of calls.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the table: a row for each tool, the largest saving first, and a row with the total.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<(String, Sum)> =
            self.tools.iter().map(|(tool, sum)| (printable(tool), *sum)).collect();
        rows.sort_by(|(one, a), (other, b)| {
            let saved = |sum: &Sum| sum.tokens_in.saturating_sub(sum.tokens_out);
            saved(b).cmp(&saved(a)).then_with(|| one.cmp(other))
        });
        let mut total = Sum::default();
        for (_, sum) in &rows {
            total.add(sum);
        }
        rows.push((String::from("total"), total));
        let cells: Vec<[String; 7]> = rows.iter().map(|(tool, sum)| row(tool, sum)).collect();
        let titles = ["tool", "calls", "failed", "bytes in", "bytes out", "~tokens saved", "saved"];
        let mut table = String::new();
        let all = || std::iter::once(titles.map(String::from)).chain(cells.iter().cloned());
        let mut widths = [0; 7];
        for cells in all() {
            for (width, cell) in widths.iter_mut().zip(&cells) {
                *width = cell.chars().count().max(*width);
            }
        }
        for cells in all() {
            for (number, (width, cell)) in widths.iter().zip(&cells).enumerate() {
                // Writing to a string does not fail.
                _ = match number {
                    0 => write!(table, "{cell:width$}"),
                    _ => write!(table, "  {cell:>width$}"),
                };
            }
            table.push('\n');
        }
        table
    }
}

fn row(tool: &str, sum: &Sum) -> [String; 7] {
    let saved = i128::from(sum.tokens_in) - i128::from(sum.tokens_out);
    let share = match sum.bytes_in {
        0 => String::from("-"),
        all => {
            let left = i128::from(sum.bytes_out) * 100 / i128::from(all);
            format!("{}%", 100 - left)
        }
    };
    [
        String::from(tool),
        grouped(i128::from(sum.calls)),
        grouped(i128::from(sum.failed)),
        grouped(i128::from(sum.bytes_in)),
        grouped(i128::from(sum.bytes_out)),
        grouped(saved),
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
    use super::Savings;

    #[test]
    fn a_log_becomes_a_table() {
        let log = "\
            {\"tool\":\"search\",\"outcome\":\"filtered\",\"bytes_in\":160000,\"bytes_out\":8000,\"tokens_in\":40000,\"tokens_out\":2000}\n\
            tamis: listening\n\
            {\"tool\":\"echo\",\"outcome\":\"unchanged\",\"bytes_in\":40,\"bytes_out\":40,\"tokens_in\":10,\"tokens_out\":10,\"new\":[]}\n\
            \n\
            {\"tool\":\"search\",\"outcome\":\"failed_open\",\"bytes_in\":4000,\"bytes_out\":4000,\"tokens_in\":1000,\"tokens_out\":1000}\n\
            {\"tool\":\"cut off";
        let mut savings = Savings::default();
        savings.read(log.as_bytes()).unwrap();
        assert_eq!(savings.skipped(), 2);
        let expected = "\
tool    calls  failed  bytes in  bytes out  ~tokens saved  saved
search      2       1   164,000     12,000         38,000    93%
echo        1       0        40         40              0     0%
total       3       1   164,040     12,040         38,000    93%
";
        assert_eq!(savings.table(), expected);
    }

    #[test]
    fn an_empty_log_has_a_total() {
        let table = Savings::default().table();
        assert!(
            table.ends_with("total      0       0         0          0              0      -\n"),
            "{table}"
        );
    }
}
