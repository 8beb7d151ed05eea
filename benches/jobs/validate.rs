//! Validate: reads everything and keeps nothing.

use std::hint::black_box;

use actson::feeder::SliceJsonFeeder;
use actson::{JsonEvent, JsonParser};
use serde::de::IgnoredAny;
use struson::reader::{JsonReader as _, JsonStreamReader};

use crate::data::{Shape, specs};
use crate::harness::{Job, Table};

use super::{FULL, tamis_job};

/// Length and hash of an empty output.
const NOTHING: (usize, u64) = (0, 0xCBF2_9CE4_8422_2325);

pub(super) fn tables() -> Vec<Table> {
    Shape::ALL.into_iter().map(table).collect()
}

fn table(shape: Shape) -> Table {
    let spec = specs::validate();
    #[cfg_attr(not(feature = "bench-simdjson"), allow(unused_mut, reason = "simdjson is the last"))]
    let mut jobs = vec![
        Job { run: silent(tamis_job("", &spec, usize::MAX)), ..Job::new("tamis", |_, _| {}) },
        Job::new("sonic-rs IgnoredAny", |document, _| {
            sonic_rs::from_slice::<IgnoredAny>(document).unwrap();
        }),
        Job::new("serde_json IgnoredAny", |document, _| {
            serde_json::from_slice::<IgnoredAny>(document).unwrap();
        })
        .floor(FULL, 1.0),
        Job::new("simd-json tape, with its copy", |document, _| {
            let mut copy = document.to_vec();
            black_box(simd_json::to_tape(&mut copy).unwrap());
        }),
        Job::new("jiter (no UTF-8)", |document, _| {
            let mut jiter = jiter::Jiter::new(document);
            jiter.next_skip().unwrap();
            jiter.finish().unwrap();
        }),
        Job::new("struson", |document, _| {
            let mut reader = JsonStreamReader::new(&**document);
            reader.skip_value().unwrap();
            reader.consume_trailing_whitespace().unwrap();
        }),
        Job::new("actson events", |document, _| {
            let mut parser = JsonParser::new(SliceJsonFeeder::new(document));
            while let Some(event) = parser.next_event().unwrap() {
                assert!(event != JsonEvent::NeedMoreInput);
            }
        }),
    ];
    #[cfg(feature = "bench-simdjson")]
    {
        let floor = match shape {
            Shape::Repositories => Some(1.05),
            Shape::Issues => Some(1.9),
            Shape::Graphql => Some(0.95),
            Shape::Unicode => Some(0.65),
            Shape::Pretty | Shape::Numbers => None,
        };
        jobs.extend(super::simdjson::dom().map(|job| job.floor_if(FULL, floor)));
    }
    let what = "everything, nothing is kept";
    Table { theme: "validate", what, shape, references: 1, jobs, expected: NOTHING }
}

/// Drops the output.
fn silent(mut job: Job) -> crate::harness::Run {
    Box::new(move |document, output| {
        (job.run)(document, output);
        output.clear();
    })
}
