//! Finds objects that can be written as the rows of a table.

use std::collections::HashMap;

use super::document::{Document, ValueId};

/// Rows of scalars below a header of names.
pub(super) struct Table {
    pub(super) header: Vec<HeaderPart>,
    /// The cells of each column, one for each row.
    pub(super) columns: Vec<Vec<ValueId>>,
}

/// A part of a header: `id,owner{login,id}`.
pub(super) enum HeaderPart {
    /// The name that this value has.
    Name(ValueId),
    Open,
    Close,
}

enum Task {
    Column(Vec<ValueId>),
    Close,
}

/// Returns the table of rows that have the same names, where each column has only scalars or only such objects.
pub(super) fn of_rows(document: &Document<'_>, rows: &[ValueId]) -> Option<Table> {
    let mut table = Table { header: Vec::new(), columns: Vec::new() };
    let mut tasks: Vec<Task> = columns(document, rows)?;
    while let Some(task) = tasks.pop() {
        let Task::Column(cells) = task else {
            table.header.push(HeaderPart::Close);
            continue;
        };
        table.header.push(HeaderPart::Name(*cells.first()?));
        if cells.iter().all(|cell| document.is_scalar(*cell)) {
            table.columns.push(cells);
        } else {
            table.header.push(HeaderPart::Open);
            tasks.push(Task::Close);
            tasks.append(&mut columns(document, &cells)?);
        }
    }
    Some(table)
}

/// Splits rows into columns, the first one last.
fn columns(document: &Document<'_>, rows: &[ValueId]) -> Option<Vec<Task>> {
    let first = document.members(*rows.first()?)?;
    if first.is_empty() {
        return None;
    }
    // Compare the shapes before anything is stored: most lists of different objects end here.
    if !rows.iter().all(|row| document.members(*row).is_some_and(|row| row.len() == first.len())) {
        return None;
    }
    let mut columns: Vec<Vec<ValueId>> = first.iter().map(|_| Vec::new()).collect();
    let mut positions: Option<HashMap<&str, usize>> = None;
    for row in rows {
        for (at, member) in document.members(*row)?.iter().enumerate() {
            let name = document.name(*member);
            let column = if first.get(at).is_some_and(|first| document.name(*first) == name) {
                at
            } else {
                let names = || first.iter().enumerate().map(|(at, id)| (document.name(*id), at));
                *positions.get_or_insert_with(|| names().collect()).get(name)?
            };
            columns.get_mut(column)?.push(*member);
        }
    }
    Some(columns.into_iter().rev().map(Task::Column).collect())
}
