//! [`ScoredDocument`]: a document whose parts were read and scored.
//!
//! This takes most of the time of a choice, and hardly depends on the budget. A document that is factored is fitted into one
//! budget after another, so [`LastScored`] keeps it.

use std::sync::{Arc, Mutex, PoisonError};

use tamis_json::error::Error;
use tamis_json::hold::Hold;
use tamis_text::words::Query;

use super::document::{PartSizes, ValueList};
use super::failures;
use super::scores::scores;
use crate::filter::run::root_path::RootPath;

/// The document.
#[derive(Debug)]
pub(super) struct ScoredDocument {
    pub(super) list: ValueList,
    pub(super) scores: Vec<f32>,
    place: RootPath,
    sizes: PartSizes,
    /// Which failures are marked depends on the room.
    has_failures: bool,
}

impl ScoredDocument {
    /// Reads a valid and minified document of less than 4 GiB. `room`: about the bytes that will be kept.
    ///
    /// # Errors
    /// The held bytes cannot be read.
    pub(super) fn read(
        held: &mut Hold,
        place: &RootPath,
        room: u64,
        query: &Query,
    ) -> Result<Self, Error> {
        let length = held.len();
        let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        held.visit(
            |piece| {
                text.extend_from_slice(piece);
                Ok(true)
            },
            |raise| Error::at(raise, length, String::new()),
        )?;
        let sizes = PartSizes::of(room);
        let mut list = ValueList::read(text, place, sizes);
        let has_failures = failures::mark(&mut list, room);
        let scores = scores(&mut list, query);
        Ok(Self { list, scores, place: place.clone(), sizes, has_failures })
    }

    /// Whether held bytes are this document, and a choice of another size has the same parts.
    fn is_of(&self, held: &mut Hold, place: &RootPath, room: u64) -> bool {
        let mut rest = Some(self.list.text.as_slice());
        let same = held.visit(
            |piece| {
                rest = rest.and_then(|rest| rest.strip_prefix(piece));
                Ok(rest.is_some())
            },
            drop,
        );
        let is_same = same.is_ok() && rest.is_some_and(<[u8]>::is_empty);
        is_same && !self.has_failures && self.sizes == PartSizes::of(room) && self.place == *place
    }
}

/// The last document, shared by stages that fit it into different budgets.
#[derive(Clone, Debug, Default)]
pub(in crate::filter::run::output) struct LastScored(Arc<Mutex<Option<Arc<ScoredDocument>>>>);

impl LastScored {
    /// Returns a document, and reads it only if it is not the last one.
    ///
    /// # Errors
    /// As for [`ScoredDocument::read`].
    pub(super) fn get(
        &self,
        held: &mut Hold,
        place: &RootPath,
        room: u64,
        query: &Query,
    ) -> Result<Arc<ScoredDocument>, Error> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.is_of(held, place, room)) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(ScoredDocument::read(held, place, room, query)?);
        *last = Some(Arc::clone(&read));
        Ok(read)
    }
}
