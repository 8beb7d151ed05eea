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

/// Returns the lengths and hashes of the selected members and of everything, for the small documents of `--test`.
fn expected(shape: Shape) -> [(usize, u64); 2] {
    match shape {
        Shape::Repositories => [(8_407, 0xC9EC_164E_E35C_946E), (124_448, 0x3B8E_8AA7_A145_44B4)],
        Shape::Pretty => [(7_286, 0x24CC_2AD1_75CC_81DA), (107_426, 0x76E7_A879_0A42_A5E8)],
        Shape::Issues => [(9_497, 0x33B7_C0A8_B2B8_6DB7), (124_152, 0x9A9C_2D65_2765_56A6)],
        Shape::Graphql => [(1_645, 0x2298_83D7_FF31_0EBF), (126_552, 0xC858_0A7D_971A_AF6B)],
        Shape::Numbers => [(2_148, 0x26E6_5D7B_CB2A_981E), (126_523, 0x3F40_4F95_EA49_591D)],
        Shape::Unicode => [(29_730, 0x0A3F_98BC_99A7_2D88), (124_857, 0xB84A_06FE_23FF_CD03)],
    }
}
