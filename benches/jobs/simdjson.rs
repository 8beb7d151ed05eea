//! simdjson (C++): On-Demand, which does not validate skipped values, and the DOM parser, which validates everything. Left
//! out if simdjson does not compile.

use simdjson_peer as peer;

use crate::data::specs::{BenchSelection, EXTRACT_GRAPHQL};
use crate::harness::{Job, PADDING};

use super::STRUCTURE;

const _: () = assert!(peer::PADDING == PADDING);

/// Returns the version of simdjson and its kernel, for the head of a table.
pub(crate) fn version() -> Option<String> {
    peer::FOUND.then(|| format!("simdjson {} ({})", peer::version(), peer::kernel()))
}

pub(super) fn select(selection: BenchSelection, floor: Option<f64>) -> Option<Job> {
    let fields: Vec<_> = selection.fields.iter().map(|field| (field.key, field.path)).collect();
    let job =
        on_demand(move |padded, output| peer::select(padded, selection.root, &fields, output));
    job.map(|job| job.floor_if(STRUCTURE, floor))
}

pub(super) fn exclude(names: &'static [&'static str], floor: Option<f64>) -> Option<Job> {
    let job = on_demand(move |padded, output| peer::exclude(padded, names, output));
    job.map(|job| job.floor_if(STRUCTURE, floor))
}

pub(super) fn path() -> Option<Job> {
    on_demand(|padded, output| peer::path(padded, &EXTRACT_GRAPHQL, output))
}

pub(super) fn dom() -> Option<Job> {
    peer::FOUND.then(|| {
        Job::new("simdjson DOM, only parsing", |document, _| peer::dom(document.padded()).unwrap())
    })
}

fn on_demand(run: impl Fn(&[u8], &mut Vec<u8>) -> Option<()> + 'static) -> Option<Job> {
    peer::FOUND.then(|| {
        Job::new("simdjson On-Demand", move |document, output| {
            // It writes into the existing buffer.
            output.reserve(document.len());
            run(document.padded(), output).unwrap();
        })
    })
}
