//! [`Sweep`]: joins kept units to runs, and measures them with the marks between them.

use super::map::UnitMap;
use super::size::CutSize;

/// Gaps and passages that are too short, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shortest {
    /// A gap with at most this many bytes is closed.
    pub(super) gap: u64,
    /// A passage with fewer bytes is dropped, unless it has a word of the query.
    pub(super) passage: u64,
}

/// Units that are kept and follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    last: usize,
    /// Whether it is kept although it is short.
    may_be_short: bool,
}

/// One pass over the units that are kept.
pub(super) struct Sweep<'a> {
    map: &'a UnitMap,
    shortest: Shortest,
    /// Whether lines and bytes are limited. A gap is closed if the line that reports it is as large by each limit.
    is_by_lines: bool,
    is_by_bytes: bool,
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
            is_by_bytes: room.bytes < u64::MAX,
            has_marks: room.has_marks(),
            run: None,
            from: 0,
            total: CutSize::default(),
            gaps: 0,
        }
    }

    /// Keeps a unit. `is_fixed`: in any case. `each` gets the first and the last unit of each run that has ended and is not
    /// dropped.
    pub(super) fn keep(&mut self, at: usize, is_fixed: bool, each: &mut dyn FnMut(usize, usize)) {
        let Self { map, shortest, is_by_lines, is_by_bytes, .. } = *self;
        let may_be_short = is_fixed || map.get(at).is_some_and(|unit| unit.is_asked);
        let is_closed = |from: usize| {
            map.gap(from, at).is_none_or(|gap| {
                let is_free = (!is_by_lines || gap.lines <= 1)
                    && (!is_by_bytes || gap.bytes <= gap.mark_size().bytes);
                !gap.is_final && (gap.bytes <= shortest.gap || is_free)
            })
        };
        match &mut self.run {
            Some(run) if run.last + 1 == at || is_closed(run.last + 1) => {
                run.last = at;
                run.may_be_short |= may_be_short;
            }
            _ => {
                self.end_run(each);
                self.run = Some(Run { first: at, last: at, may_be_short });
            }
        }
    }

    fn end_run(&mut self, each: &mut dyn FnMut(usize, usize)) {
        let Some(Run { first, last, may_be_short }) = self.run.take() else { return };
        let cost = self.map.cost(first, last + 1);
        if !may_be_short && cost.bytes < self.shortest.passage {
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
                self.total = self.total.plus(self.map.mark_size(&gap));
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
