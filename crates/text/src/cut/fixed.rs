//! The units that are kept before anything is compared: the first and the last ones, and failures.

use super::choose::{Chooser, reason};
use super::shapes::FailureRanks;
use super::size::CutSize;

/// How many indented lines after a failure are kept with it.
pub(super) const CONTEXT: usize = 3;
/// About the bytes of the line that reports a gap.
const MARK: u64 = 26;

impl Chooser<'_> {
    /// Keeps the first and the last units.
    pub(super) fn take_ends(&mut self) {
        let (room, written) = (self.request.room, self.request.written);
        let tail = self.take(reason::TAIL, room.part(self.profile.tail), room.part(900), true);
        let head = room.plus(written).part(self.profile.head).minus(written);
        // One line at least, unless the tail is the only one.
        let is_free = room.lines > tail && written == CutSize::default();
        let least = if is_free { room.part(500) } else { CutSize::default() };
        self.take(reason::HEAD, head, least, false);
    }

    /// Keeps units from one end. The first is kept if it fits into `least`. Returns the number of lines.
    fn take(&mut self, bits: u8, most: CutSize, least: CutSize, from_end: bool) -> u64 {
        let count = self.map.len();
        let mut size = CutSize::default();
        for step in 0..count {
            let at = if from_end { count - 1 - step } else { step };
            let (Some(unit), Some(reasons)) = (self.map.get(at), self.reasons.get_mut(at)) else {
                break;
            };
            let next = size.plus(unit.cost());
            let least = CutSize { lines: least.lines.max(1), ..least };
            let fits = next.fits(most) || step == 0 && next.fits(least);
            if unit.is_gap() || *reasons != 0 || !fits {
                break;
            }
            *reasons = bits;
            size = next;
        }
        size.lines
    }

    /// Keeps failures: of those with one shape the first, then the others, then the lines that belong to them, then those
    /// that are equal to others.
    pub(super) fn take_failures(&mut self) {
        if self.profile.failures == 0 {
            return;
        }
        let mut room = self.request.room.part(self.profile.failures);
        let count = self.map.len();
        let mut failures = FailureRanks::new(count);
        let mut ranks = Vec::new();
        for (at, unit) in self.map.units().iter().enumerate().filter(|(_, unit)| unit.is_failure) {
            ranks.push((failures.rank(unit.template, unit.text(self.request.text)), at));
        }
        let of = |wanted: u8| ranks.iter().filter(move |(rank, _)| *rank == wanted);
        for (_, at) in of(0).chain(of(1)) {
            self.take_failure(*at, reason::FAILURE, &mut room);
        }
        for (_, at) in of(0).chain(of(1)) {
            self.take_context(*at, &mut room);
        }
        self.take_messages(&mut room);
        for (_, at) in of(2) {
            self.take_failure(*at, reason::FAILURE, &mut room);
        }
    }

    /// Keeps a unit with a failure if there is room.
    pub(super) fn take_failure(&mut self, at: usize, bits: u8, room: &mut CutSize) -> bool {
        let is_kept = |at: Option<usize>| {
            at.and_then(|at| self.reasons.get(at)).is_some_and(|reasons| *reasons != 0)
        };
        let is_adjacent = is_kept(at.checked_sub(1)) || is_kept(Some(at + 1));
        let gap = if is_adjacent { CutSize::default() } else { CutSize { lines: 1, bytes: MARK } };
        let (Some(unit), Some(reasons)) = (self.map.get(at), self.reasons.get_mut(at)) else {
            return false;
        };
        let cost = unit.cost().plus(gap);
        if *reasons != 0 {
            *reasons |= bits;
            return true;
        }
        if unit.is_gap() || !cost.fits(*room) {
            return false;
        }
        *reasons = bits;
        *room = room.minus(cost);
        true
    }

    /// Keeps the indented lines after a failure that is kept.
    fn take_context(&mut self, failure: usize, room: &mut CutSize) {
        if self.reasons.get(failure).is_none_or(|reasons| *reasons == 0) {
            return;
        }
        for at in failure + 1..=failure + CONTEXT {
            let Some(unit) = self.map.get(at) else { return };
            let text = unit.text(self.request.text);
            let is_indented = text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
            let is_context = is_indented && unit.begins_line && !text.trim_ascii().is_empty();
            if !is_context || unit.is_failure || !self.take_failure(at, reason::CONTEXT, room) {
                return;
            }
        }
    }
}
