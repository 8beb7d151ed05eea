//! Leaves out columns of wide tables, so that a text with a limit keeps their headings and first columns.
//!
//! A cut keeps or leaves out parts of lines. If the rows of a table are long, it keeps the beginning of one row, the end of another,
//! and a part of the headings. So the rows of a table that has too many columns end after the same column:
//!
//! ```text
//! Name | 2019 | 2020 | [... 118 cells left out]
//! Oslo | 690  | 700  | [... 118 cells left out]
//! ```

use std::fmt::Write;

/// The least number of cells in a row of a table that is narrowed.
const CELLS: usize = 6;
/// The number of columns that are kept in any case.
const FIRST: usize = 2;
/// How many rows of a table should fit into the text.
const ROWS: u64 = 12;

/// The size in bytes of the last cell of a row, which says how many were left out.
const MARK: u64 = 28;

/// Returns a text with narrower tables, or `None` if no table is too wide for a text of `room` bytes.
pub(super) fn narrowed(text: &str, room: u64) -> Option<String> {
    let mut out: Option<String> = None;
    let mut rest = text;
    let mut begun = 0;
    while !rest.is_empty() {
        let table = rows(rest);
        if table == 0 {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        let (rows, after) = rest.split_at(table);
        if let Some(columns) = columns(rows, room) {
            let out = out.get_or_insert_default();
            let at = text.len() - rest.len();
            out.push_str(text.get(begun..at).unwrap_or_default());
            rows.split_inclusive('\n').for_each(|row| write_row(row, columns, out));
            begun = at + table;
        }
        rest = after;
    }
    out.as_mut()?.push_str(text.get(begun..).unwrap_or_default());
    out
}

/// Returns the length of the rows with which a text begins.
fn rows(text: &str) -> usize {
    let rows = text.split_inclusive('\n').take_while(|line| cells(line).nth(CELLS - 1).is_some());
    rows.map(str::len).sum()
}

/// Returns the cells of a row. In Markdown, a row begins and ends with a line, which belongs to the first and the last cell.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim_end().split(" | ")
}

/// Returns the number of columns that are kept, unless all of them fit.
fn columns(rows: &str, room: u64) -> Option<usize> {
    let count = rows.lines().count() as u64;
    let most = room.saturating_mul(3) / 4;
    let room_of_row = most / count.clamp(1, ROWS);
    if (rows.len() as u64) < most || (rows.len() as u64) < room_of_row.saturating_mul(count) {
        return None;
    }
    // The sizes of the columns.
    let mut sizes: Vec<u64> = Vec::new();
    for row in rows.lines() {
        for (number, cell) in cells(row).enumerate() {
            if sizes.len() <= number {
                sizes.push(0);
            }
            if let Some(size) = sizes.get_mut(number) {
                *size += cell.len() as u64 + 3;
            }
        }
    }
    let mut left = room_of_row.saturating_sub(MARK).saturating_mul(count);
    let kept = sizes.iter().take_while(|size| {
        let fits = **size <= left;
        left = left.saturating_sub(**size);
        fits
    });
    let kept = kept.count().max(FIRST);
    (kept < sizes.len()).then_some(kept)
}

fn write_row(row: &str, columns: usize, out: &mut String) {
    let end = row.trim_end();
    let left_out = cells(row).count().saturating_sub(columns);
    if left_out == 0 {
        return out.push_str(row);
    }
    let is_rule = end.starts_with("| --- |");
    for (number, cell) in cells(row).take(columns).enumerate() {
        out.push_str(if number == 0 { "" } else { " | " });
        out.push_str(cell);
    }
    if is_rule {
        out.push_str(" | --- |");
    } else {
        let plural = if left_out == 1 { "" } else { "s" };
        // Writing to memory does not fail.
        _ = write!(out, " | [... {left_out} cell{plural} left out]");
        out.push_str(if end.starts_with("| ") { " |" } else { "" });
    }
    out.push_str(row.get(end.len()..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::narrowed;

    fn table(columns: usize, rows: usize, markdown: bool) -> String {
        let mut text = String::new();
        for row in 0..rows {
            let cells: Vec<String> =
                (0..columns).map(|column| format!("cell {row} {column}")).collect();
            let line = cells.join(" | ");
            text.push_str(&if markdown { format!("| {line} |\n") } else { format!("{line}\n") });
            if row == 0 && markdown {
                text.push_str(&format!("|{}\n", " --- |".repeat(columns)));
            }
        }
        text
    }

    #[test]
    fn wide_tables_keep_their_first_columns() {
        let text = format!("Before | and\n\n{}\nAfter\n", table(100, 40, false));
        let narrow = narrowed(&text, 4_000).unwrap();
        assert!(narrow.starts_with("Before | and\n\ncell 0 0 | cell 0 1 | "), "{narrow}");
        assert!(narrow.ends_with("\nAfter\n"));
        assert_eq!(narrow.lines().count(), text.lines().count());
        let rows: Vec<&str> = narrow.lines().filter(|line| line.starts_with("cell ")).collect();
        let kept: Vec<usize> = rows.iter().map(|row| row.split(" | ").count()).collect();
        assert!(kept.iter().all(|count| *count == kept[0] && (3..100).contains(count)), "{kept:?}");
        let left_out = format!("| [... {} cells left out]", 100 - (kept[0] - 1));
        assert!(rows.iter().all(|row| row.ends_with(&left_out)), "{left_out}: {narrow}");
        assert!(rows.iter().take(12).map(|row| row.len()).sum::<usize>() < 4_000);
    }

    #[test]
    fn wide_tables_in_markdown_stay_tables() {
        let narrow = narrowed(&table(100, 40, true), 4_000).unwrap();
        let counts: Vec<usize> = narrow.lines().map(|line| line.matches('|').count()).collect();
        assert!(counts.iter().all(|count| *count == counts[0]), "{narrow}");
        assert!(narrow.lines().nth(1).unwrap().ends_with(" --- | --- |"));
    }

    #[test]
    fn other_tables_are_unchanged() {
        for text in [table(100, 3, false), table(8, 400, false), table(4, 4000, true), "a\n".into()]
        {
            assert_eq!(narrowed(&text, 8_000), None);
        }
    }
}
