//! Takes the verdicts of `where` for the elements of the payload.

use super::tester::ItemVerdict;
use super::{Cx, ItemsState};
use crate::error::{LimitName, Raise};
use crate::filter::run::stage::ReadAhead as _;
use crate::json::{Interest, ValueKind};

impl ItemsState {
    /// Tests an item. Returns the interest in it if it is dropped or undecided.
    pub(super) fn tested(&mut self, cx: &Cx<'_>) -> Result<Option<Interest>, Raise> {
        let Some(tester) = &mut self.tester else { return Ok(None) };
        let Some((verdict, at)) = tester.next() else {
            tester.is_awaited = true;
            return Ok(Some(Interest::Stop));
        };
        self.tested_at = at.max(cx.offset);
        match verdict {
            ItemVerdict::Keep => Ok(None),
            ItemVerdict::Drop => {
                self.counts.dropped += 1;
                Ok(Some(Interest::Skip))
            }
            ItemVerdict::TooLarge => Err(too_large(self.limits.item())),
        }
    }

    /// Returns whether the tester has to begin at the payload, before the stage enters it.
    pub(super) fn must_test(&mut self, kind: ValueKind) -> bool {
        match &mut self.tester {
            Some(tester) if kind == ValueKind::Array && !tester.has_begun() => {
                tester.is_awaited = true;
                true
            }
            _ => false,
        }
    }
}

/// Returns the error of an item that is too large to wait for.
fn too_large(limit: u64) -> Raise {
    let message =
        format!("an item tested by `where` needs more than {limit} bytes until it is decided");
    Raise::limit(LimitName::Item, message)
}
