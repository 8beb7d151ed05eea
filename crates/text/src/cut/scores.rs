//! The score of each unit: how much of what a reader will need it has, for each byte.
//!
//! The features depend on the kind of text ([`Weights`]): words that are new, words that few units have, words of the query,
//! the place in the text. The score of a unit is half its own, and half that of the units around it, so that passages are
//! kept and not single lines. The weights were fitted on 4 and checked on 4 other sources of recorded sessions of agents.

use super::kind::TextKind;
use super::units::Unit;
use crate::words::{WordKind, Words};

/// The places of the features of a unit.
const QUERY: usize = 0;
/// Names and plain words, each divided by the number of units that have it.
const RARE_NAME: usize = 1;
const RARE_WORD: usize = 2;
/// First occurrences.
const NEW_NAME: usize = 3;
const NEW_NUMBER: usize = 4;
const NEW_WORD: usize = 5;
/// Words of five and more letters that many units have.
const CENTRAL: usize = 6;
/// Bytes of lines without indentation.
const OUTER: usize = 7;
/// Bytes near the end.
const LATE: usize = 8;
const FEATURES: usize = 9;

/// The weight of each feature.
struct Weights {
    /// Whether a feature counts by its share of the sum over the text.
    are_shares: bool,
    weights: [f32; FEATURES],
    /// How many units on each side count.
    radius: usize,
}

fn weights(kind: TextKind) -> Weights {
    let of = |pairs: &[(usize, f32)]| {
        let mut weights = [0.0; FEATURES];
        for (feature, weight) in pairs {
            if let Some(place) = weights.get_mut(*feature) {
                *place = *weight;
            }
        }
        weights
    };
    match kind {
        TextKind::Prose => Weights {
            are_shares: true,
            weights: of(&[
                (CENTRAL, 0.20),
                (OUTER, 0.10),
                (LATE, 0.10),
                (RARE_NAME, 0.08),
                (NEW_NUMBER, 0.05),
                (QUERY, 0.05),
            ]),
            radius: 3,
        },
        TextKind::Listing => Weights {
            are_shares: true,
            weights: of(&[(QUERY, 0.36), (RARE_NAME, 0.31), (RARE_WORD, 0.25), (NEW_NAME, 0.05)]),
            radius: 1,
        },
        TextKind::Json => Weights {
            are_shares: true,
            weights: of(&[(RARE_WORD, 0.70), (QUERY, 0.10), (RARE_NAME, 0.05)]),
            radius: 1,
        },
        _ => Weights {
            are_shares: false,
            weights: of(&[(NEW_NAME, 1.0), (NEW_NUMBER, 0.5), (NEW_WORD, 0.5), (QUERY, 2.0)]),
            radius: 3,
        },
    }
}

/// Returns the score of each unit. Folded units and gaps have none.
pub(super) fn scores(text: &[u8], units: &[Unit], words: &Words, kind: TextKind) -> Vec<f32> {
    let Weights { are_shares, weights, radius } = weights(kind);
    let values = match are_shares {
        true => shares(text, units, words, &weights),
        false => {
            let mut from = 0;
            let count = units.len() as f32;
            let newness_of = |unit: &Unit| {
                let (begin, end) = (from, unit.words_end as usize);
                from = end;
                let is_read = !unit.is_folded && !unit.is_gap();
                if is_read { newness(words, (begin, end), &weights, count) } else { 0.0 }
            };
            units.iter().map(newness_of).collect()
        }
    };
    smooth(units, &values, radius)
}

/// Returns the weighted sum of the shares that each unit has of each feature.
fn shares(text: &[u8], units: &[Unit], words: &Words, weights: &[f32; FEATURES]) -> Vec<f32> {
    let mut sums = [0.0f64; FEATURES];
    let mut rows: Vec<[f32; FEATURES]> = Vec::with_capacity(units.len());
    each_row(text, units, words, &mut |row| {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
        rows.push(*row);
    });
    let mut factors = *weights;
    for (factor, sum) in factors.iter_mut().zip(sums) {
        *factor = if sum > 0.0 { *factor * 1000.0 / sum as f32 } else { 0.0 };
    }
    let value =
        |row: &[f32; FEATURES]| row.iter().zip(&factors).map(|(value, by)| value * by).sum();
    rows.iter().map(value).collect()
}

/// Returns what the first occurrences in a unit, and its words of the query, count for.
fn newness(
    words: &Words,
    (from, to): (usize, usize),
    weights: &[f32; FEATURES],
    count: f32,
) -> f32 {
    let [query, _, _, name, number, plain, ..] = weights;
    let mut value = 0.0;
    for word in words.of(from, to) {
        if word.is_first() {
            value += match word.kind() {
                WordKind::Name => name,
                WordKind::Number => number,
                WordKind::Plain => plain,
            };
        }
        if word.is_asked() {
            value += query * (1.0 + count / words.units(word)).ln() / (1.0 + count).ln();
        }
    }
    value
}

/// Calls a function with what each unit has of each feature.
fn each_row(text: &[u8], units: &[Unit], words: &Words, each: &mut dyn FnMut(&[f32; FEATURES])) {
    let all = units.iter().map(|unit| f64::from(unit.len)).sum::<f64>().max(1.0);
    let (mut from, mut before) = (0, 0.0);
    for unit in units {
        let mut row = [0.0; FEATURES];
        let to = unit.words_end as usize;
        before += f64::from(unit.len);
        if !unit.is_folded && !unit.is_gap() {
            features(&mut row, words, (from, to));
            let begin = text.get(unit.start);
            let bytes = unit.len as f32;
            if begin.is_some_and(|byte| !byte.is_ascii_whitespace()) {
                add(&mut row, OUTER, bytes);
            }
            add(&mut row, LATE, bytes * (-(all - before) / all / 0.2).exp() as f32);
        }
        from = to;
        each(&row);
    }
}

fn add(row: &mut [f32; FEATURES], feature: usize, value: f32) {
    if let Some(place) = row.get_mut(feature) {
        *place += value;
    }
}

/// Adds what the words of a unit count for.
fn features(row: &mut [f32; FEATURES], words: &Words, (from, to): (usize, usize)) {
    for word in words.of(from, to) {
        let units = words.units(word);
        let (rare, new) = match word.kind() {
            WordKind::Name => (Some(RARE_NAME), NEW_NAME),
            WordKind::Number => (None, NEW_NUMBER),
            WordKind::Plain => (Some(RARE_WORD), NEW_WORD),
        };
        if word.is_first() {
            add(row, new, 1.0);
        }
        if let Some(rare) = rare {
            add(row, rare, 1.0 / units);
        }
        if word.is_long() {
            add(row, CENTRAL, units);
        }
        if word.is_asked() {
            add(row, QUERY, 1.0 / units.sqrt());
        }
    }
}

/// Returns half the density of each unit, and half that of the units around it.
fn smooth(units: &[Unit], values: &[f32], radius: usize) -> Vec<f32> {
    // Folded units have no part in it.
    let live: Vec<(f32, f32)> = units
        .iter()
        .zip(values)
        .filter(|(unit, _)| !unit.is_folded && !unit.is_gap())
        .map(|(unit, value)| (*value, unit.len as f32))
        .collect();
    let mut scores = Vec::with_capacity(units.len());
    let (mut value, mut bytes) = (0.0f64, 0.0f64);
    let sized = |entry: Option<&(f32, f32)>| {
        entry.map_or((0.0, 0.0), |(value, bytes)| (f64::from(*value), f64::from(*bytes) + 4.0))
    };
    for next in live.iter().take(radius) {
        let (more, length) = sized(Some(next));
        value += more;
        bytes += length;
    }
    let mut at = 0;
    for unit in units {
        if unit.is_folded || unit.is_gap() {
            scores.push(0.0);
            continue;
        }
        let (more, length) = sized(live.get(at + radius));
        value += more;
        bytes += length;
        if let Some(gone) = at.checked_sub(radius + 1) {
            let (less, length) = sized(live.get(gone));
            value -= less;
            bytes -= length;
        }
        let (own, length) = live.get(at).copied().unwrap_or_default();
        let around = value.max(0.0) / bytes.max(1.0);
        scores.push((0.5 * around + 0.5 * f64::from(own) / (f64::from(length) + 20.0)) as f32);
        at += 1;
    }
    scores
}
