//! Renders elements and text as plain text or Markdown.
//!
//! This module renders elements; it does not decide which ones are kept. A paragraph is one line followed by a blank
//! line; list items and table rows are lines without a blank one. Markdown has headings, items, links, images, code and
//! quotes. Characters that have a meaning in Markdown are not escaped, and bold and italic text is plain, because the
//! reader is a program. In plain text, a link is its text, and code is indented by four spaces. Invariant: buffers one
//! line, and the output that was not taken yet.

use tamis_text::controls::is_seen;
use tamis_text::notice;

use super::LINE;
use super::elements::{address, description, image_text, is_block, is_layout, language};
use super::references;
use super::table::Table;
use super::tags::{Tag, Target};

/// The maximum number of levels of lists and quotes that are indented.
const LEVELS: usize = 16;

/// Renders elements as text.
#[derive(Debug, Default)]
pub(super) struct Render {
    markdown: bool,
    out: String,
    /// The current line.
    line: String,
    /// White space followed the current line.
    space: bool,
    /// The last block and the next one are not separated by a blank line if both are of the same kind.
    last: Last,
    /// A part of the current line was already written.
    torn: bool,
    pre: usize,
    /// The language of a code block, from its class.
    language: String,
    /// The language that an element around the code names.
    around: String,
    /// The offset in the line of a superscript, and whether a link in it leads to a note.
    raised: Option<(usize, bool)>,
    quotes: usize,
    lists: Vec<List>,
    /// An item has begun, but nothing of it was written.
    bullet: bool,
    heading: usize,
    table: Option<Table>,
    /// The number of open tables.
    tables: usize,
    link: Option<Link>,
    /// The number of letters and digits outside links.
    prose: u64,
    written: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Block,
    Item,
    Row,
}

#[derive(Debug)]
struct List {
    /// The number of the next item.
    number: Option<u32>,
    /// The width of an item's marker in characters.
    width: usize,
}

impl List {
    fn new(number: Option<u32>) -> Self {
        Self { number, width: 2 }
    }

    /// Returns the marker of the next item.
    fn next(&mut self) -> String {
        let mark = match &mut self.number {
            None => "- ".to_owned(),
            Some(number) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
        };
        self.width = mark.len();
        mark
    }
}

#[derive(Debug)]
struct Link {
    href: String,
    /// Its offset in the line.
    at: usize,
}

impl Render {
    pub(super) fn new(markdown: bool) -> Self {
        Self { markdown, ..Self::default() }
    }

    /// Takes the text so far, except the current line.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Returns the number of bytes that were not taken.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns the number of letters and digits outside links.
    pub(super) fn prose(&self) -> u64 {
        self.prose
    }

    /// Ends the page and returns the rest of its text.
    pub(super) fn finish(&mut self) {
        self.end_row();
        self.end_line();
    }

    /// Writes a line as a heading of the first level.
    pub(super) fn title(&mut self, title: &str) {
        self.end_line();
        self.heading = 1;
        self.text(title);
        self.end_line();
        self.heading = 0;
    }

    fn in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(Table::in_row)
    }

    fn inline(&mut self, text: &str) {
        for char in text.chars() {
            match char {
                // Characters without a width: hints for line breaks, or nothing.
                '\u{ad}' | '\u{200b}' | '\u{feff}' | '\0' => {}
                _ if char.is_whitespace() => self.space = true,
                _ => {
                    self.break_words();
                    self.line.push(char);
                    self.prose += u64::from(self.link.is_none() && char.is_alphanumeric());
                }
            }
        }
        if self.line.len() > LINE {
            self.hand_on();
        }
    }

    /// Writes a space, if white space came between two words.
    fn break_words(&mut self) {
        if self.space && !self.line.is_empty() && !self.line.ends_with('\n') {
            self.line.push(' ');
        }
        self.space = false;
    }

    fn preformatted(&mut self, text: &str) {
        for char in text.chars().filter(|char| !matches!(char, '\0' | '\r')) {
            self.line.push(char);
            self.prose += u64::from(self.link.is_none() && char.is_alphanumeric());
            // Only whole lines are taken, so that no line is split.
            if char == '\n' && self.line.len() > LINE {
                self.end_code();
            }
        }
        if self.line.len() > 2 * LINE {
            self.end_code();
        }
    }

    /// Writes the part of a line that is too long to be buffered.
    fn hand_on(&mut self) {
        self.link = None;
        if self.in_cell() {
            return self.end_row();
        }
        self.end_line();
        self.torn = true;
    }

    /// Ends the line, and the link that is open in it.
    fn end_line(&mut self) {
        self.end_link();
        self.space = false;
        if let Some(table) = self.table.as_mut().filter(|table| table.in_row()) {
            // A block in a cell is part of the row.
            self.space = !self.line.is_empty();
            if table.len() + self.line.len() > LINE {
                self.end_row();
            }
            return;
        }
        let line = std::mem::take(&mut self.line);
        let text = line.trim();
        // A reader would not see such a line.
        if !text.contains(is_seen) {
            return;
        }
        if self.torn {
            self.torn = false;
            self.out.push(' ');
            self.out.push_str(text);
            return;
        }
        let (mut first, mut more) = (String::new(), String::new());
        let mut kind = Last::Block;
        if self.markdown {
            for _ in 0..self.quotes.min(LEVELS) {
                first.push_str("> ");
            }
            more.push_str(&first);
        }
        if !self.lists.is_empty() {
            kind = Last::Item;
            let shown = self.lists.len().min(LEVELS);
            let outer = self.lists.iter().take(shown - 1).map(|list| list.width).sum();
            let bullet = std::mem::take(&mut self.bullet);
            let (mark, width) = self.lists.last_mut().map_or_else(Default::default, |list| {
                let mark = if bullet { list.next() } else { String::new() };
                (mark, list.width)
            });
            first.push_str(&" ".repeat(outer));
            first.push_str(&format!("{mark:width$}"));
            more.push_str(&" ".repeat(outer + width));
        }
        if self.heading > 0 && self.markdown {
            first.push_str(&"#".repeat(self.heading));
            first.push(' ');
        }
        self.begin(kind);
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
            }
            let prefix = if number == 0 { &first } else { &more };
            self.out.push_str(prefix);
            // A line without a prefix is marked with the rest of the text.
            if !prefix.trim().is_empty() && notice::looks_like_one(line.as_bytes(), true) {
                self.out.push_str(notice::MARK);
            }
            self.out.push_str(line.trim_end());
        }
    }

    /// Writes the line breaks between the last block and the next one.
    fn begin(&mut self, kind: Last) {
        if self.written {
            let close = kind == self.last && kind != Last::Block;
            self.out.push_str(if close { "\n" } else { "\n\n" });
        }
        self.written = true;
        self.torn = false;
        self.last = kind;
    }

    /// Writes the buffered lines of a code block.
    fn end_code(&mut self) {
        self.end_link();
        let code = std::mem::take(&mut self.line);
        let code = code.trim_end().trim_start_matches('\n');
        if !code.contains(is_seen) {
            return;
        }
        self.begin(Last::Block);
        if !self.markdown {
            for (number, line) in code.split('\n').enumerate() {
                self.out.push_str(if number == 0 { "" } else { "\n" });
                if !line.trim().is_empty() {
                    self.out.push_str("    ");
                    self.out.push_str(line);
                }
            }
            return;
        }
        // The fence must be longer than any fence in the code.
        let ticks = code.split(|char| char != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(ticks.max(2) + 1);
        for part in [&fence, &self.language, "\n", code, "\n", &fence] {
            self.out.push_str(part);
        }
    }

    fn end_row(&mut self) {
        let Some(table) = &mut self.table else { return };
        if !table.in_row() {
            return;
        }
        table.cell(&mut self.line);
        let (row, rule) = table.end_row(self.markdown);
        if let Some(row) = row {
            self.begin(Last::Row);
            self.out.push_str(&row);
            if let Some(rule) = rule {
                self.out.push('\n');
                self.out.push_str(&rule);
            }
        }
    }

    fn end_link(&mut self) {
        let Some(Link { href, at }) = self.link.take() else { return };
        let text = self.line.get(at..).unwrap_or_default();
        if self.markdown && !href.is_empty() && !text.trim().is_empty() {
            let linked = format!("[{}]({href})", text.trim().replace('\n', " "));
            self.line.truncate(at);
            self.line.push_str(&linked);
        }
    }

    fn begin_link(&mut self, tag: &Tag<'_>) {
        self.end_link();
        self.break_words();
        let href = tag.get("href").unwrap_or_default();
        if let Some((_, is_note)) = &mut self.raised {
            *is_note |= href.trim_start().starts_with('#');
        }
        let href = address(&href);
        self.link = Some(Link { href, at: self.line.len() });
    }

    /// Ends a superscript, so that it is not read as a part of the number before it: `10^6`, or `2012[1]` for a note.
    fn end_raised(&mut self) {
        self.end_link();
        let Some((at, is_note)) = self.raised.take() else { return };
        let (Some(before), Some(text)) = (self.line.get(..at), self.line.get(at..)) else { return };
        if is_note && !text.is_empty() && !text.starts_with(['[', '(']) {
            let note = format!("[{text}]");
            self.line.truncate(at);
            self.line.push_str(&note);
        } else if before.ends_with(|char: char| char.is_alphanumeric() || char == ')')
            && text.starts_with(|char: char| char.is_ascii_digit() || "+-\u{2212}".contains(char))
        {
            self.line.insert(at, '^');
        }
    }

    fn image(&mut self, tag: &Tag<'_>) {
        let alt = tag.get("alt").unwrap_or_default();
        let source = tag.get("src").map(|source| address(&source)).unwrap_or_default();
        if self.pre > 0 {
            return;
        }
        let text = if self.markdown {
            let is_shown = !alt.trim().is_empty() && !source.is_empty();
            is_shown.then(|| format!("![{}]({source})", description(&alt)))
        } else {
            image_text(&alt, self.in_cell(), self.link.is_some())
        };
        let Some(text) = text else { return };
        self.break_words();
        let (last, first) = (self.line.chars().next_back(), text.chars().next());
        let touches = match (last, first) {
            (Some(last), Some('[')) => !last.is_whitespace(),
            (Some(last), Some('!')) => last == ')',
            (Some(last), Some(first)) => last.is_alphanumeric() && first.is_alphanumeric(),
            _ => false,
        };
        if touches {
            self.line.push(' ');
        }
        self.line.push_str(&text);
    }

    /// Handles the begin or the end of a block with this name.
    fn block(&mut self, name: &str) {
        if self.pre > 0 {
            // Lines of a code block may be elements.
            if !self.line.is_empty() && !self.line.ends_with('\n') {
                self.line.push('\n');
            }
            return;
        }
        if self.in_cell() && is_layout(name) {
            // Not a table of data: its cells contain blocks.
            let table = self.table.as_mut().map(|table| table.dissolve(&mut self.line));
            for cell in table.unwrap_or_default() {
                self.line = cell;
                self.end_line();
            }
        }
        self.end_line();
    }
}

/// Returns the text of a cell, with a mark if it has the form of a notice of tamis.
pub(super) fn marked(cell: String) -> String {
    if notice::looks_like_one(cell.as_bytes(), true) {
        notice::MARK.to_owned() + &cell
    } else {
        cell
    }
}

impl Target for Render {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name;
        if is_block(name) {
            self.block(name);
        }
        match name {
            "pre" => {
                self.pre += 1;
                let around = std::mem::take(&mut self.around);
                self.language = language(tag).unwrap_or(around);
            }
            "div" | "figure" => {
                self.around = language(tag).unwrap_or(std::mem::take(&mut self.around))
            }
            "sup" if self.pre == 0 => {
                self.break_words();
                self.raised = Some((self.line.len(), false));
            }
            "code" if self.pre > 0 && self.language.is_empty() => {
                self.language = language(tag).unwrap_or_default();
            }
            "code" | "kbd" | "samp" if self.pre == 0 && self.markdown => {
                self.break_words();
                self.line.push('`');
            }
            "br" if self.pre > 0 => self.line.push('\n'),
            "br" if self.in_cell() => self.space = true,
            "br" => {
                self.space = false;
                if !self.line.is_empty() {
                    self.line.push('\n');
                }
            }
            "hr" if self.markdown && self.written => {
                self.begin(Last::Block);
                self.out.push_str("---");
            }
            "img" => self.image(tag),
            "a" if self.pre == 0 => self.begin_link(tag),
            "ul" | "menu" | "dir" | "ol" => {
                if self.lists.is_empty() && self.last == Last::Item {
                    self.last = Last::Block;
                }
                let first =
                    tag.get("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                let number = (name == "ol").then_some(first);
                // All levels beyond the maximum are rendered like the last one.
                if self.lists.len() < super::OPEN {
                    self.lists.push(List::new(number));
                }
                self.bullet = false;
            }
            "li" => {
                self.bullet = !self.lists.is_empty();
                let value = tag.get("value").and_then(|value| value.trim().parse().ok());
                if let (Some(List { number: Some(number), .. }), Some(value)) =
                    (self.lists.last_mut(), value)
                {
                    *number = value;
                }
            }
            "blockquote" => self.quotes += 1,
            "table" => {
                self.table = Some(Table::new(self.tables > 0));
                self.tables += 1;
            }
            "tr" => {
                self.end_row();
                self.table.get_or_insert_default().begin_row();
            }
            "td" | "th" if self.in_cell() => {
                self.end_link();
                self.space = false;
                if let Some(table) = &mut self.table {
                    table.cell(&mut self.line);
                    let full = table.len() > LINE;
                    if full {
                        self.end_row();
                    }
                }
                let table = self.table.get_or_insert_default();
                if !table.in_row() {
                    table.begin_row();
                }
                let span = |name| tag.get(name).and_then(|span| span.trim().parse().ok());
                table.begin_cell(name == "th", span("colspan"), span("rowspan"));
            }
            "td" | "th" => self.end_line(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading = usize::from(name.as_bytes().last().map_or(1, |digit| digit - b'0'));
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                if self.pre == 0 {
                    self.end_code();
                    self.language.clear();
                }
                return;
            }
            "code" | "kbd" | "samp" if self.pre == 0 && self.markdown => {
                // The line has ended already, so there is no code to close.
                if self.line.ends_with('`') {
                    self.line.pop();
                } else if !self.line.is_empty() {
                    self.line.push('`');
                }
                return;
            }
            "a" => return self.end_link(),
            "sup" => return self.end_raised(),
            "tr" => return self.end_row(),
            _ => {}
        }
        if is_block(name) {
            self.block(name);
        }
        match name {
            "ul" | "ol" | "menu" | "dir" => {
                self.lists.pop();
                self.bullet = false;
            }
            "li" => self.bullet = false,
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "table" => {
                self.end_row();
                self.table = None;
                self.tables = self.tables.saturating_sub(1);
                self.last = Last::Block;
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = 0,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = references::decode(text);
        if self.pre > 0 { self.preformatted(&text) } else { self.inline(&text) }
    }

    fn lost(&mut self) {}
}
