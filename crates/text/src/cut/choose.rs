//! Chooses the units that are kept.
//!
//! ```text
//! head │ ······· passages, failures ······· │ tail          room: what the limit leaves beside the last notice
//! ```
//!
//! First and last units have their part of the room, and failures theirs ([`super::fixed`]). The rest goes to the units whose
//! scores reach a threshold, the lowest with which everything fits. Short gaps are closed, and short passages dropped, before
//! the size is measured. The room that is left extends the head, and then the other runs.

use super::kind::TextKind;
use super::map::UnitMap;
use super::profile::Profile;
use super::scores;
use super::shapes::ShapeCounts;
use super::size::{CutSize, CutUnit};
use super::sweep::{Shortest, Sweep};
use super::units::{EarlierGap, Unit, divide};
use crate::failures;
use crate::words::Query;
use crate::words::Words;

/// Why a unit is kept, as bits.
pub(super) mod reason {
    pub(in super::super) const HEAD: u8 = 1;
    pub(in super::super) const TAIL: u8 = 2;
    pub(in super::super) const FAILURE: u8 = 4;
    pub(in super::super) const CONTEXT: u8 = 8;
    pub(in super::super) const QUERY: u8 = 16;
    pub(in super::super) const PASSAGE: u8 = 32;
    pub(in super::super) const BETWEEN: u8 = 64;
    pub(in super::super) const ROOM: u8 = 128;
}

/// How many units of one shape are kept.
const ALIKE: u32 = 3;
/// Lines whose text without numbers is shorter have no shape.
pub(super) const SHORTEST_SHAPE: u32 = 8;
/// How often gaps are made larger, if there are too many.
const TRIES: u32 = 16;
/// Units that have this many times the room are looked at first.
const CANDIDATES: u64 = 8;

/// A text of which a part is chosen.
pub(super) struct Request<'a> {
    pub(super) text: &'a [u8],
    pub(super) earlier: &'a [EarlierGap],
    pub(super) begins_line: bool,
    /// Whether nothing follows the text.
    pub(super) is_end: bool,
    pub(super) kind: TextKind,
    pub(super) has_failed: bool,
    pub(super) query: &'a Query,
    pub(super) room: CutSize,
    /// The size of the text that was written before.
    pub(super) written: CutSize,
    /// The unit of `room`.
    pub(super) unit: CutUnit,
}

/// The units of a text, and why each is kept; 0: it is not.
pub(super) struct Choice {
    pub(super) map: UnitMap,
    pub(super) reasons: Vec<u8>,
}

/// Chooses what is kept of a text that is too long.
pub(super) fn choose(request: &Request<'_>) -> Choice {
    // A limit of lines does not cut lines.
    let mut units = divide(
        request.text,
        request.earlier,
        request.begins_line,
        request.room.bytes < u64::MAX,
        request.unit,
    );
    if let Some(last) = units.last_mut().filter(|_| request.is_end) {
        last.ends_line = true;
    }
    let mut profile = Profile::of(request.kind, request.has_failed);
    if !request.is_end {
        profile.gaps = usize::MAX;
    }
    let words = read(request, &profile, &mut units);
    if profile.folds {
        fold(&mut units);
    }
    let scores = scores::scores(request.text, &units, &words, request.kind);
    let map = UnitMap::new(units, request.earlier, request.unit);
    let reasons = vec![0; map.len()];
    let mut chooser = Chooser { request, profile, map, scores, reasons, candidates: Vec::new() };
    chooser.run();
    Choice { map: chooser.map, reasons: chooser.reasons }
}

/// Reads the words of each unit, its shape, and whether it is a failure.
fn read(request: &Request<'_>, profile: &Profile, units: &mut [Unit]) -> Words {
    let mut words = Words::new(request.text.len());
    // Escape sequences may be within words.
    let has_escapes = profile.failures > 0 && memchr::memchr(0x1b, request.text).is_some();
    let has_template = profile.folds || profile.failures > 0;
    for (number, unit) in units.iter_mut().enumerate() {
        let text = unit.text(request.text);
        let shape = words.add(number as u32 + 1, text, request.query, has_template);
        unit.words_end = words.len() as u32;
        unit.template = if shape.template_bytes >= SHORTEST_SHAPE { shape.template | 1 } else { 0 };
        unit.is_failure = profile.failures > 0
            && (has_escapes || shape.may_fail || failures::may_begin_failure(text))
            && failures::is_failure(text.trim_ascii_end());
    }
    if !request.query.is_empty() {
        mark_asked(&words, units);
    }
    words
}

/// Marks units with a word of the query. A word that most units have does not say which of them are looked for.
fn mark_asked(words: &Words, units: &mut [Unit]) {
    let most = units.len() as f32 / 2.0;
    let mut from = 0;
    for unit in units {
        let to = unit.words_end as usize;
        let mut found = words.of(from, to);
        unit.is_asked = found.any(|word| word.is_asked() && words.units(word) <= most);
        from = to;
    }
}

/// Marks units whose shape several earlier units have. Failures and units with a word of the query are not compared.
fn fold(units: &mut [Unit]) {
    let mut shapes = ShapeCounts::new(units.len());
    for unit in units {
        if unit.template != 0 && !unit.is_failure && !unit.is_asked && !unit.is_gap() {
            unit.is_folded = shapes.count(unit.template) > ALIKE;
        }
    }
}

/// The state of a choice.
pub(super) struct Chooser<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) profile: Profile,
    pub(super) map: UnitMap,
    scores: Vec<f32>,
    pub(super) reasons: Vec<u8>,
    /// The units that a threshold is tried on, in order.
    candidates: Vec<usize>,
}

impl Chooser<'_> {
    fn run(&mut self) {
        let room = self.request.room;
        let none = Shortest::default();
        self.take_ends();
        self.take_failures();
        // Without the lines that repeat a shape, everything may fit.
        if self.profile.folds {
            self.find_candidates(f32::NEG_INFINITY);
            let (size, gaps) = self.sweep(f32::NEG_INFINITY, none, &mut |_, _| {});
            if size.fits(room) && gaps <= self.profile.gaps {
                self.keep(f32::NEG_INFINITY, none);
                return self.extend();
            }
        }
        self.find_candidates(f32::INFINITY);
        for bits in [reason::FAILURE | reason::CONTEXT, reason::HEAD, reason::TAIL] {
            let (size, _) = self.sweep(f32::INFINITY, none, &mut |_, _| {});
            if size.fits(room) {
                break;
            }
            for reasons in &mut self.reasons {
                *reasons &= !bits;
            }
        }
        let mut shortest = Shortest {
            gap: self.profile.fill.min(room.bytes / 10),
            passage: self.profile.shortest.min(room.bytes / 10),
        };
        if room.lines < u64::MAX {
            // With a limit of lines, shorter gaps and passages are worth a line.
            let few = room.lines.saturating_mul(8);
            shortest = Shortest { gap: shortest.gap.min(few), passage: shortest.passage.min(few) };
        }
        let mut times = CANDIDATES;
        for attempt in 0..TRIES {
            // Units that are kept in any case must fit, together with the gaps between them that are closed.
            while shortest.gap > 0
                && !self.sweep(f32::INFINITY, shortest, &mut |_, _| {}).0.fits(room)
            {
                shortest.gap /= 2;
            }
            let threshold = self.threshold(shortest, &mut times);
            let (_, gaps) = self.sweep(threshold, shortest, &mut |_, _| {});
            if gaps <= self.profile.gaps || attempt + 1 == TRIES {
                self.keep(threshold, shortest);
                break;
            }
            shortest.gap = shortest.gap.max(30) * 2;
            if attempt > 4 {
                shortest.passage = shortest.passage.max(40) * 2;
            }
        }
        self.extend();
    }

    /// Returns the lowest threshold with which everything fits.
    fn threshold(&mut self, shortest: Shortest, times: &mut u64) -> f32 {
        /// Scores that differ less are equal.
        const STEP: u32 = 1 << 10;
        let mut lowest = self.lowest(*times);
        loop {
            self.find_candidates(lowest);
            let (size, _) = self.sweep(lowest, shortest, &mut |_, _| {});
            if lowest > 0.0 && size.fits(self.request.room) {
                *times = times.saturating_mul(CANDIDATES);
                lowest = self.lowest(*times);
                continue;
            }
            if size.fits(self.request.room) {
                return lowest;
            }
            break;
        }
        let highest = self.scores.iter().copied().fold(0.0, f32::max);
        // Numbers that are not negative have the order of their bits.
        let (mut low, mut high) = (lowest.to_bits(), highest.to_bits() + 1);
        while high.saturating_sub(low) > STEP {
            let middle = low + (high - low) / 2;
            let (size, _) = self.sweep(f32::from_bits(middle), shortest, &mut |_, _| {});
            if size.fits(self.request.room) { high = middle } else { low = middle }
        }
        f32::from_bits(high)
    }

    /// Returns about the score that units reach which together have `times` the room, or 0.
    fn lowest(&self, times: u64) -> f32 {
        /// Bits of a score that do not count.
        const COARSE: u32 = 16;
        let Request { room, .. } = *self.request;
        let most = CutSize {
            lines: room.lines.saturating_mul(times),
            bytes: room.bytes.saturating_mul(times),
        };
        if self.map.cost(0, self.map.len()).fits(most) {
            return 0.0;
        }
        let mut sizes = vec![CutSize::default(); 1 << (31 - COARSE)];
        for (unit, score) in self.map.units().iter().zip(&self.scores) {
            if let Some(size) = sizes.get_mut((score.max(0.0).to_bits() >> COARSE) as usize) {
                *size = size.plus(unit.cost());
            }
        }
        let mut sum = CutSize::default();
        for (bits, size) in sizes.iter().enumerate().rev() {
            sum = sum.plus(*size);
            if !sum.fits(most) {
                return f32::from_bits((bits as u32) << COARSE);
            }
        }
        0.0
    }

    /// Finds the units that are kept in any case, or with a threshold of at least this.
    fn find_candidates(&mut self, lowest: f32) {
        self.candidates.clear();
        let units = self.map.units().iter().zip(&self.scores).zip(&self.reasons);
        let found = units.enumerate().filter(|(_, ((unit, score), reasons))| {
            **reasons != 0 || **score >= lowest && !unit.is_folded && !unit.is_gap()
        });
        self.candidates.extend(found.map(|(at, _)| at));
    }

    /// Measures the runs that a threshold keeps. Returns their size with all marks, and the number of gaps.
    fn sweep(
        &self,
        threshold: f32,
        shortest: Shortest,
        each: &mut dyn FnMut(usize, usize),
    ) -> (CutSize, usize) {
        let mut sweep = Sweep::new(&self.map, shortest, self.request.room);
        for at in &self.candidates {
            let is_fixed = self.reasons.get(*at).is_some_and(|reasons| *reasons != 0);
            // A unit that was kept in any case may no longer be.
            let reaches = self.scores.get(*at).is_some_and(|score| *score >= threshold);
            if is_fixed || reaches {
                sweep.keep(*at, is_fixed, each);
            }
        }
        sweep.end(each)
    }

    /// Keeps the units of a threshold, and what is between them.
    fn keep(&mut self, threshold: f32, shortest: Shortest) {
        let mut runs = Vec::new();
        self.sweep(threshold, shortest, &mut |first, last| runs.push((first, last)));
        for (first, last) in runs {
            for at in first..=last {
                let (Some(reasons), Some(unit)) = (self.reasons.get_mut(at), self.map.get(at))
                else {
                    continue;
                };
                if *reasons == 0 {
                    let score = self.scores.get(at).copied().unwrap_or(0.0);
                    let is_chosen = score >= threshold && !unit.is_folded;
                    *reasons = if is_chosen { reason::PASSAGE } else { reason::BETWEEN };
                    *reasons |= if unit.is_asked { reason::QUERY } else { 0 };
                }
            }
        }
    }

    /// Gives what is left of the room to the units after the head, then to those after and before other runs.
    fn extend(&mut self) {
        self.find_candidates(f32::INFINITY);
        let (mut size, _) = self.sweep(f32::INFINITY, Shortest::default(), &mut |_, _| {});
        let mut gaps: Vec<(usize, usize)> = Vec::new();
        let left_out = self.reasons.iter().enumerate().filter(|(_, bits)| **bits == 0);
        for (at, _) in left_out {
            match gaps.last_mut() {
                Some((_, to)) if *to == at => *to = at + 1,
                _ => gaps.push((at, at + 1)),
            }
        }
        for from_end in [false, true] {
            for gap in &mut gaps {
                let left = self.request.room.minus(size);
                if left.bytes < 2 || left.lines == 0 {
                    return;
                }
                while let Some(larger) = self.extend_into(gap, from_end, size) {
                    size = larger;
                }
            }
        }
    }

    /// Keeps the unit at one end of a gap if it fits, and returns the new size.
    fn extend_into(
        &mut self,
        gap: &mut (usize, usize),
        from_end: bool,
        size: CutSize,
    ) -> Option<CutSize> {
        let (from, to) = *gap;
        let mark_size = |gap| self.map.mark_size(&gap);
        let before = mark_size(self.map.gap(from, to)?);
        let (at, rest) = match from_end {
            false => (from, (from + 1, to)),
            true => (to - 1, (from, to - 1)),
        };
        let unit = self.map.get(at).filter(|unit| !unit.is_gap())?;
        let mark = self.map.gap(rest.0, rest.1).map_or(CutSize::default(), mark_size);
        let mut next = size.minus(before).plus(mark).plus(unit.cost());
        next.lines += u64::from(from_end && !unit.begins_line);
        if !next.fits(self.request.room) {
            return None;
        }
        *self.reasons.get_mut(at)? = reason::ROOM;
        *gap = rest;
        Some(next)
    }
}
