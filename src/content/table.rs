//! Rows of a table, a line each.
//!
//! Knows cells as text. Holds one row.

/// A table, of which a row may be open.
#[derive(Debug, Default)]
pub(super) struct Table {
    row: Option<Vec<String>>,
    /// Bytes of the row's cells.
    bytes: usize,
    in_cell: bool,
    /// A row was written.
    headed: bool,
}

impl Table {
    /// Whether a row is open: what is in it has no lines of its own.
    pub(super) fn in_row(&self) -> bool {
        self.row.is_some()
    }

    /// Bytes of the row that is open.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn begin_row(&mut self) {
        (self.row, self.bytes, self.in_cell) = (Some(Vec::new()), 0, false);
    }

    pub(super) fn begin_cell(&mut self) {
        self.in_cell = true;
    }

    /// The text of the cell that is open is complete.
    pub(super) fn cell(&mut self, text: &mut String) {
        let cell = text.trim().replace('\n', " ");
        text.clear();
        if let Some(row) = &mut self.row
            && (self.in_cell || !cell.is_empty())
        {
            // A cell costs, even an empty one.
            self.bytes += cell.len() + size_of::<String>();
            row.push(cell);
        }
        self.in_cell = false;
    }

    /// The row's line, if there is text in it, and what follows the first one in Markdown.
    pub(super) fn end_row(&mut self, markdown: bool) -> (Option<String>, Option<String>) {
        let cells = self.row.take().unwrap_or_default();
        self.bytes = 0;
        if cells.iter().all(String::is_empty) {
            return (None, None);
        }
        if !markdown {
            // Empty cells stay: what is below a heading stays below it.
            return (Some(cells.join(" | ").trim_end().to_owned()), None);
        }
        let escaped: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let rule = (!std::mem::replace(&mut self.headed, true))
            .then(|| format!("|{}", " --- |".repeat(cells.len())));
        (Some(format!("| {} |", escaped.join(" | "))), rule)
    }

    /// The row turned out to be none: gives its texts back.
    pub(super) fn dissolve(&mut self, text: &mut String) -> Vec<String> {
        self.cell(text);
        self.bytes = 0;
        self.row.take().unwrap_or_default()
    }
}
