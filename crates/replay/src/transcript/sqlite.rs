//! Reads the rows of tables from a file of SQLite, version 3, and from its write-ahead log.
//!
//! It reads what <https://www.sqlite.org/fileformat2.html> describes, as far as plain tables need it: pages, b-trees of tables, records
//! with overflow, and frames of the write-ahead log up to the last commit. There are no queries, no indexes and no writing. The file is
//! opened for reading only, and the program that writes it is not disturbed.
//!
//! ```text
//! header ─▶ page 1: table of the schema ─▶ root page of a table ─▶ interior pages ─▶ leaves ─▶ cells ─▶ record
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The most bytes of a record. Longer ones are skipped.
const LONGEST: usize = 64 << 20;

/// The most levels of a b-tree.
const DEEPEST: usize = 24;

/// The most pages that the log may have.
const MOST_FRAMES: usize = 4_000_000;

/// A file with tables.
#[derive(Debug)]
pub(super) struct Database {
    file: File,
    log: Option<File>,
    /// The offsets of pages in the log.
    frames: HashMap<u32, u64>,
    page_size: usize,
    /// The bytes of a page that are used.
    usable: usize,
    pages: u32,
    /// The page that was read last.
    last: Option<(u32, Vec<u8>)>,
}

/// A table: its root page and the names of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    root: u32,
    columns: Vec<String>,
}

/// The place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    page: u32,
    index: u16,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    Text(String),
    Integer(i64),
    Other,
}

impl Column {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Integer(_) | Self::Other => "",
        }
    }
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

fn be(bytes: &[u8], at: usize, length: usize) -> io::Result<u64> {
    let bytes = bytes.get(at..at + length).ok_or_else(|| invalid("a page is cut off"))?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn be32(bytes: &[u8], at: usize) -> io::Result<u32> {
    be(bytes, at, 4).map(|number| u32::try_from(number).unwrap_or(0))
}

fn be16(bytes: &[u8], at: usize) -> io::Result<usize> {
    be(bytes, at, 2).map(|number| usize::try_from(number).unwrap_or(0))
}

/// Reads a number of one to nine bytes, and returns it with the place after it.
fn varint(bytes: &[u8], at: usize) -> io::Result<(u64, usize)> {
    let mut number = 0_u64;
    for count in 0..9 {
        let byte = *bytes.get(at + count).ok_or_else(|| invalid("a record is cut off"))?;
        if count == 8 {
            return Ok((number << 8 | u64::from(byte), at + 9));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Ok((number, at + count + 1));
        }
    }
    Err(invalid("a number is too long"))
}

fn size(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(|_error| invalid("a record is too long"))
}

impl Database {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut header = [0; 100];
        file.read_exact(&mut header)?;
        if !header.starts_with(b"SQLite format 3\0") {
            return Err(invalid("not a database of SQLite 3"));
        }
        let page_size = match be16(&header, 16)? {
            1 => 65_536,
            size => size,
        };
        let reserved = usize::from(header[20]);
        if !page_size.is_power_of_two() || page_size < 512 || be32(&header, 56)? > 1 {
            return Err(invalid("a database with another page size or encoding than expected"));
        }
        let length = file.metadata()?.len();
        let pages = u32::try_from(length / page_size as u64).unwrap_or(u32::MAX);
        let usable = page_size - reserved;
        let mut database =
            Self { file, log: None, frames: HashMap::new(), page_size, usable, pages, last: None };
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if let Ok(log) = File::open(Path::new(&log)) {
            database.read_log(log)?;
        }
        Ok(database)
    }

    /// Finds the pages of the log, up to its last commit.
    fn read_log(&mut self, mut log: File) -> io::Result<()> {
        let mut header = [0; 32];
        if log.read_exact(&mut header).is_err() || be32(&header, 0)? & !1 != 0x377f_0682 {
            return Ok(());
        }
        if be32(&header, 8)? as usize != self.page_size {
            return Ok(());
        }
        let salt = [be32(&header, 16)?, be32(&header, 20)?];
        let frame_size = self.page_size as u64 + 24;
        let in_file = self.pages;
        let mut waiting = Vec::new();
        for number in 0..MOST_FRAMES as u64 {
            let at = 32 + number * frame_size;
            log.seek(SeekFrom::Start(at))?;
            let mut frame = [0; 24];
            if log.read_exact(&mut frame).is_err() {
                break;
            }
            if [be32(&frame, 8)?, be32(&frame, 12)?] != salt {
                break;
            }
            waiting.push((be32(&frame, 0)?, at + 24));
            let pages = be32(&frame, 4)?;
            if pages > 0 {
                // No more than both files have.
                let most = in_file.saturating_add(u32::try_from(number + 1).unwrap_or(u32::MAX));
                self.pages = pages.min(most);
                self.frames.extend(waiting.drain(..));
            }
        }
        self.log = Some(log);
        Ok(())
    }

    fn page(&mut self, number: u32) -> io::Result<&[u8]> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            if number == 0 || number > self.pages {
                return Err(invalid("a page is missing"));
            }
            let mut bytes = self.last.take().map(|(_, bytes)| bytes).unwrap_or_default();
            bytes.resize(self.page_size, 0);
            match (self.frames.get(&number), &mut self.log) {
                (Some(at), Some(log)) => {
                    log.seek(SeekFrom::Start(*at))?;
                    log.read_exact(&mut bytes)?;
                }
                _ => {
                    let at = u64::from(number - 1) * self.page_size as u64;
                    self.file.seek(SeekFrom::Start(at))?;
                    self.file.read_exact(&mut bytes)?;
                }
            }
            self.last = Some((number, bytes));
        }
        self.last.as_ref().map(|(_, bytes)| bytes.as_slice()).ok_or_else(|| invalid("no page"))
    }

    /// Returns a table of the schema.
    pub(super) fn table(&mut self, name: &str) -> io::Result<Option<Table>> {
        let schema = Table { root: 1, columns: Vec::new() };
        for cell in self.cells(&schema)? {
            let row = self.row(cell)?;
            if let [
                Column::Text(kind),
                Column::Text(found),
                _,
                Column::Integer(root),
                Column::Text(sql),
                ..,
            ] = row.as_slice()
                && kind == "table"
                && found == name
            {
                let root = u32::try_from(*root).map_err(|_error| invalid("no root page"))?;
                return Ok(Some(Table { root, columns: columns_of(sql) }));
            }
        }
        Ok(None)
    }

    /// Returns the places of all rows of a table, in the order of their row ids.
    pub(super) fn cells(&mut self, table: &Table) -> io::Result<Vec<Cell>> {
        let mut cells = Vec::new();
        let mut visits = 0_u32;
        let mut waiting = vec![(table.root, 0)];
        while let Some((page, depth)) = waiting.pop() {
            visits += 1;
            if depth > DEEPEST || visits > self.pages {
                return Err(invalid("the pages of a table form no tree"));
            }
            let start = if page == 1 { 100 } else { 0 };
            let bytes = self.page(page)?;
            let count = be16(bytes, start + 3)?;
            match bytes.get(start) {
                Some(0x0d) => {
                    let indexes = 0..u16::try_from(count).unwrap_or(u16::MAX);
                    cells.extend(indexes.map(|index| Cell { page, index }));
                }
                Some(0x05) => {
                    let mut children = Vec::with_capacity(count + 1);
                    for index in 0..count {
                        let at = be16(bytes, start + 12 + 2 * index)?;
                        children.push((be32(bytes, at)?, depth + 1));
                    }
                    children.push((be32(bytes, start + 8)?, depth + 1));
                    waiting.extend(children.into_iter().rev());
                }
                _ => return Err(invalid("a page is not of a table")),
            }
        }
        Ok(cells)
    }

    /// Reads a row.
    pub(super) fn row(&mut self, cell: Cell) -> io::Result<Vec<Column>> {
        columns_in(&self.payload(cell)?)
    }

    /// Reads the record of a cell, with the part on overflow pages.
    fn payload(&mut self, cell: Cell) -> io::Result<Vec<u8>> {
        let (usable, pages) = (self.usable, self.pages);
        let start = if cell.page == 1 { 100 } else { 0 };
        let bytes = self.page(cell.page)?;
        let at = be16(bytes, start + 8 + 2 * usize::from(cell.index))?;
        let (length, at) = varint(bytes, at)?;
        let (_rowid, at) = varint(bytes, at)?;
        let length = size(length)?;
        if length > LONGEST {
            return Err(invalid("a row is too long"));
        }
        let most = usable - 35;
        let least = (usable - 12) * 32 / 255 - 23;
        let local = match length <= most {
            true => length,
            false => {
                let local = least + (length - least) % (usable - 4);
                if local <= most { local } else { least }
            }
        };
        let mut payload = Vec::with_capacity(length);
        let part = bytes.get(at..at + local).ok_or_else(|| invalid("a row is cut off"))?;
        payload.extend_from_slice(part);
        let mut next = if local < length { be32(bytes, at + local)? } else { 0 };
        let mut visits = 0_u32;
        while payload.len() < length {
            visits += 1;
            if visits > pages {
                return Err(invalid("the pages of a row form no list"));
            }
            let bytes = self.page(next)?;
            let wanted = (length - payload.len()).min(usable - 4);
            let part = bytes.get(4..4 + wanted).ok_or_else(|| invalid("a row is cut off"))?;
            payload.extend_from_slice(part);
            next = be32(bytes, 0)?;
        }
        Ok(payload)
    }
}

/// Reads the values of a record.
fn columns_in(payload: &[u8]) -> io::Result<Vec<Column>> {
    let (header, mut at) = varint(payload, 0)?;
    let header = size(header)?;
    let mut values = header;
    let mut row = Vec::new();
    while at < header {
        let (kind, next) = varint(payload, at)?;
        at = next;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => size(kind)?,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return Err(invalid("a value of an unknown type")),
            _ => size((kind - 12) / 2)?,
        };
        let bytes = payload
            .get(values..values.saturating_add(length))
            .ok_or_else(|| invalid("a row is cut off"))?;
        values = values.saturating_add(length);
        row.push(match kind {
            1..=6 => {
                let unsigned = be(bytes, 0, length)?;
                // The sign is in the first of its bytes.
                let shift = 64 - 8 * u32::try_from(length).unwrap_or(8);
                Column::Integer((unsigned << shift).cast_signed() >> shift)
            }
            8 => Column::Integer(0),
            9 => Column::Integer(1),
            kind if kind >= 13 && kind % 2 == 1 => {
                Column::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => Column::Other,
        });
    }
    Ok(row)
}

/// Returns the names of the columns in the statement that created a table.
fn columns_of(sql: &str) -> Vec<String> {
    let body = sql.split_once('(').map_or("", |(_, body)| body);
    let mut columns = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    let ends = body.char_indices().filter(|(_, char)| matches!(char, '(' | ')' | ','));
    for (at, char) in ends {
        match char {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ',' if depth > 0 => {}
            _ => {
                let word = body.get(start..at).unwrap_or_default().split_whitespace().next();
                let name = word.unwrap_or_default().trim_matches(['`', '"', '[', ']', '\'']);
                let is_constraint = ["CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK"];
                if !name.is_empty() && !is_constraint.contains(&name) {
                    columns.push(name.to_owned());
                }
                start = at + 1;
                if char == ')' {
                    break;
                }
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::{Column, columns_in, columns_of, varint};

    #[test]
    fn records_are_read_or_refused() {
        let text = |text: &str| Column::Text(text.to_owned());
        assert_eq!(
            columns_in(&[3, 1, 17, 0xfe, b'a', b'b']).unwrap(),
            [Column::Integer(-2), text("ab")]
        );
        assert_eq!(
            columns_in(&[4, 0, 8, 9]).unwrap(),
            [Column::Other, Column::Integer(0), Column::Integer(1)]
        );
        let longest = [0xff; 9];
        for record in [
            &[][..],
            &[3, 1, 17, 0xfe],
            &[2, 10],
            // Lengths whose sums do not fit.
            &[&longest[..], &[1]].concat(),
            &[&[18][..], &longest, &longest].concat(),
            &[&longest[..], &longest, &longest, &longest].concat(),
        ] {
            assert!(columns_in(record).is_err(), "{record:?}");
        }
    }

    #[test]
    fn columns_are_read_from_the_statement() {
        let sql = "CREATE TABLE `part` (\n `id` text PRIMARY KEY,\n \"n\" numeric(3, 2) DEFAULT 0,\n [data] text NOT NULL,\n CONSTRAINT `k` FOREIGN KEY (`n`) REFERENCES `m`(`id`)\n)";
        assert_eq!(columns_of(sql), ["id", "n", "data"]);
    }

    #[test]
    fn numbers_have_one_to_nine_bytes() {
        assert_eq!(varint(&[0x7f], 0).unwrap(), (127, 1));
        assert_eq!(varint(&[0x81, 0x00], 0).unwrap(), (128, 2));
        assert_eq!(varint(&[0xff; 9], 0).unwrap(), (u64::MAX, 9));
        assert!(varint(&[0x80], 0).is_err());
    }
}
