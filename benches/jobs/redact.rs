//! Redact: what the search for credentials costs where there are none.

use tamis::Spec;
use tamis::spec::Redact;

use crate::data::Shape;
use crate::harness::{Floor, Table};

use super::{FULL, tamis_job};

/// The most that the search may add to the time of a run, as a share, with a select and where everything passes.
const WITH_SELECT: f64 = 0.1;
const WITH_EVERYTHING: f64 = 0.4;

pub(super) fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    for shape in Shape::ALL {
        let [selected, everything] = expected(shape);
        let select = shape.selection().spec();
        tables.push(table(shape, "members are selected", &select, WITH_SELECT, selected));
        tables.push(table(shape, "everything passes", &Spec::new(), WITH_EVERYTHING, everything));
    }
    tables
}

fn table(
    shape: Shape,
    what: &'static str,
    spec: &Spec,
    most: f64,
    expected: (usize, u64),
) -> Table {
    let redacted = spec.clone().redact(Redact::new().secrets(true));
    let jobs = vec![
        tamis_job("tamis", spec, usize::MAX),
        tamis_job("tamis with redact", &redacted, usize::MAX)
            .has_to(Floor::Share(FULL, 1.0 / (1.0 + most))),
    ];
    Table { theme: "redact", what, shape, references: 1, jobs, expected }
}

/// Returns the lengths and hashes of the selected members and of everything.
fn expected(shape: Shape) -> [(usize, u64); 2] {
    match shape {
        Shape::Repositories => [(8_407, 0xC9EC_164E_E35C_946E), (0, 0)],
        Shape::Pretty => [(7_286, 0x24CC_2AD1_75CC_81DA), (0, 0)],
        Shape::Issues => [(0, 0), (0, 0)],
        Shape::Graphql => [(1_645, 0x2298_83D7_FF31_0EBF), (0, 0)],
        Shape::Numbers => [(0, 0), (0, 0)],
        Shape::Unicode => [(0, 0), (0, 0)],
    }
}
