//! The line of `--stats`: how much a run saved.
//!
//! This module must not depend on flags or files: a report has all figures.

use std::fmt;

use indicatif::HumanCount;
use tamis::Report;

use crate::figures::tokens::Tokens;

/// Displays how much a run saved.
pub(crate) struct Stats<'a> {
    pub(crate) report: &'a Report,
    /// Size of the input, in bytes.
    pub(crate) original: u64,
    /// Tokens of the input and of the output.
    pub(crate) tokens: [Option<Tokens>; 2],
}

impl fmt::Display for Stats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { result_bytes, output_bytes, .. } = *self.report;
        let result = output_bytes.unwrap_or(result_bytes);
        f.write_str(&saved([self.original, result], self.tokens))?;
        let Some(kept) = self.report.items_kept else { return Ok(()) };
        match (self.report.items_seen, self.report.items_at_least) {
            // With `--ndjson`, some lines may have stopped early.
            (_, Some(least)) => {
                let seen = least.saturating_add(self.report.items_seen.unwrap_or(0));
                write!(f, "; {} of at least {} items", HumanCount(kept), HumanCount(seen))
            }
            (Some(seen), None) => {
                let items = if seen == 1 { "item" } else { "items" };
                write!(f, "; {} of {} {items}", HumanCount(kept), HumanCount(seen))
            }
            (None, None) => Ok(()),
        }
    }
}

/// Describes sizes before and after, in bytes and tokens, and the saved percentage.
pub(crate) fn saved([original, result]: [u64; 2], tokens: [Option<Tokens>; 2]) -> String {
    let [before, after] = tokens;
    let before = before.map_or_else(String::new, |tokens| format!(" ({tokens} tokens)"));
    let after = after.map_or_else(String::new, |tokens| format!(" ({tokens})"));
    let sizes =
        format!("{} bytes{before} in, {}{after} out", HumanCount(original), HumanCount(result));
    if original == 0 {
        return sizes;
    }
    let saved = u128::from(original.saturating_sub(result));
    // Tenths of a percent, rounded down: only an empty output saves 100 %.
    let tenths = saved * 1000 / u128::from(original);
    format!("{sizes}, {}.{} % saved", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use tamis::Report;

    use super::Stats;

    #[test]
    fn savings_in_words() {
        let shown = |original, result, items: [Option<u64>; 3]| {
            let mut report = Report::default();
            report.result_bytes = result;
            [report.items_kept, report.items_seen, report.items_at_least] = items;
            Stats { report: &report, original, tokens: [None; 2] }.to_string()
        };
        let none = [None; 3];
        let items = [Some(2), Some(20), None];
        let expected = "123,396 bytes in, 312 out, 99.7 % saved; 2 of 20 items";
        assert_eq!(shown(123_396, 312, items), expected);
        assert_eq!(shown(0, 0, none), "0 bytes in, 0 out");
        assert_eq!(shown(2, 2, none), "2 bytes in, 2 out, 0.0 % saved");
        assert_eq!(shown(1_000_000, 1, none), "1,000,000 bytes in, 1 out, 99.9 % saved");
        assert_eq!(
            shown(4, 2, [Some(1), Some(1), None]),
            "4 bytes in, 2 out, 50.0 % saved; 1 of 1 item"
        );
        assert!(shown(4, 2, [Some(1), None, Some(2)]).ends_with("; 1 of at least 2 items"));
        assert!(shown(u64::MAX, 0, none).ends_with("100.0 % saved"));
        // The output of scalar lines may be longer than the input.
        assert!(shown(1, 2, none).ends_with("0.0 % saved"));
    }
}
