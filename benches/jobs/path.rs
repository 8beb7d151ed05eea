//! One path to a value at the end of the document: measures how fast the rest is skipped.

use rsonpath::engine::{Compiler as _, Engine as _, RsonpathEngine};
use rsonpath::input::BorrowedBytes;
use rsonpath::result::Match;
use sonic_rs::PointerTree;

use crate::data::Shape;
use crate::data::specs::{self, EXTRACT_GRAPHQL};
use crate::harness::{Job, Table};

use super::typed::Remaining;
use super::{FULL, STRUCTURE, lazy, tamis_jobs};

pub(super) fn tables() -> Vec<Table> {
    let mut jobs = tamis_jobs(&specs::extract());
    jobs.extend([rsonpath().floor(STRUCTURE, 0.9), sonic_many()]);
    jobs.push(Job::new("sonic-rs get", |document, output| {
        let found = sonic_rs::get(&**document, EXTRACT_GRAPHQL).unwrap();
        output.extend_from_slice(found.as_raw_str().as_bytes());
    }));
    jobs.push(
        Job::new("serde_json typed", |document, output| {
            let found: Remaining = serde_json::from_slice(document).unwrap();
            serde_json::to_writer(&mut *output, &found).unwrap();
        })
        .floor(FULL, 1.0)
        .floor(STRUCTURE, 1.0),
    );
    jobs.push(Job::new("jiter", |document, output| {
        let mut jiter = jiter::Jiter::new(document);
        lazy::enter(&mut jiter, &EXTRACT_GRAPHQL, &mut |jiter| {
            let start = jiter.current_index();
            jiter.next_skip().unwrap();
            output.extend_from_slice(jiter.slice_to_current(start));
        });
        jiter.finish().unwrap();
    }));
    #[cfg(feature = "bench-simdjson")]
    jobs.extend(super::simdjson::path());
    vec![Table {
        theme: "path",
        what: "one value at the end",
        shape: Shape::Graphql,
        references: 2,
        jobs,
        expected: (4, 0x94E4_DFD9_8E2F_9667),
    }]
}

fn rsonpath() -> Job {
    let query = rsonpath_syntax::parse(&format!("$.{}", EXTRACT_GRAPHQL.join("."))).unwrap();
    let engine = RsonpathEngine::compile_query(&query).unwrap();
    Job::new("rsonpath", move |document, output| {
        let mut found: Vec<Match> = Vec::new();
        engine.matches(&BorrowedBytes::new(document), &mut found).unwrap();
        output.extend_from_slice(found[0].bytes());
    })
}

fn sonic_many() -> Job {
    let mut tree = PointerTree::new();
    tree.add_path(EXTRACT_GRAPHQL);
    Job::new("sonic-rs get_many", move |document, output| {
        let found = sonic_rs::get_many(&**document, &tree).unwrap();
        output.extend_from_slice(found[0].as_ref().unwrap().as_raw_str().as_bytes());
    })
}
