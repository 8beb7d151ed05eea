//! The survey of a document from which items were left out at the end of one array.
//!
//! ```text
//! whole      {"a":[…],"items":[1,2,3,4],"b":[…]}
//! shortened  {"a":[…],"items":[1,2],"b":[…],"_omitted":{…}}
//!            ├── before ─────────┤├─ moved ─┤           ├ end
//! ```

use tamis_json::error::Raise;
use tamis_json::hold::Hold;

use super::{PlacedPlan, Survey};
use crate::FactorSkip;

/// Bytes that are compared at once.
const PIECE: u64 = 16 << 10;

impl Survey {
    /// Returns the reason for not factoring the document.
    #[must_use]
    pub fn skip(&self) -> Option<FactorSkip> {
        if self.reserved {
            return Some(FactorSkip::Names);
        }
        self.too_long.then_some(FactorSkip::Size)
    }

    /// Returns the survey of this document without some elements at the end of one array. `mark`: the length of the text
    /// that was added instead. All that the items shared stays written once, also if fewer items are left.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn shortened(&self, whole: &Hold, short: &Hold, mark: u64) -> Result<Self, Raise> {
        let removed = (whole.len() + mark).saturating_sub(short.len());
        let before = common_start(whole, short)?;
        let end = whole.len() - common_end(whole, short, short.len() - before)?;
        let place = |start: u64| {
            if start < before {
                Some(start)
            } else if start >= end {
                (start + short.len()).checked_sub(whole.len())
            } else {
                start.checked_sub(removed).filter(|moved| *moved >= before)
            }
        };
        let placed = self.plans.iter().filter_map(|placed| {
            let start = place(placed.start)?;
            Some(PlacedPlan { start, plan: placed.plan.clone() })
        });
        Ok(Self { plans: placed.collect(), ..*self })
    }
}

/// Returns the number of bytes with which both documents begin.
fn common_start(one: &Hold, other: &Hold) -> Result<u64, Raise> {
    let most = one.len().min(other.len());
    let mut common = 0;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while common < most {
        let count = usize::try_from(PIECE.min(most - common)).unwrap_or(0);
        read(one, common, count, &mut left)?;
        read(other, common, count, &mut right)?;
        let same = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
        common += same as u64;
        if same < count {
            break;
        }
    }
    Ok(common)
}

/// Returns the number of bytes with which both documents end, at most `most`.
fn common_end(one: &Hold, other: &Hold, most: u64) -> Result<u64, Raise> {
    let most = one.len().min(most);
    let mut common = 0;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while common < most {
        let count = PIECE.min(most - common);
        let length = usize::try_from(count).unwrap_or(0);
        read(one, one.len() - common - count, length, &mut left)?;
        read(other, other.len() - common - count, length, &mut right)?;
        let pairs = left.iter().rev().zip(right.iter().rev());
        let same = pairs.take_while(|(one, other)| one == other).count();
        common += same as u64;
        if same < length {
            break;
        }
    }
    Ok(common)
}

/// Replaces `into` with bytes of a document.
fn read(document: &Hold, at: u64, count: usize, into: &mut Vec<u8>) -> Result<(), Raise> {
    into.clear();
    let mut part = Vec::new();
    while into.len() < count {
        part.clear();
        document.read_part(at + into.len() as u64, count - into.len(), &mut part)?;
        if part.is_empty() {
            break;
        }
        into.append(&mut part);
    }
    Ok(())
}
