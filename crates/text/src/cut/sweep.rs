//! [`Sweep`]: joins kept units to runs, and measures them with the marks between them.

use super::map::UnitMap;
use super::size::CutSize;

/// Gaps and passages that are too short, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shortest {
    /// A gap with at most this many bytes is closed.
    pub(super) gap: u64,
    /// A passage with fewer bytes is dropped.
    pub(super) passage: u64,
}

/// Units that are kept and follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    last: usize,
    /// Whether it is kept in any case.
    is_fixed: bool,
}

/// One pass over the units that are kept.
pub(super) struct Sweep<'a> {
    map: &'a UnitMap,
    shortest: Shortest,
    /// Whether a gap of one line is closed, because the line that reports it is as long.
    is_by_lines: bool,
    /// Whether gaps are reported.
    has_marks: bool,
    run: Option<Run>,
    /// The first unit after the last run that has ended and was not dropped.
    from: usize,
    total: CutSize,
    gaps: usize,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(map: &'a UnitMap, shortest: Shortest, room: CutSize) -> Self {
        Self {
            map,
            shortest,
            is_by_lines: room.lines < u64::MAX,
            has_marks: room.has_marks(),
            run: None,
            from: 0,
            total: CutSize::default(),
            gaps: 0,
        }
    }

    /// Keeps a unit. `each` gets the first and the last unit of each run that has ended and is not dropped.
    pub(super) fn keep(&mut self, at: usize, is_fixed: bool, each: &mut dyn FnMut(usize, usize)) {
        match &mut self.run {
            Some(run)
                if run.last + 1 == at
                    || joins(self.map, run.last + 1, at, self.shortest, self.is_by_lines) =>
            {
                run.last = at;
                run.is_fixed |= is_fixed;
            }
            _ => {
                self.end_run(each);
                self.run = Some(Run { first: at, last: at, is_fixed });
            }
        }
    }

    fn end_run(&mut self, each: &mut dyn FnMut(usize, usize)) {
        let Some(Run { first, last, is_fixed }) = self.run.take() else { return };
        let cost = self.map.cost(first, last + 1);
        if !is_fixed && cost.bytes < self.shortest.passage {
            return;
        }
        self.end_gap(first);
        self.total = self.total.plus(cost);
        self.from = last + 1;
        each(first, last);
    }

    fn end_gap(&mut self, to: usize) {
        if let Some(gap) = self.map.gap(self.from, to) {
            self.gaps += 1;
            if self.has_marks {
                self.total = self.total.plus(gap.mark_size());
            }
        }
    }

    /// Ends the text. Returns the size of the runs with all marks, and the number of gaps.
    pub(super) fn end(mut self, each: &mut dyn FnMut(usize, usize)) -> (CutSize, usize) {
        self.end_run(each);
        self.end_gap(self.map.len());
        (self.total, self.gaps)
    }
}

/// Whether the units between two that are kept are kept, too.
fn joins(map: &UnitMap, from: usize, to: usize, shortest: Shortest, is_by_lines: bool) -> bool {
    map.gap(from, to).is_none_or(|gap| {
        !gap.is_final
            && (gap.bytes <= shortest.gap.max(gap.mark_size().bytes)
                || is_by_lines && gap.lines <= 1)
    })
}
