//! Applies a budget: keeps the longest prefix of items that fits together with everything around them, or else a
//! shorter form of the document (seed: kimbap's `_budget`; SPEC §6). The [module](super) has a diagram and an example.
//!
//! The budget deals with the bytes of items and of the *frame* (everything around the items), not with JSON. It holds
//! at most the budget and one piece of input. An item that cannot fit is not held, and neither are the items after
//! it. If the frame and the items that must be kept are too long, everything is passed to [`ShorterForms`].
//!
//! | bytes of | no budget | collecting (`forms` is `None`) | shorter forms |
//! |---|---|---|---|
//! | the frame | written | held in `frame` | passed on |
//! | an item that must be kept | written | held in `items` | passed on |
//! | any other item | written | held in `items`, unless `closed` | held in `optional`, unless `optional_cut` |
//! | a mark | written | added at the end | passed on as a note |

use tamis_json::error::{Error, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::test_work::{self, WorkKind, words};

use super::notes;
use super::omission::{MarkNames, Omission, element};
use super::shorten::{OverflowMode, ShorterForms};
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::payload_length::{PayloadItems, PayloadLength};
use crate::spec::{self, Omitted, OnOver};

/// The number of bytes that may arrive at once, in addition to the limit: one piece, and what the writer had
/// buffered.
const AT_ONCE: u64 = 2 * super::size::PIECE as u64;

/// The state of the budget for one document. Without a budget it only adds the mark of `max_items`.
#[derive(Debug)]
pub(super) struct ItemBudget {
    /// The budget, `min_items`, and which omissions are marked.
    pub(super) policy: SizePolicy,
    /// The largest size of the output in bytes, also for a budget in tokens.
    limit: u64,
    /// The call's limits, and limits with room for the piece that is about to be dropped.
    limits: Limits,
    roomy: Limits,
    /// Charged for `frame`, `items` and the held form.
    pub(super) meter: Meter,
    /// Everything around the items, until there are shorter forms.
    pub(super) frame: Hold,
    /// Positions in the frame, as offsets in ascending order.
    pub(super) points: Vec<(u64, FramePoint)>,
    /// The items, each after a newline. Minified JSON contains no newlines.
    pub(super) items: Hold,
    /// The number of items that have begun, and of complete ones.
    begun: u64,
    pub(super) complete: u64,
    /// The size of the complete items, and of those that must be kept.
    pub(super) complete_bytes: u64,
    pub(super) stay: u64,
    /// No more items are held, because they cannot fit. The item that was begun last may be incomplete.
    closed: bool,
    /// Items arrive only while it is `Open`. Set by [`array`](Self::array) and [`end_array`](Self::end_array).
    array: ArrayState,
    /// The mark is a member of the object around the payload. `taken`: the members of that object with the name of a
    /// mark.
    in_object: bool,
    taken: MarkNames,
    /// Counts the items that earlier rules left out.
    length: PayloadLength,
    /// Receives everything once the frame and the items that must be kept are too long. Never reset to `None`.
    forms: Option<ShorterForms>,
    /// The items after those that must be kept, while they are no longer than a mark. Longer ones are left out.
    optional: Vec<u8>,
    optional_cut: bool,
    /// Items were left out without a shorter form. Known at the end.
    cut: bool,
    /// The text of the payload's mark.
    mark: Option<String>,
}

/// A position in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FramePoint {
    /// The start of a container on the path to the payload, or of the payload itself.
    OnPath,
    Payload,
    /// The position of the items.
    Items,
    /// The position of their mark.
    Mark,
}

/// The state of the payload, if it is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayState {
    /// The payload is not an array, or has not begun.
    None,
    Open,
    Ended,
}

impl ItemBudget {
    /// Creates the budget of one document. `length`: counters that the stage on items sets.
    pub(super) fn new(policy: SizePolicy, length: &PayloadLength, limits: &Limits) -> Self {
        let roomy = match limits.spill() {
            0 => limits.clone().with_held(limits.held().saturating_add(AT_ONCE)),
            spill => limits.clone().with_spill(spill.saturating_add(AT_ONCE)),
        };
        Self {
            policy,
            limit: policy.most_bytes(),
            limits: limits.clone(),
            roomy,
            meter: Meter::default(),
            frame: Hold::default(),
            points: Vec::new(),
            items: Hold::default(),
            begun: 0,
            complete: 0,
            complete_bytes: 0,
            stay: 0,
            closed: false,
            array: ArrayState::None,
            in_object: false,
            taken: MarkNames::default(),
            length: length.clone(),
            forms: None,
            optional: Vec::new(),
            optional_cut: false,
            cut: false,
            mark: None,
        }
    }

    /// Records a position in the frame. It is between the bytes passed so far and the next ones.
    pub(super) fn point(&mut self, point: FramePoint, sink: &mut dyn Sink) -> Result<(), Raise> {
        match (point, &self.forms) {
            _ if self.policy.budget.is_none() => {
                if point == FramePoint::Mark
                    && let Some(text) = self.mark_text(self.begun)
                {
                    sink.write(text.as_bytes());
                }
            }
            (_, None) => self.points.push((self.frame.len(), point)),
            (FramePoint::OnPath, Some(_)) => self.shorter(&[notes::WAY], sink)?,
            (FramePoint::Payload, Some(_)) => self.shorter(&[notes::PAYLOAD], sink)?,
            (FramePoint::Items, Some(_)) => {}
            (FramePoint::Mark, Some(_)) => self.note_mark(sink)?,
        }
        Ok(())
    }

    /// Starts the payload, an array. `in_object`: it is a member.
    pub(super) fn array(&mut self, in_object: bool, sink: &mut dyn Sink) -> Result<(), Raise> {
        self.array = ArrayState::Open;
        self.in_object = in_object;
        self.point(FramePoint::Items, sink)
    }

    /// Records a member next to the payload by its spelled key. The name of the mark must differ from it.
    pub(super) fn sibling(&mut self, key: &[u8]) {
        self.taken.add(key);
    }

    /// Ends the payload. Optional items that are not longer than a mark are kept.
    pub(super) fn end_array(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        self.array = ArrayState::Ended;
        if self.forms.is_some() && !self.optional_cut {
            let later = std::mem::take(&mut self.optional);
            // There is no comma before the first item.
            let from = usize::from(self.policy.min_items == 0);
            self.shorter(later.get(from..).unwrap_or_default(), sink)?;
        }
        Ok(())
    }

    /// Returns the number of items kept in the complete document, or `None` if the payload is not an array.
    pub(super) fn kept(&self) -> Option<u64> {
        (self.array != ArrayState::None)
            .then(|| if self.forms.is_none() { self.complete } else { self.in_forms() })
    }

    /// Returns whether the output is limited, and not only marked.
    pub(super) fn has_limit(&self) -> bool {
        self.policy.budget.is_some()
    }

    /// Returns whether the budget left something out.
    pub(super) fn has_cut(&self) -> bool {
        self.cut || self.optional_cut || self.forms.as_ref().is_some_and(ShorterForms::has_cut)
    }

    /// Returns whether the output is too long even so.
    pub(super) fn is_exceeded(&self) -> bool {
        self.forms.as_ref().is_some_and(ShorterForms::is_exceeded)
    }

    /// Returns the position of the payload in a shorter form, where it may differ.
    pub(super) fn steps(&self) -> Option<&[u64]> {
        self.forms.as_ref().filter(|_| self.array != ArrayState::None).map(ShorterForms::steps)
    }

    /// Returns the text of the payload's mark, if there is one.
    pub(super) fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    /// Returns the length of the payload's mark with its name, if only whole items were left out.
    pub(super) fn prefix_mark(&self) -> Option<u64> {
        let mark = || self.mark_text(self.complete).map_or(0, |text| text.len() as u64);
        self.forms.is_none().then(mark)
    }

    /// Places the error of bytes that could not be held.
    pub(super) fn place(&self, raise: Raise) -> Error {
        Hold::place(&self.limits, raise)
    }

    /// Returns the largest number of bytes held.
    pub(super) fn peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Returns the number of bytes read to make shorter forms.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.forms.as_ref().map_or(0, |forms| forms.work)
    }

    /// Adds bytes of the frame, and switches to shorter forms if they are too long.
    pub(super) fn frame(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Raise> {
        if self.policy.budget.is_none() {
            sink.write(bytes);
        } else if self.forms.is_some() {
            self.shorter(bytes, sink)?;
        } else {
            self.frame.push(bytes, &self.roomy, &mut self.meter)?;
            self.check(sink)?;
        }
        Ok(())
    }

    /// Starts an item and writes or holds its separator. Returns whether it may be kept. If not, no later item may.
    pub(super) fn begin_item(&mut self, sink: &mut dyn Sink) -> Result<bool, Raise> {
        let stays = self.begun < self.policy.min_items;
        if !stays && (self.closed || self.optional_cut) {
            return Ok(false);
        }
        self.begun += 1;
        if self.policy.budget.is_none() {
            if self.begun > 1 {
                sink.write(b",");
            }
        } else if self.forms.is_none() {
            self.items.push(b"\n", &self.roomy, &mut self.meter)?;
            self.check(sink)?;
        } else if stays {
            if self.begun > 1 {
                self.shorter(b",", sink)?;
            }
        } else {
            self.add_optional(b",");
        }
        Ok(stays || !(self.closed || self.optional_cut))
    }

    /// Adds bytes of the item that was begun last. Bytes of an item that is not kept are ignored.
    pub(super) fn item(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Raise> {
        let stays = self.begun <= self.policy.min_items;
        if self.policy.budget.is_none() {
            sink.write(bytes);
            return Ok(());
        }
        match (&self.forms, stays) {
            (_, false) if self.closed || self.optional_cut => Ok(()),
            (None, _) => {
                self.items.push(bytes, &self.roomy, &mut self.meter)?;
                self.check(sink)
            }
            (Some(_), true) => self.shorter(bytes, sink),
            (Some(_), false) => {
                self.add_optional(bytes);
                Ok(())
            }
        }
    }

    /// Ends an item. It can be part of a prefix if all of it is held.
    pub(super) fn end_item(&mut self) {
        let stays = self.begun <= self.policy.min_items;
        if stays || !self.closed {
            self.complete = self.begun;
            self.complete_bytes = self.items.len();
        }
        if stays {
            // The first `min_items` items.
            self.stay = self.complete_bytes;
        }
    }

    /// Ends the document: writes the longest prefix that fits, or the shorter form.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        if self.policy.budget.is_none() {
            self.complete = self.begun;
            self.mark = self.mark_body(self.begun);
            return Ok(());
        }
        if self.forms.is_none() {
            // Shorter forms are only needed if not even the items that must be kept fit with their mark.
            if let Some((count, bytes, mark)) = self.fitting()? {
                self.cut = count < self.came();
                self.complete = count;
                self.mark = self.mark_body(count);
                return self.write(bytes, mark.as_deref(), sink);
            }
            self.enter(sink)?;
        }
        let Self { forms: Some(forms), policy, roomy, meter, .. } = self else { return Ok(()) };
        if let Some(limit) = policy.token_limit() {
            forms.fit_tokens(limit, roomy, meter)?;
        }
        forms.end(meter, sink)
    }

    /// Returns the largest size of the output in bytes.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of items in the input, as far as it is known: that of the stage on items, which also counts
    /// items that this stage did not read.
    pub(super) fn came(&self) -> u64 {
        self.length.get().map_or(self.begun, |items| items.kept)
    }

    /// Returns the number of items that are kept whatever the budget.
    pub(super) fn least(&self) -> u64 {
        self.policy.min_items.min(self.came())
    }

    /// Returns the number of items in the shorter forms.
    fn in_forms(&self) -> u64 {
        if self.optional_cut { self.policy.min_items } else { self.begun }
    }

    /// Returns the content of the mark for `kept` items, or `None` if the policy wants none for this number.
    fn mark_body(&self, kept: u64) -> Option<String> {
        let came = self.came();
        let PayloadItems { seen, more, .. } =
            self.length.get().unwrap_or(PayloadItems { seen: came, kept: came, more: false });
        let of = seen.max(came);
        let marked = match self.policy.omitted {
            _ if self.policy.lines => false,
            Some(Omitted::Silent) => false,
            Some(Omitted::Mark) => kept < of,
            None => kept < came,
        };
        let omission = Omission { omitted: of.saturating_sub(kept), of, more };
        (self.array != ArrayState::None && marked).then(|| omission.items())
    }

    /// Returns the full text of that mark.
    pub(super) fn mark_text(&self, kept: u64) -> Option<String> {
        let body = self.mark_body(kept)?;
        let mut taken = self.taken;
        Some(if self.in_object { taken.member(&body, false) } else { element(&body, kept == 0) })
    }

    /// Returns whether a mark would not be shorter than the `items` that it replaces, which have this many bytes.
    fn is_short(&self, bytes: u64, items: u64) -> bool {
        let omission = Omission { omitted: items, of: self.begun, more: false };
        let room = match self.in_object {
            _ if !self.marks() || self.policy.lines => 0,
            true => omission.length_in_object(),
            false => omission.length(),
        };
        bytes <= room as u64
    }

    fn marks(&self) -> bool {
        self.policy.omitted != Some(Omitted::Silent)
    }

    /// Checks the limit and the budget after bytes were held, as if they had arrived one by one. Drops items over the
    /// budget, and switches to shorter forms if the rest is still too long.
    fn check(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        let items = self.items.len();
        // There is no comma for the first newline.
        let waits = self.frame.len() + items.saturating_sub(1);
        let capacity = Hold::capacity(&self.limits);
        // The call's limits are smaller than the budget.
        if waits > capacity && self.limit > capacity {
            return Err(Hold::overflow(&self.limits));
        }
        let all_stay = self.begun <= self.policy.min_items;
        let count = self.begun.saturating_sub(self.policy.min_items);
        // The output would not become shorter without items that are not longer than their mark.
        if waits > self.limit && !all_stay && !self.is_short(items - self.stay, count) {
            self.closed = true;
        }
        let stay = if all_stay { items } else { self.stay };
        // Not even without the other items.
        if self.frame.len() + stay.saturating_sub(1) > self.limit {
            self.enter(sink)?;
        }
        Ok(())
    }

    /// Adds to the items after those that must be kept. Once they are longer than a mark, all of them are left out.
    fn add_optional(&mut self, bytes: &[u8]) {
        let count = self.begun.saturating_sub(self.policy.min_items);
        if self.is_short((self.optional.len() + bytes.len()) as u64, count) {
            self.optional.extend_from_slice(bytes);
        } else {
            self.optional.clear();
            self.optional_cut = true;
        }
    }

    /// Passes text on to the shorter forms.
    fn shorter(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Raise> {
        let Self { forms, roomy, meter, .. } = self;
        forms.as_mut().map_or(Ok(()), |forms| forms.push(bytes, roomy, meter, sink))
    }

    /// Passes the content of the mark on to the shorter forms, which choose its name.
    fn note_mark(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        self.mark = self.mark_body(self.in_forms());
        let Some(body) = &self.mark else { return Ok(()) };
        let mut note = Vec::new();
        notes::span(&mut note, notes::ITEMS, body.as_bytes());
        self.shorter(&note, sink)
    }

    /// Switches to shorter forms, and passes all held bytes on to them, with their points as notes.
    fn enter(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        let Some(spec::Budget::Bytes(count) | spec::Budget::Tokens(count)) = self.policy.budget
        else {
            return Ok(());
        };
        let over = match self.policy.on_over {
            OnOver::Warn => OverflowMode::Stream,
            OnOver::Error => OverflowMode::Drop,
        };
        // Frame, points and meter are taken out of `self`, which `hand_on` borrows.
        self.forms = Some(ShorterForms::new(self.limit, count, self.marks(), over));
        let mut frame = std::mem::take(&mut self.frame);
        let mut points = std::mem::take(&mut self.points).into_iter().peekable();
        let mut meter = std::mem::take(&mut self.meter);
        let mut at = 0;
        let drained = frame.drain(
            &mut meter,
            |_, mut piece| {
                // The part of the piece before the point, then the point.
                while let Some((place, point)) =
                    points.next_if(|(place, _)| *place < at + piece.len() as u64)
                {
                    let before = usize::try_from(place - at).unwrap_or(usize::MAX);
                    let (now, later) = piece.split_at(before.min(piece.len()));
                    self.shorter(now, sink)?;
                    self.hand_on(point, sink)?;
                    (at, piece) = (place, later);
                }
                at += piece.len() as u64;
                self.shorter(piece, sink).map(|()| true)
            },
            |raise| raise,
        );
        self.meter.absorb(&meter);
        drained?;
        points.try_for_each(|(_, point)| self.hand_on(point, sink))?;
        self.items.clear(&mut self.meter);
        Ok(())
    }

    /// Passes a point on to the shorter forms. At [`FramePoint::Items`] these are the held items.
    fn hand_on(&mut self, point: FramePoint, sink: &mut dyn Sink) -> Result<(), Raise> {
        if point != FramePoint::Items {
            return self.point(point, sink);
        }
        let all_stay = self.begun <= self.policy.min_items;
        let (stay, all) = if all_stay {
            (self.items.len(), self.items.len())
        } else {
            (self.stay, self.items.len())
        };
        let count = self.begun.saturating_sub(self.policy.min_items);
        self.optional_cut = self.closed || !self.is_short(all - stay, count);
        let mut items = std::mem::take(&mut self.items);
        let mut text = Vec::new();
        // While the array is open, items after those that must be kept are optional, and may still grow too long.
        let upto = if self.optional_cut || self.array == ArrayState::Open { stay } else { all };
        each_part(&mut items, 1, upto, |piece| {
            joined(piece, &mut text);
            self.shorter(&text, sink).map(|()| true)
        })?;
        if !self.optional_cut && self.array == ArrayState::Open {
            let mut later = Vec::new();
            each_part(&mut items, stay, all, |piece| {
                joined(piece, &mut text);
                later.extend_from_slice(&text);
                Ok(true)
            })?;
            self.optional = later;
        }
        self.items = items;
        Ok(())
    }

    /// Writes the frame with the first `bytes` of the held items and their mark. Releases both holds.
    fn write(&mut self, bytes: u64, mark: Option<&str>, sink: &mut dyn Sink) -> Result<(), Raise> {
        let Self { frame, items, points, meter, .. } = self;
        let mut points = std::mem::take(points).into_iter().peekable();
        let mut frame = std::mem::take(frame);
        let mut at = 0;
        let mut text = Vec::new();
        let mut tell = |point: FramePoint, sink: &mut dyn Sink| match (point, mark) {
            (FramePoint::Items, _) => each_part(items, 1, bytes, |piece| {
                joined(piece, &mut text);
                sink.write(&text);
                Ok(!sink.is_closed())
            }),
            (FramePoint::Mark, Some(mark)) => {
                sink.write(mark.as_bytes());
                Ok(())
            }
            _ => Ok(()),
        };
        frame.drain(
            meter,
            |_, mut piece| {
                while let Some((place, point)) =
                    points.next_if(|(place, _)| *place < at + piece.len() as u64)
                {
                    let before = usize::try_from(place - at).unwrap_or(usize::MAX);
                    let (now, later) = piece.split_at(before.min(piece.len()));
                    sink.write(now);
                    tell(point, sink)?;
                    (at, piece) = (place, later);
                }
                at += piece.len() as u64;
                sink.write(piece);
                Ok(!sink.is_closed())
            },
            |raise| raise,
        )?;
        items.clear(meter);
        Ok(())
    }
}

/// Passes on the bytes of a hold between two offsets. Reads the pieces from the start up to `to`.
pub(super) fn each_part(
    hold: &mut Hold,
    from: u64,
    to: u64,
    mut take: impl FnMut(&[u8]) -> Result<bool, Raise>,
) -> Result<(), Raise> {
    let mut at = 0;
    if from >= to {
        return Ok(());
    }
    hold.visit(
        |piece| {
            let clip = |place: u64| {
                let place = usize::try_from(place.saturating_sub(at)).unwrap_or(usize::MAX);
                place.min(piece.len())
            };
            let part = piece.get(clip(from)..clip(to)).unwrap_or_default();
            at += piece.len() as u64;
            Ok((part.is_empty() || take(part)?) && at < to)
        },
        |raise| raise,
    )
}

/// Writes a part of the held items to `text`, with commas in place of newlines.
fn joined(piece: &[u8], text: &mut Vec<u8>) {
    test_work::count(WorkKind::Tail, words(piece.len()));
    text.clear();
    text.extend(piece.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
}
