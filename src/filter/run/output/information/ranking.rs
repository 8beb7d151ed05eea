//! [`Ranking`]: the order in which parts are kept, as long as there is room.
//!
//! ```text
//! long strings, no array, or
//! few items would fit         failures in long strings ▸ the other parts, by score
//! else                        what is around the items ▸ items, evenly spread, with the ends of their long strings and the
//!                             failures in them ▸ the other segments of long strings, by score
//! ```
//!
//! A choice is a number of parts: those with a lower rank are kept. So each choice is a part of the next one. Before all others
//! comes a part of each item that must be kept.

use tamis_json::test_work::{WorkKind, count};

use super::document::{Entry, EntryKind, ValueList, fact};
use crate::report::{KeptParts, KeptReason};

/// Long strings that are at least this part of the document, in percent, compete with all other parts.
const LONG_STRINGS: u64 = 35;

/// Where fewer items would fit, parts of more of them say more.
const FEW_ITEMS: u64 = 4;

/// Items that follow each other are spread together until they have this many bytes.
const SHORT_ITEMS: u64 = 64;

/// The rank of what is never reached.
const NEVER: u32 = u32::MAX;

/// Why a part has its rank. The order is that of the ranks.
#[derive(Clone, Copy, Debug)]
enum Class {
    Failure,
    Around,
    Item(u32),
    Score,
}

/// The place of a part in the order of ranks, as one number: its class, then its score, then whether it is an identity, then where
/// it is.
///
/// ```text
/// bits    99..65   64..33             32               31..0
///         class    falling score      not an identity  part
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u128);

impl Place {
    fn new(class: Class, part: u32) -> Self {
        let class = match class {
            Class::Failure => 0,
            Class::Around => 1,
            Class::Item(place) => 2 + u128::from(place),
            Class::Score => 1 << 33,
        };
        Self(class << 65 | u128::from(part))
    }

    fn refine(&mut self, score: f32, is_identity: bool) {
        // The bits of a score in the order of its value, and of its sign.
        let bits = score.to_bits();
        let rising = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        self.0 |= u128::from(!rising) << 33 | u128::from(!is_identity) << 32;
    }

    fn part(self) -> u32 {
        self.0 as u32
    }
}

/// The ranks of all entries.
#[derive(Debug)]
pub(super) struct Ranking {
    /// A container is shown with its first part, and whole with its last one.
    first: Vec<u32>,
    last: Vec<u32>,
    /// The bytes of the parts up to each rank.
    sums: Vec<u64>,
    /// The number of parts, and of those that must be kept.
    pub(super) parts: u32,
    pub(super) least: u32,
    /// The array whose items are spread.
    spread: Option<u32>,
}

impl Ranking {
    /// `room`: the bytes of a choice. `items`: how many items of the payload must be kept. `is_marked`: the payload has a mark
    /// in any case.
    pub(super) fn new(
        list: &ValueList,
        scores: &[f32],
        room: u64,
        items: u64,
        is_marked: bool,
    ) -> Self {
        let spread = spread_array(list, room);
        let mut order = classes(list, spread);
        for place in &mut order {
            let part = place.part();
            let score = scores.get(part as usize).copied().unwrap_or(0.0);
            let is_identity = list.entry(part).is_some_and(|entry| entry.has(fact::IDENTITY));
            place.refine(score, is_identity);
        }
        let work = order.len() * (order.len().max(1).ilog2() as usize + 1);
        count(WorkKind::Tail, work);
        order.sort_unstable();
        let entries = list.entries.len();
        let mut ranking = Self {
            first: vec![NEVER; entries],
            last: vec![0; entries],
            sums: Vec::with_capacity(order.len()),
            parts: 0,
            least: 0,
            spread,
        };
        for part in needed(list, scores, items) {
            ranking.add(list, part);
        }
        ranking.least = ranking.parts;
        for place in order {
            ranking.add(list, place.part());
        }
        ranking.raise(list, is_marked);
        ranking
    }

    /// Returns the number of parts with at most `bytes` bytes together. More of them never fit.
    pub(super) fn within(&self, bytes: u64) -> u32 {
        self.sums.partition_point(|sum| *sum <= bytes) as u32
    }

    /// Returns the bytes of the first `parts`.
    pub(super) fn bytes(&self, parts: u32) -> u64 {
        let last = (parts as usize).checked_sub(1).and_then(|last| self.sums.get(last));
        last.copied().unwrap_or(0)
    }

    /// Gives the next rank to a part.
    fn add(&mut self, list: &ValueList, part: u32) {
        let at = part as usize;
        if let (Some(first), Some(last)) = (self.first.get_mut(at), self.last.get_mut(at))
            && *first == NEVER
        {
            (*first, *last) = (self.parts, self.parts);
            self.parts += 1;
            let bytes = list.entry(part).map_or(0, Entry::bytes);
            self.sums.push(self.sums.last().copied().unwrap_or(0) + bytes);
        }
    }

    /// Gives containers the ranks of their parts. The outermost one is always shown.
    fn raise(&mut self, list: &ValueList, is_marked: bool) {
        count(WorkKind::Tail, list.entries.len());
        for (number, entry) in list.entries.iter().enumerate().skip(1).rev() {
            let Some((first, last)) = self.first.get(number).zip(self.last.get(number)) else {
                continue;
            };
            let is_marked = is_marked && list.payload == Some(number as u32);
            let (first, last) = if is_marked { (0, NEVER) } else { (*first, *last) };
            self.set_last(number, last);
            let outer = entry.parent as usize;
            if let Some(outer_first) = self.first.get_mut(outer) {
                *outer_first = first.min(*outer_first);
            }
            self.set_last(outer, last.max(self.last.get(outer).copied().unwrap_or(0)));
        }
        if let Some(first) = self.first.first_mut() {
            *first = 0;
        }
        if is_marked && list.payload == Some(0) {
            self.set_last(0, NEVER);
        }
    }

    fn set_last(&mut self, number: usize, rank: u32) {
        if let Some(last) = self.last.get_mut(number) {
            *last = rank;
        }
    }

    /// Returns why the parts that are shown were kept.
    pub(super) fn reasons(&self, list: &ValueList, parts: u32) -> Vec<KeptParts> {
        let mut reasons: Vec<(KeptParts, Vec<u32>)> = Vec::new();
        for (number, entry) in list.entries.iter().enumerate() {
            let number = number as u32;
            if !entry.is_leaf() || !self.is_shown(number, parts) {
                continue;
            }
            let reason = self.reason(list, number, entry);
            let known = reasons.iter().position(|(kept, _)| kept.reason == reason);
            let at = known.unwrap_or(reasons.len());
            if known.is_none() {
                reasons.push((KeptParts::new(reason), Vec::new()));
            }
            let Some((kept, places)) = reasons.get_mut(at) else { continue };
            kept.parts += 1;
            kept.bytes += entry.bytes();
            if kept.has_more {
                continue;
            }
            let place = self.place(list, number, reason);
            if places.last() == Some(&place) {
                continue;
            }
            kept.has_more = places.len() == KeptParts::MOST_PLACES;
            if !kept.has_more {
                places.push(place);
                kept.at.push(list.pointer(place));
            }
        }
        reasons.into_iter().map(|(kept, _)| kept).collect()
    }

    fn reason(&self, list: &ValueList, number: u32, entry: &Entry) -> KeptReason {
        let is_end = entry.kind != EntryKind::Segment || entry.has(fact::END);
        let array = self.spread.and_then(|array| Some((array, list.entry(array)?)));
        match array {
            _ if is_end && entry.kind == EntryKind::Segment => KeptReason::End,
            _ if entry.has(fact::FAILURE) => KeptReason::Failure,
            Some((at, array)) if is_end && number > at && number < array.next => KeptReason::Spread,
            Some(_) if is_end => KeptReason::Around,
            _ if entry.has(fact::ASKED) => KeptReason::Query,
            _ => KeptReason::Information,
        }
    }

    /// Returns the value that says where a part is: its string, or its item.
    fn place(&self, list: &ValueList, number: u32, reason: KeptReason) -> u32 {
        let parent = |number: u32| list.entry(number).map_or(0, |entry| entry.parent);
        let mut place = number;
        if reason == KeptReason::Spread {
            while place > 0 && Some(parent(place)) != self.spread {
                place = parent(place);
            }
        } else if list.entry(number).is_some_and(|entry| entry.kind == EntryKind::Segment) {
            place = parent(number);
        }
        place
    }

    /// Whether an entry, or anything in it, is among the first `parts`.
    pub(super) fn is_shown(&self, number: u32, parts: u32) -> bool {
        self.first.get(number as usize).is_some_and(|rank| *rank < parts)
    }

    /// Whether everything in an entry is.
    pub(super) fn is_whole(&self, number: u32, parts: u32) -> bool {
        self.last.get(number as usize).is_some_and(|rank| *rank < parts)
    }
}

/// Returns the place of each part by its class.
fn classes(list: &ValueList, array: Option<u32>) -> Vec<Place> {
    let mut order = Vec::with_capacity(list.entries.len());
    let places = array.map(|array| spread(list, array)).unwrap_or_default();
    let end = array.and_then(|array| list.entry(array)).map_or(0, |entry| entry.next);
    let mut children = places.iter();
    let mut place = 0;
    for (number, entry) in list.entries.iter().enumerate() {
        let number = number as u32;
        let is_inside = array.is_some_and(|array| number > array && number < end);
        if is_inside && Some(entry.parent) == array {
            place = children.next().copied().unwrap_or(NEVER);
        }
        if entry.is_leaf() {
            let is_kept = entry.has(fact::END | fact::FAILURE);
            let is_middle = entry.kind == EntryKind::Segment && !is_kept;
            let class = match array {
                None if entry.has(fact::FAILURE) => Class::Failure,
                None => Class::Score,
                Some(_) if is_middle => Class::Score,
                Some(_) if is_inside => Class::Item(place),
                Some(_) => Class::Around,
            };
            order.push(Place::new(class, number));
        }
    }
    order
}

/// Returns the array whose items are spread: the payload, or else the largest one of the document, if it is most of the document
/// and long strings are not.
fn spread_array(list: &ValueList, room: u64) -> Option<u32> {
    let all = list.text.len() as u64;
    if list.long_bytes * 100 >= all * LONG_STRINGS {
        return None;
    }
    let is_most = |entry: &Entry| {
        entry.kind == EntryKind::Array
            && entry.children > 1
            && entry.bytes() * 2 > all
            && all - entry.bytes() <= room / 3
            && entry.bytes() / u64::from(entry.children) * FEW_ITEMS <= room
    };
    // The innermost container with most of the bytes that is an array with several elements, from outside in.
    let entries = list.entries.iter().enumerate();
    let found = |(number, entry): (usize, &Entry)| is_most(entry).then_some(number as u32);
    let payload = list.payload.filter(|at| list.entry(*at).is_some_and(is_most));
    payload.or_else(|| entries.clone().find_map(found))
}

/// Returns the place of each child of an array in the order in which the first ones are always evenly spread: 0, 4, 2, 6, 1, 5,
/// 3, 7. Short children that follow each other have one place, since the mark names each gap.
fn spread(list: &ValueList, array: u32) -> Vec<u32> {
    let Some(entry) = list.entry(array) else { return Vec::new() };
    let children = list.children(array, entry).count() as u64;
    let together = (SHORT_ITEMS * children / entry.bytes().max(1)).max(1);
    let blocks = children.div_ceil(together);
    let bits = u64::BITS - blocks.saturating_sub(1).leading_zeros();
    let mut places = vec![NEVER; blocks as usize];
    let mut next = 0;
    for turn in 0..1u64 << bits {
        let block = if bits == 0 { 0 } else { turn.reverse_bits() >> (u64::BITS - bits) };
        if let Some(place) = places.get_mut(block as usize) {
            *place = next;
            next += 1;
        }
    }
    let of_child = |child: u64| places.get((child / together) as usize).copied().unwrap_or(NEVER);
    (0..children).map(of_child).collect()
}

/// Returns the best part of each of the first items of the payload.
fn needed(list: &ValueList, scores: &[f32], items: u64) -> Vec<u32> {
    let mut needed = Vec::new();
    let Some((payload, entry)) = list.payload.and_then(|at| Some((at, list.entry(at)?))) else {
        return needed;
    };
    for child in list.children(payload, entry) {
        let Some(item) = list.entry(child).filter(|item| u64::from(item.first) < items) else {
            break;
        };
        let score = |at: &u32| scores.get(*at as usize).copied().unwrap_or(0.0);
        let parts = (child..item.next.max(child + 1))
            .filter(|at| list.entry(*at).is_some_and(Entry::is_leaf));
        // The first of the best ones.
        count(WorkKind::Tail, (item.next.max(child + 1) - child) as usize);
        needed.extend(parts.rev().max_by(|one, other| score(one).total_cmp(&score(other))));
    }
    needed
}
