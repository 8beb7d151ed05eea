//! Renders the rows of a table, each as one line.
//!
//! Cells are plain text. One row is buffered.

use super::render::marked;

/// A table, with the current row.
#[derive(Debug, Default)]
pub(super) struct Table {
    row: Option<Vec<String>>,
    /// The size of the row's cells in bytes.
    bytes: usize,
    in_cell: bool,
    /// At least one row was written.
    headed: bool,
}

impl Table {
    /// Whether a row is open. Blocks in it do not begin lines of their own.
    pub(super) fn in_row(&self) -> bool {
        self.row.is_some()
    }

    /// Returns the size of the current row in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn begin_row(&mut self) {
        (self.row, self.bytes, self.in_cell) = (Some(Vec::new()), 0, false);
    }

    pub(super) fn begin_cell(&mut self) {
        self.in_cell = true;
    }

    /// Ends the current cell.
    pub(super) fn cell(&mut self, text: &mut String) {
        let cell = text.trim().replace('\n', " ");
        text.clear();
        if let Some(row) = &mut self.row
            && (self.in_cell || !cell.is_empty())
        {
            // Every cell counts, even an empty one.
            self.bytes += cell.len() + size_of::<String>();
            row.push(cell);
        }
        self.in_cell = false;
    }

    /// Returns the row's line, if there is text in it. In Markdown, a separator follows the first row.
    pub(super) fn end_row(&mut self, markdown: bool) -> (Option<String>, Option<String>) {
        let cells = self.row.take().unwrap_or_default();
        self.bytes = 0;
        if cells.iter().all(String::is_empty) {
            return (None, None);
        }
        let cells: Vec<String> = cells.into_iter().map(marked).collect();
        if !markdown {
            // Empty cells are kept, so that the columns stay aligned.
            return (Some(cells.join(" | ").trim_end().to_owned()), None);
        }
        let escaped: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let rule = (!std::mem::replace(&mut self.headed, true))
            .then(|| format!("|{}", " --- |".repeat(cells.len())));
        (Some(format!("| {} |", escaped.join(" | "))), rule)
    }

    /// Returns the texts of the cells if the row turns out not to be one of data.
    pub(super) fn dissolve(&mut self, text: &mut String) -> Vec<String> {
        self.cell(text);
        self.bytes = 0;
        self.row.take().unwrap_or_default()
    }
}
