//! Renders the rows of a table, each as one line.
//!
//! Cells are plain text. One row is buffered, and the texts of cells that span rows. A cell that spans rows is repeated in each
//! of them, if it is short, so that every row is complete; of the columns that it spans, the first one has its text,
//! or all of them in a row of headings.

use super::render::marked;

/// The maximum number of columns that one cell spans, and that spans of rows are kept for.
const COLUMNS: usize = 256;
/// The maximum number of bytes of a row that repeat cells. With more, spanned cells are empty: a page could make a long output
/// from a few bytes otherwise.
const REPEATED: usize = 256;

/// A table, with the current row.
#[derive(Debug, Default)]
pub(super) struct Table {
    row: Option<Vec<String>>,
    /// The size of the row's cells in bytes.
    bytes: usize,
    cell: Option<Cell>,
    /// At least one row was written.
    headed: bool,
    /// For each column, how many more rows a cell above spans, and its text.
    above: Vec<(usize, String)>,
    /// The bytes of the row that repeat cells.
    repeated: usize,
    /// The number of cells of the row that have text of their own.
    own: usize,
    /// The table is in a cell of another one.
    is_nested: bool,
}

/// How a cell spans columns and rows.
#[derive(Clone, Copy, Debug)]
struct Cell {
    is_heading: bool,
    columns: usize,
    rows: usize,
}

impl Table {
    pub(super) fn new(is_nested: bool) -> Self {
        Self { is_nested, ..Self::default() }
    }

    /// Whether a row is open. Blocks in it do not begin lines of their own.
    pub(super) fn in_row(&self) -> bool {
        self.row.is_some()
    }

    /// Returns the size of the current row in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn begin_row(&mut self) {
        (self.row, self.bytes, self.cell) = (Some(Vec::new()), 0, None);
        (self.repeated, self.own) = (0, 0);
    }

    /// Begins a cell. A span of zero rows ends with the table.
    pub(super) fn begin_cell(
        &mut self,
        is_heading: bool,
        columns: Option<usize>,
        rows: Option<usize>,
    ) {
        let columns = columns.unwrap_or(1).clamp(1, COLUMNS);
        let rows = rows.map_or(1, |rows| if rows == 0 { usize::MAX } else { rows });
        self.cell = Some(Cell { is_heading, columns, rows });
    }

    /// Ends the current cell.
    pub(super) fn cell(&mut self, text: &mut String) {
        let cell = text.trim().replace('\n', " ");
        text.clear();
        let span = self.cell.take();
        if span.is_none() && cell.is_empty() {
            return;
        }
        self.fill();
        let Some(row) = &mut self.row else { return };
        self.own += usize::from(!cell.is_empty());
        let Cell { is_heading, columns, rows } =
            span.unwrap_or(Cell { is_heading: false, columns: 1, rows: 1 });
        for column in 0..columns {
            let shown = column == 0 || (is_heading && self.repeated + cell.len() <= REPEATED);
            let text = if shown { cell.clone() } else { String::new() };
            self.repeated += if column > 0 { text.len() } else { 0 };
            if rows > 1 && row.len() < COLUMNS {
                if self.above.len() <= row.len() {
                    self.above.resize_with(row.len() + 1, Default::default);
                }
                let short = if text.len() <= REPEATED { text.clone() } else { String::new() };
                if let Some(above) = self.above.get_mut(row.len()) {
                    *above = (rows - 1, short);
                }
            }
            // Every cell counts, even an empty one.
            self.bytes += text.len() + size_of::<String>();
            row.push(text);
        }
    }

    /// Adds the cells of the rows above that span this row, up to the next column of its own.
    fn fill(&mut self) {
        let Some(row) = &mut self.row else { return };
        while let Some((rows, text)) = self.above.get_mut(row.len()).filter(|(rows, _)| *rows > 0) {
            *rows -= 1;
            let is_shown = self.repeated + text.len() <= REPEATED;
            let text = if is_shown { text.clone() } else { String::new() };
            self.repeated += text.len();
            self.bytes += text.len() + size_of::<String>();
            row.push(text);
        }
    }

    /// Returns the row's line, if there is text in it. In Markdown, a separator follows the first row.
    pub(super) fn end_row(&mut self, markdown: bool) -> (Option<String>, Option<String>) {
        self.fill();
        let cells = self.row.take().unwrap_or_default();
        self.bytes = 0;
        // The cells above end with the row, also if it is too short to reach them.
        for (rows, _) in self.above.iter_mut().skip(cells.len()) {
            *rows = rows.saturating_sub(1);
        }
        if self.own == 0 {
            return (None, None);
        }
        let mut cells = cells;
        // A heading over the whole table.
        if self.own == 1
            && let Some((first, rest)) = cells.split_first_mut()
        {
            rest.iter_mut().filter(|cell| *cell == first).for_each(String::clear);
        }
        let cells: Vec<String> = cells.into_iter().map(marked).collect();
        // In a table in a cell, it is the place of a text.
        if self.is_nested && self.own == 1 {
            let text = cells.into_iter().find(|cell| !cell.is_empty());
            return (text, None);
        }
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
        self.above.clear();
        self.row.take().unwrap_or_default()
    }
}
