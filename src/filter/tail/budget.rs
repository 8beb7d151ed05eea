//! The budget: the longest prefix of items that fits with all that surrounds them; without items, shorter strings (seed:
//! kimbap's `_budget`; SPEC §6).
//!
//! Knows bytes of the frame (everything around the items) and of items; no JSON but for strings that are cut. Holds at most
//! the budget, and a piece of what comes: an item that cannot fit is not kept, nor is any behind it.

use super::cut::Cutter;
use crate::error::{Error, Raise};
use crate::filter::hold::Hold;
use crate::limits::{Limits, Meter};
use crate::sink::Sink;
use crate::spec;
#[cfg(feature = "tokens")]
use crate::tokens::Counter;
use crate::work::{self, Work, words};

/// Bytes that may come at once, on top of what is allowed to wait: a piece, and what the writer had gathered.
const AT_ONCE: u64 = 2 * super::PIECE as u64;

#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes that are left at most.
    limit: u64,
    /// What strings are cut by at first: half as many characters.
    count: u64,
    /// Tokens that are left at most, where tokens are counted.
    #[cfg(feature = "tokens")]
    tokens: Option<u64>,
    /// Items that stay, whatever comes.
    min_items: u64,
    /// The call's, and those with room for what is about to be dropped.
    limits: Limits,
    roomy: Limits,
    meter: Meter,
    /// All around the items, and those that stay.
    frame: Hold,
    /// Where in the frame the other items belong.
    slot: u64,
    /// Other items, with a newline behind each that is complete: no minified JSON has one.
    items: Hold,
    /// Items that have begun and were not left out at once.
    begun: u64,
    /// No more items are kept.
    closed: bool,
    /// The payload is an array; of its items so many were kept, once that is known.
    kept: Option<u64>,
    cutter: Option<Cutter>,
}

impl Budget {
    pub(super) fn new(budget: spec::Budget, min_items: u64, limits: &Limits) -> Self {
        let (spec::Budget::Bytes(count) | spec::Budget::Tokens(count)) = budget;
        let roomy = match limits.spill() {
            0 => limits.clone().with_held(limits.held().saturating_add(AT_ONCE)),
            spill => limits.clone().with_spill(spill.saturating_add(AT_ONCE)),
        };
        Self {
            limit: bytes_of(budget),
            count,
            #[cfg(feature = "tokens")]
            tokens: match budget {
                spec::Budget::Tokens(tokens) => Some(tokens),
                spec::Budget::Bytes(_) => None,
            },
            min_items,
            limits: limits.clone(),
            roomy,
            meter: Meter::default(),
            frame: Hold::default(),
            slot: 0,
            items: Hold::default(),
            begun: 0,
            closed: false,
            kept: None,
            cutter: None,
        }
    }

    /// The payload, an array, begins.
    pub(super) fn array(&mut self) {
        self.kept = Some(0);
    }

    /// Items that are kept, once the document is complete; `None`: the payload is no array.
    pub(super) fn kept(&self) -> Option<u64> {
        self.kept
    }

    /// The error of what could not be held.
    pub(super) fn place(&self, raise: Raise) -> Error {
        Hold::place(&self.limits, raise)
    }

    /// The most bytes that were held.
    pub(super) fn peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Bytes that were looked at to cut strings.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.cutter.as_ref().map_or(0, |cutter| cutter.work)
    }

    /// Bytes of the frame.
    pub(super) fn frame(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Raise> {
        let Self { roomy, meter, frame, cutter, .. } = self;
        if let Some(cutter) = cutter {
            return cutter.push(bytes, roomy, meter, sink);
        }
        frame.push(bytes, roomy, meter)?;
        self.check()?;
        let Self { limit, count, roomy, meter, frame, cutter, closed, .. } = self;
        if frame.len() > *limit {
            *closed = true;
            self.items.clear(meter);
            let cutter = cutter.insert(Cutter::new(*limit, *count));
            let mut frame = std::mem::take(frame);
            return frame.drain(
                meter,
                |meter, piece| cutter.push(piece, roomy, meter, sink).map(|()| true),
                |raise| raise,
            );
        }
        Ok(())
    }

    /// Whether more waits than may wait, as if bytes had come one by one: of what is over the budget, some goes.
    fn check(&mut self) -> Result<(), Raise> {
        let waits = self.frame.len() + self.items.len();
        let capacity = Hold::capacity(&self.limits);
        if waits > capacity && self.limit > capacity {
            return Err(Hold::overflow(&self.limits));
        }
        if waits > self.limit {
            self.closed = true;
        }
        Ok(())
    }

    /// An item begins; whether it may be kept.
    pub(super) fn begin_item(&mut self, sink: &mut dyn Sink) -> Result<bool, Raise> {
        let stays = self.begun < self.min_items;
        if self.closed && !stays {
            return Ok(false);
        }
        self.begun += 1;
        if !stays {
            if self.items.len() == 0 {
                self.slot = self.frame.len();
            }
        } else if self.begun > 1 {
            self.frame(b",", sink)?;
        }
        Ok(true)
    }

    /// Bytes of an item.
    pub(super) fn item(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Raise> {
        if self.begun <= self.min_items {
            return self.frame(bytes, sink);
        }
        if self.closed {
            return Ok(());
        }
        self.items.push(bytes, &self.roomy, &mut self.meter)?;
        self.check()
    }

    pub(super) fn end_item(&mut self) -> Result<(), Raise> {
        if self.begun > self.min_items && !self.closed {
            self.items.push(b"\n", &self.roomy, &mut self.meter)?;
        }
        Ok(())
    }

    /// The document is complete.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        let stay = self.begun.min(self.min_items);
        #[cfg(feature = "tokens")]
        self.fit_tokens(sink)?;
        if let Some(cutter) = &mut self.cutter {
            self.kept = self.kept.map(|_| stay);
            return cutter.end(&mut self.meter, sink);
        }
        let room = self.limit.saturating_sub(self.frame.len());
        let (count, bytes) = self.fitting(room, stay > 0)?;
        self.kept = self.kept.map(|_| stay + count);
        let Self { frame, items, slot, meter, .. } = self;
        let mut at = 0;
        let mut frame = std::mem::take(frame);
        let mut items = Some(std::mem::take(items));
        frame.drain(
            meter,
            |meter, piece| {
                let here = usize::try_from(slot.saturating_sub(at)).unwrap_or(usize::MAX);
                at += piece.len() as u64;
                let (before, behind) = piece.split_at(here.min(piece.len()));
                sink.write(before);
                if at >= *slot
                    && count > 0
                    && let Some(mut items) = items.take()
                {
                    if stay > 0 {
                        sink.write(b",");
                    }
                    join(&mut items, bytes, meter, sink)?;
                }
                sink.write(behind);
                Ok(!sink.is_closed())
            },
            |raise| raise,
        )
    }

    /// Of a frame with too many tokens strings are cut, once it is complete.
    #[cfg(feature = "tokens")]
    fn fit_tokens(&mut self, sink: &mut dyn Sink) -> Result<(), Raise> {
        let Some(tokens) = self.tokens else { return Ok(()) };
        let Self { limit, count, roomy, meter, frame, cutter, .. } = self;
        if cutter.is_none() && self::tokens(frame)? > tokens {
            let cutter = cutter.insert(Cutter::new(*limit, *count));
            frame.drain(
                meter,
                |meter, piece| cutter.push(piece, roomy, meter, sink).map(|()| true),
                |raise| raise,
            )?;
        }
        match cutter {
            Some(cutter) => cutter.fit_tokens(tokens, roomy, meter),
            None => Ok(()),
        }
    }

    /// How many items fit into `room`, a comma in front of the first or not, and what they take with their newlines.
    fn fitting(&mut self, room: u64, comma: bool) -> Result<(u64, u64), Raise> {
        // The last newline is no comma; that in front is one more.
        let room = if comma { room } else { room.saturating_add(1) };
        #[cfg(feature = "tokens")]
        let mut purse = match self.tokens {
            Some(limit) => Some(Purse::new(limit.saturating_sub(tokens(&mut self.frame)?), comma)),
            None => None,
        };
        let (mut count, mut bytes, mut at) = (0, 0, 0);
        self.items.visit(
            |piece| {
                work::count(Work::Tail, words(piece.len()));
                let mut from = 0;
                for newline in memchr::memchr_iter(b'\n', piece) {
                    let end = at + newline as u64 + 1;
                    #[cfg(feature = "tokens")]
                    if let Some(purse) = &mut purse
                        && !purse.pays(piece.get(from..newline).unwrap_or_default())
                    {
                        return Ok(false);
                    }
                    from = newline + 1;
                    if end > room {
                        return Ok(false);
                    }
                    count += 1;
                    bytes = end;
                }
                #[cfg(feature = "tokens")]
                if let Some(purse) = &mut purse {
                    purse.counter.push(piece.get(from..).unwrap_or_default());
                }
                #[cfg(not(feature = "tokens"))]
                let _ = from;
                at += piece.len() as u64;
                Ok(true)
            },
            |raise| raise,
        )?;
        Ok((count, bytes))
    }
}

/// What is left of a budget in tokens, item by item.
#[cfg(feature = "tokens")]
struct Purse {
    left: u64,
    counter: Counter,
    /// A comma is in front of the next item.
    comma: bool,
}

#[cfg(feature = "tokens")]
impl Purse {
    fn new(left: u64, comma: bool) -> Self {
        let mut purse = Self { left, counter: Counter::default(), comma };
        purse.begin();
        purse
    }

    fn begin(&mut self) {
        if self.comma {
            self.counter.push(b",");
        }
        self.comma = true;
    }

    /// Whether there are tokens for the item that ends with these bytes; then they are gone.
    fn pays(&mut self, end: &[u8]) -> bool {
        self.counter.push(end);
        let tokens = self.counter.finish();
        self.begin();
        let pays = tokens <= self.left;
        self.left = self.left.saturating_sub(tokens);
        pays
    }
}

/// The tokens of what waits.
#[cfg(feature = "tokens")]
pub(super) fn tokens(text: &mut Hold) -> Result<u64, Raise> {
    let mut counter = Counter::default();
    text.visit(
        |piece| {
            counter.push(piece);
            Ok(true)
        },
        |raise| raise,
    )?;
    Ok(counter.finish())
}

/// The bytes that a budget is at most.
fn bytes_of(budget: spec::Budget) -> u64 {
    match budget {
        spec::Budget::Bytes(bytes) => bytes,
        #[cfg(feature = "tokens")]
        spec::Budget::Tokens(tokens) => tokens.saturating_mul(crate::tokens::LONGEST),
        #[cfg(not(feature = "tokens"))]
        spec::Budget::Tokens(tokens) => tokens.saturating_mul(super::BYTES_PER_TOKEN),
    }
}

/// Writes the first items, which take so many bytes, with commas between them.
fn join(items: &mut Hold, bytes: u64, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Raise> {
    let mut left = usize::try_from(bytes.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut joined = Vec::new();
    items.drain(
        meter,
        |_, piece| {
            let piece = piece.get(..left).unwrap_or(piece);
            work::count(Work::Tail, words(piece.len()));
            left -= piece.len();
            joined.clear();
            joined.extend(piece.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
            sink.write(&joined);
            Ok(left > 0)
        },
        |raise| raise,
    )
}
