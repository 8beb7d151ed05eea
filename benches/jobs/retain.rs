//! Retain: the values at JSON Pointers, with the containers around them.

use crate::data::Shape;
use crate::data::specs::{self, RETAIN_GRAPHQL, RETAIN_REPOSITORIES};
use crate::harness::{Job, Table};

use super::typed::{RetainedAnswer, RetainedRepository, typed};
use super::{FULL, STRUCTURE, tamis_jobs};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table(
            Shape::Repositories,
            "3 pointers",
            RETAIN_REPOSITORIES,
            typed!(Vec<RetainedRepository<'_>>),
            (2_359, 0xD107_3D3C_B640_F345),
        ),
        table(
            Shape::Graphql,
            "5 pointers, the deepest through 3 arrays",
            RETAIN_GRAPHQL,
            typed!(RetainedAnswer<'_>),
            (11_925, 0xBAB1_2175_ACFE_9310),
        ),
    ]
}

fn table<const N: usize>(
    shape: Shape,
    what: &'static str,
    pointers: &[&str],
    typed: [Job; N],
    expected: (usize, u64),
) -> Table {
    let mut jobs = tamis_jobs(&specs::retain(pointers));
    jobs.extend(typed.into_iter().map(|job| match job.name.as_str() {
        "serde_json typed" => job.floor(FULL, 1.0).floor(STRUCTURE, 1.0),
        _ => job,
    }));
    Table { theme: "retain", what, shape, references: 2, jobs, expected }
}
