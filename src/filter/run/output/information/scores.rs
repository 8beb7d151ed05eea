//! How much of what a reader may need later each part has, for each byte.
//!
//! A word counts by how few parts have it, and more if it is one of the call's ([`Query`]). Members by which people refer to a
//! thing count more, and addresses and data less. The beginning of the document counts a little more than the rest.

use tamis_json::test_work::{self, WorkKind};
use tamis_text::words::{Query, Words};

use super::document::{Entry, EntryKind, ValueList, fact};

/// The least value of a part, and the value of an identity.
const LEAST: f32 = 0.2;
const IDENTITY: f32 = 1.0;
/// The factor for addresses and data.
const DATA: f32 = 0.4;
/// The first or the last segment of a long string.
const END: f32 = 1.5;
/// Bytes for the commas and marks that each part needs.
const AROUND: f32 = 6.0;
/// How much more the beginning counts, and how fast that fades, as parts of the document.
const HEAD: f32 = 0.6;
const FADING: f32 = 0.1;

/// Returns the score of each entry, and marks those with words of the call. That of a container is the highest in it.
pub(super) fn scores(list: &mut ValueList, query: &Query) -> Vec<f32> {
    let mut words = Words::new(list.text.len());
    let mut ends = Vec::with_capacity(list.entries.len());
    let mut plain = Vec::new();
    for (number, entry) in list.entries.iter().enumerate() {
        if entry.is_leaf() {
            let text = without_escapes(list.spelled(entry), &mut plain);
            test_work::count(WorkKind::Tail, test_work::words(text.len()));
            words.add(number as u32 + 1, text, query, false);
        }
        ends.push(words.len());
    }
    let mut scores = Vec::with_capacity(list.entries.len());
    let mut from = 0;
    for (entry, to) in list.entries.iter().zip(&ends) {
        let is_leaf = entry.is_leaf();
        scores.push(if is_leaf { score(list, entry, &words, from, *to) } else { 0.0 });
        from = *to;
    }
    if !query.is_empty() {
        mark_asked(&mut list.entries, &words, &ends);
    }
    let mut scores = smooth(list, &scores);
    raise(list, &mut scores);
    scores
}

/// Marks entries with a word of the call. A word that most entries have says nothing.
fn mark_asked(entries: &mut [Entry], words: &Words, ends: &[usize]) {
    let most = entries.len() as f32 / 2.0;
    let mut from = 0;
    for (entry, to) in entries.iter_mut().zip(ends) {
        let mut found = words.of(from, *to);
        if found.any(|word| word.is_asked() && words.units(word) <= most) {
            entry.facts |= fact::ASKED;
        }
        from = *to;
    }
}

fn score(list: &ValueList, entry: &Entry, words: &Words, from: usize, to: usize) -> f32 {
    let mut value = LEAST;
    for word in words.of(from, to) {
        let parts = words.units(word);
        value += 1.0 / parts;
        if word.is_asked() {
            value += 1.0 / parts.sqrt();
        }
    }
    if entry.has(fact::IDENTITY) {
        value += IDENTITY;
    }
    if entry.has(fact::DATA) {
        value *= DATA;
    } else if entry.has(fact::END) {
        value *= END;
    }
    let place = f64::from(entry.start) / list.text.len().max(1) as f64;
    let head = 1.0 + HEAD * (-place as f32 / FADING).exp();
    value / (entry.bytes() as f32 + AROUND) * head
}

/// Gives segments half their own score, and half that of their neighbours in the string, so that passages are kept.
fn smooth(list: &ValueList, scores: &[f32]) -> Vec<f32> {
    let beside = |entry: &Entry, at: Option<usize>| {
        let other = at.and_then(|at| Some((list.entries.get(at)?, scores.get(at)?)));
        other.filter(|(other, _)| other.kind == EntryKind::Segment && other.parent == entry.parent)
    };
    let of = |(number, (entry, score)): (usize, (&Entry, &f32))| {
        if entry.kind != EntryKind::Segment {
            return *score;
        }
        let beside = [beside(entry, number.checked_sub(1)), beside(entry, Some(number + 1))];
        let count = beside.iter().flatten().count();
        let sum: f32 = beside.iter().flatten().map(|(_, score)| **score).sum();
        if count == 0 { *score } else { 0.5 * score + 0.5 * sum / count as f32 }
    };
    list.entries.iter().zip(scores).enumerate().map(of).collect()
}

/// Gives containers the highest score in them, and the identity of an element that of the element: an element is not shown
/// without it.
fn raise(list: &ValueList, scores: &mut [f32]) {
    for (number, entry) in list.entries.iter().enumerate().skip(1).rev() {
        let score = scores.get(number).copied().unwrap_or(0.0);
        if let Some(outer) = scores.get_mut(entry.parent as usize) {
            *outer = outer.max(score);
        }
    }
    for (number, entry) in list.entries.iter().enumerate().skip(1) {
        if !entry.has(fact::IDENTITY) {
            continue;
        }
        let outer = list.entry(entry.parent).filter(|outer| outer.parent != entry.parent);
        let is_element = outer.and_then(|outer| list.entry(outer.parent)).is_some_and(is_array);
        let best = scores.get(entry.parent as usize).copied().unwrap_or(0.0);
        if is_element && let Some(score) = scores.get_mut(number) {
            *score = score.max(best);
        }
    }
}

fn is_array(entry: &Entry) -> bool {
    entry.kind == EntryKind::Array
}

/// Returns a text in which escapes are spaces, so that no letter of an escape is one of a word.
fn without_escapes<'a>(text: &'a [u8], plain: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(b'\\', text).is_none() {
        return text;
    }
    plain.clear();
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        plain.extend_from_slice(rest.get(..at).unwrap_or_default());
        plain.push(b' ');
        let skipped = if rest.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        rest = rest.get(at + skipped..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    plain
}
