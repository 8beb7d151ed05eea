//! Messages of programs about their own work that report no failure: `npm warn deprecated x`, `warning: unused variable`.

use super::choose::{Chooser, reason};
use super::shapes::ShapeCounts;
use super::size::CutSize;
use crate::failures;
use crate::words;

/// The most of the room left by failures that messages take, in thousandths.
const MOST: u64 = 500;
/// Lines that they may have in any case: two messages, and the gaps before them.
const LINES: u64 = 4;

impl Chooser<'_> {
    /// Keeps one message of each shape, as long as there is room in what failures have left of theirs.
    pub(super) fn take_messages(&mut self, room: &mut CutSize) {
        let part = room.part(MOST);
        let most = CutSize { lines: part.lines.max(room.lines.min(LINES)), ..part };
        let mut left = most;
        let mut shapes = ShapeCounts::new(self.map.len());
        for at in 0..self.map.len() {
            let Some(unit) = self.map.get(at) else { break };
            if unit.is_failure || unit.is_gap() || !unit.begins_line {
                continue;
            }
            let text = unit.text(self.request.text).trim_ascii_end();
            let shape = match unit.template {
                0 => words::hash(text),
                template => template,
            };
            // Lines of one shape are messages, or none of them is.
            if shapes.count(shape | 1) == 1 && failures::is_message(text) {
                self.take_failure(at, reason::FAILURE, &mut left);
            }
        }
        *room = room.minus(most).plus(left);
    }
}
