//! simdjson (C++): On-Demand, which does not validate skipped values, and the DOM parser, which validates everything. Left
//! out if simdjson is not installed.

use simdjson_peer as peer;

use crate::harness::{Job, PADDING};

use super::{STRUCTURE, Selection};

const _: () = assert!(peer::PADDING == PADDING);

pub(super) fn select(selection: Selection, is_api: bool) -> Option<Job> {
    let fields: Vec<_> = selection.fields.iter().map(|field| (field.key, field.path)).collect();
    let job =
        on_demand(move |padded, output| peer::select(padded, selection.root, &fields, output));
    // The floor depends on the kernel of On-Demand, which is chosen when it is compiled.
    let factor = if peer::kernel() == "icelake" { 1.5 } else { 1.3 };
    job.map(|job| if is_api { job.floor(STRUCTURE, factor) } else { job })
}

pub(super) fn exclude(names: &'static [&'static str]) -> Option<Job> {
    let job = on_demand(move |padded, output| peer::exclude(padded, names, output));
    job.map(|job| job.floor(STRUCTURE, 1.6))
}

pub(super) fn path() -> Option<Job> {
    on_demand(|padded, output| peer::path(padded, &super::path::PATH, output))
}

pub(super) fn dom() -> Option<Job> {
    peer::FOUND.then(|| {
        Job::new("simdjson DOM, only parsing", |document, _| peer::dom(document.padded()).unwrap())
    })
}

fn on_demand(run: impl Fn(&[u8], &mut Vec<u8>) -> Option<()> + 'static) -> Option<Job> {
    peer::FOUND.then(|| {
        let name = format!("simdjson On-Demand ({})", peer::kernel());
        Job::new(name, move |document, output| {
            // It writes into the existing buffer.
            output.reserve(document.len());
            run(document.padded(), output).unwrap();
        })
    })
}
