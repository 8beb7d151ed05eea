//! [`Passages`]: keeps the first and the last parts of a text, and of the rest the passages that are likely to be needed.
//! [`tamis_text::cut`] chooses them.

use tamis_json::sink::Sink;
use tamis_text::cut::{CutOptions, CutSize, Query, TextCutter, TextKind};

use super::{Measure, Sizes, Unit, tables};

/// How many bytes of the text are held. A page rarely has as much text.
const HELD: usize = 1 << 20;

/// Takes a text in parts and writes the parts of it that are kept.
#[derive(Debug)]
pub(super) struct Passages {
    limit: u64,
    unit: Unit,
    cutter: TextCutter,
    /// The text so far.
    whole: Measure,
    bytes: u64,
    out: Trimmed,
}

impl Passages {
    pub(super) fn new(limit: u64, unit: Unit) -> Self {
        Self {
            limit,
            unit,
            cutter: cutter(limit, unit),
            whole: Measure::new(unit),
            bytes: 0,
            out: Trimmed::new(unit),
        }
    }

    pub(super) fn push(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        self.bytes += text.len() as u64;
        self.whole.push(text);
        self.cutter.write(text.as_bytes(), &mut TrimmedSink(&mut self.out, to));
    }

    pub(super) fn end(&mut self, to: &mut dyn FnMut(&str)) -> Sizes {
        let original = self.whole.finish();
        let bytes = self.bytes;
        let unit = self.unit.of_cut();
        let is_whole = self.cutter.size().is_some();
        let bare = original.saturating_sub(self.space());
        if is_whole && bare <= self.limit {
            let mut sink = TrimmedSink(&mut self.out, to);
            // White space at the end is not kept if the text exceeds the limit with it.
            let is_cut = original > self.limit;
            self.cutter.end(None, false, unit, &mut sink);
            self.out.end(is_cut, to);
            let size = if is_cut { bare } else { original };
            return Sizes { original: size, result: size, bytes, cut: false };
        }
        let mut narrowed = 0;
        let mut narrow_size = None;
        if is_whole && let Some(text) = self.narrowed() {
            narrowed = (self.cutter.held().len() as u64).saturating_sub(text.len() as u64);
            narrow_size = Some(self.unit.of(&text));
            self.cutter = cutter(self.limit, self.unit);
            self.cutter.write(text.as_bytes(), &mut TrimmedSink(&mut self.out, to));
        }
        // The units of a text may have fewer tokens than the text as a whole.
        let slack = if matches!(self.unit, Unit::Tokens(_)) { self.limit / 64 } else { 0 };
        let room = CutSize { bytes: self.unit.bytes(self.limit - slack), ..CutSize::MAX };
        let mut sink = TrimmedSink(&mut self.out, to);
        let report = self.cutter.end(Some(room), false, unit, &mut sink);
        let has_text = self.out.end(true, to);
        let out = match self.unit {
            Unit::Bytes | Unit::Tokens(None) => self.unit.number(report.bytes_left_out + narrowed),
            // Nothing but cells was left out.
            Unit::Tokens(Some(_)) if report.bytes_left_out == 0 => {
                original.saturating_sub(narrow_size.unwrap_or(original))
            }
            Unit::Tokens(Some(_)) => original.saturating_sub(self.unit.number(report.kept_size)),
        };
        let mark = self.unit.mark(out, !has_text);
        to(&mark);
        self.out.size.push(&mark);
        Sizes { original, result: self.out.size.finish(), bytes, cut: true }
    }

    /// Returns the text with narrower tables, if some are too wide for the limit.
    fn narrowed(&self) -> Option<String> {
        let held = String::from_utf8_lossy(self.cutter.held());
        tables::narrowed(&held, self.unit.bytes(self.limit))
    }

    /// Returns the size of the white space at the end.
    fn space(&self) -> u64 {
        let held = String::from_utf8_lossy(self.cutter.held());
        let bare = held.trim_end();
        // No token goes on in the next line.
        let start = bare.rfind('\n').map_or(0, |end| end + 1);
        let [line, bare] =
            [&*held, bare].map(|text| self.unit.of(text.get(start..).unwrap_or_default()));
        line.saturating_sub(bare)
    }
}

/// Returns a cutter for the text of a page.
fn cutter(limit: u64, unit: Unit) -> TextCutter {
    TextCutter::new(CutOptions {
        kind: Some(TextKind::Prose),
        query: Query::default(),
        held: HELD,
        // The text has passed through a cleaner that marks them.
        marks: false,
        room: CutSize { bytes: unit.bytes(limit), ..CutSize::MAX },
        unit: unit.of_cut(),
    })
}

/// The output, without white space at the end.
#[derive(Debug)]
struct Trimmed {
    /// White space that is written only if text follows.
    space: String,
    size: Measure,
    has_text: bool,
}

/// The most white space that waits for text.
const MOST_SPACE: usize = 64 << 10;

impl Trimmed {
    fn new(unit: Unit) -> Self {
        Self { space: String::new(), size: Measure::new(unit), has_text: false }
    }

    fn put(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        let bare = text.trim_end();
        if !bare.is_empty() || self.space.len() > MOST_SPACE {
            let space = std::mem::take(&mut self.space);
            self.write(&space, to);
            self.write(bare, to);
        }
        self.space.push_str(text.get(bare.len()..).unwrap_or_default());
    }

    fn write(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        if !text.is_empty() {
            self.has_text = true;
            self.size.push(text);
            to(text);
        }
    }

    /// Ends the text, and returns whether any was written. `is_cut`: white space at the end is not kept.
    fn end(&mut self, is_cut: bool, to: &mut dyn FnMut(&str)) -> bool {
        let space = std::mem::take(&mut self.space);
        if !is_cut {
            self.write(&space, to);
        }
        self.has_text
    }
}

struct TrimmedSink<'a, 'b>(&'a mut Trimmed, &'b mut dyn FnMut(&str));

impl Sink for TrimmedSink<'_, '_> {
    fn write(&mut self, bytes: &[u8]) {
        // The text is cut between characters.
        self.0.put(&String::from_utf8_lossy(bytes), self.1);
    }
}
