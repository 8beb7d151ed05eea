//! Records: at every split, under tight limits, with hostile streams, and against a model that reads the stream as a whole.

mod documents;
mod events;
mod lines;
mod model;

use super::super::tests::{Pieces, invariant};
use crate::Report;

type Outcome = (Vec<u8>, Vec<(u64, String)>, Report, Option<String>);
