//! Retain: the values at JSON Pointers, with the containers around them.

use tamis::Spec;

use crate::data::Shape;
use crate::harness::{Job, Table};

use super::typed::{RetainedAnswer, RetainedRepository, typed};
use super::{FULL, STRUCTURE, tamis_jobs};

pub(super) fn tables() -> Vec<Table> {
    let nodes = "/data/organization/repositories/nodes";
    let nested = [
        format!("{nodes}/name"),
        format!("{nodes}/issues/nodes/number"),
        format!("{nodes}/issues/nodes/title"),
        format!("{nodes}/issues/nodes/comments/nodes/author/login"),
        "/data/rateLimit/remaining".to_owned(),
    ];
    let flat = ["/full_name", "/owner/login", "/topics"].map(str::to_owned);
    vec![
        table(
            Shape::Repositories,
            "3 pointers",
            &flat,
            typed!(Vec<RetainedRepository<'_>>),
            (2_359, 0xD107_3D3C_B640_F345),
        ),
        table(
            Shape::Graphql,
            "5 pointers, the deepest through 3 arrays",
            &nested,
            typed!(RetainedAnswer<'_>),
            (11_925, 0xBAB1_2175_ACFE_9310),
        ),
    ]
}

fn table<const N: usize>(
    shape: Shape,
    what: &'static str,
    pointers: &[String],
    typed: [Job; N],
    expected: (usize, u64),
) -> Table {
    let mut jobs = tamis_jobs(&pointers.iter().fold(Spec::new(), Spec::retain));
    jobs.extend(typed.into_iter().map(|job| match job.name.as_str() {
        "serde_json typed" => job.floor(FULL, 1.0).floor(STRUCTURE, 1.0),
        _ => job,
    }));
    Table { theme: "retain", what, shape, references: 2, jobs, expected }
}
