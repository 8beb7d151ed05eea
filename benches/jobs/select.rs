//! Select: a few members of each item, one of them nested.

use crate::data::Shape;
use crate::data::specs::{self, BenchSelection};
use crate::harness::{Job, Table};

use super::typed::{self, typed};
use super::{FULL, STRUCTURE, lazy, tamis_jobs};

pub(super) fn tables() -> Vec<Table> {
    use Shape::{Graphql, Issues, Numbers, Pretty, Repositories, Unicode};
    use typed::{
        Answer, Issue, IssueWithBody, Measurement, MeasurementWithCounts, Message, Repository,
    };
    let table = |shape, what, selection: BenchSelection, typed: [Job; 3], expected| {
        let mut jobs = tamis_jobs(&selection.spec());
        jobs.extend(typed.into_iter().map(|job| floor(job, shape)));
        jobs.extend(lazy::select(selection));
        if shape == Repositories {
            jobs.push(value(selection));
        }
        #[cfg(feature = "bench-simdjson")]
        {
            jobs.extend(super::simdjson::select(selection, on_demand_floor(shape)));
            jobs.extend(super::simdjson::dom().map(Job::parsed_only));
        }
        Table { theme: "select", what, shape, references: 2, jobs, expected }
    };
    vec![
        table(
            Repositories,
            "11 of 80 members",
            specs::SELECT_REPOSITORIES,
            typed!(Vec<Repository<'_>>),
            (8_407, 0xC9EC_164E_E35C_946E),
        ),
        table(
            Pretty,
            "11 of 80 members",
            specs::SELECT_REPOSITORIES,
            typed!(Vec<Repository<'_>>),
            (7_286, 0x24CC_2AD1_75CC_81DA),
        ),
        table(
            Issues,
            "5 members, the escaped body not",
            specs::SELECT_ISSUES,
            typed!(Vec<Issue<'_>>),
            (9_497, 0x33B7_C0A8_B2B8_6DB7),
        ),
        table(
            Issues,
            "4 members, the escaped body too",
            specs::SELECT_ISSUES_WITH_BODY,
            typed!(Vec<IssueWithBody<'_>>),
            (82_168, 0x37FA_7E79_3560_594E),
        ),
        table(
            Graphql,
            "5 members of the outermost nodes",
            specs::SELECT_GRAPHQL,
            typed!(Answer<'_>),
            (1_645, 0x2298_83D7_FF31_0EBF),
        ),
        table(
            Numbers,
            "4 scalars, the arrays not",
            specs::SELECT_NUMBERS,
            typed!(Vec<Measurement<'_>>),
            (2_148, 0x26E6_5D7B_CB2A_981E),
        ),
        table(
            Numbers,
            "an array of integers",
            specs::SELECT_NUMBERS_WITH_COUNTS,
            typed!(Vec<MeasurementWithCounts>),
            (28_611, 0x265F_3C05_F214_480B),
        ),
        table(
            Unicode,
            "4 members, the text not",
            specs::SELECT_UNICODE,
            typed!(Vec<Message<'_>>),
            (29_730, 0x0A3F_98BC_99A7_2D88),
        ),
    ]
}

/// Sets the floors: no mode is slower than serde_json, and full validation has a factor to sonic-rs.
fn floor(job: Job, shape: Shape) -> Job {
    let sonic = match shape {
        Shape::Repositories => Some(1.8),
        Shape::Pretty => Some(2.6),
        Shape::Issues => Some(2.4),
        Shape::Graphql => Some(1.2),
        Shape::Unicode => Some(0.95),
        Shape::Numbers => None,
    };
    match job.name.as_str() {
        "serde_json typed" => job.floor(FULL, 1.0).floor(STRUCTURE, 1.0),
        "sonic-rs typed" => job.floor_if(FULL, sonic),
        _ => job,
    }
}

/// Returns the factor of structural validation to On-Demand.
#[cfg(feature = "bench-simdjson")]
fn on_demand_floor(shape: Shape) -> Option<f64> {
    match shape {
        Shape::Repositories => Some(0.8),
        Shape::Pretty | Shape::Issues => Some(0.75),
        Shape::Graphql => Some(1.3),
        Shape::Unicode => Some(0.6),
        Shape::Numbers => None,
    }
}

/// Parses into a tree, picks members and writes them.
fn value(selection: BenchSelection) -> Job {
    use serde_json::Value;
    Job::new("serde_json Value", move |document, output| {
        let items: Vec<Value> = serde_json::from_slice(document).unwrap();
        for (index, item) in items.iter().enumerate() {
            output.push(if index == 0 { b'[' } else { b',' });
            for (index, field) in selection.fields.iter().enumerate() {
                output.push(if index == 0 { b'{' } else { b',' });
                let found = field.path.iter().fold(item, |value, name| &value[name]);
                serde_json::to_writer(&mut *output, field.key).unwrap();
                output.push(b':');
                serde_json::to_writer(&mut *output, found).unwrap();
            }
            output.push(b'}');
        }
        output.push(b']');
    })
}
