//! A select over a document that arrives in chunks of different sizes.

use tamis::spec::Validation;

use crate::data::Shape;
use crate::data::specs::SELECT_REPOSITORIES;
use crate::harness::{Floor, Job, Table};

use super::{FULL, STRUCTURE, tamis_job};

const CHUNKS: [(&str, usize, Option<Floor>); 6] = [
    ("1 B", 1, Some(Floor::Rate(0.04))),
    ("64 B", 64, Some(Floor::Rate(0.5))),
    ("256 B", 256, Some(Floor::Rate(1.2))),
    ("4 KiB", 4 << 10, Some(Floor::Share(FULL, 0.9))),
    ("64 KiB", 64 << 10, Some(Floor::Share(FULL, 0.95))),
    ("1 MiB", 1 << 20, None),
];

pub(super) fn tables() -> Vec<Table> {
    vec![
        table(Shape::Repositories, (8_407, 0xC9EC_164E_E35C_946E)),
        table(Shape::Pretty, (7_286, 0x24CC_2AD1_75CC_81DA)),
    ]
}

fn table(shape: Shape, expected: (usize, u64)) -> Table {
    let spec = SELECT_REPOSITORIES.spec();
    let structure = spec.clone().validation(Validation::Structure);
    let mut jobs = vec![
        tamis_job("tamis full, slice", &spec, usize::MAX),
        tamis_job("tamis structure, slice", &structure, usize::MAX),
    ];
    for (name, chunk, floor) in CHUNKS {
        let job = tamis_job(&format!("tamis full, {name}"), &spec, chunk);
        jobs.push(Job { floors: floor.into_iter().collect(), ..job });
        jobs.push(tamis_job(&format!("tamis structure, {name}"), &structure, chunk));
    }
    jobs.push(
        Job::new("serde_json typed, slice", |document, output| {
            let value: Vec<super::typed::Repository<'_>> =
                serde_json::from_slice(document).unwrap();
            serde_json::to_writer(&mut *output, &value).unwrap();
        })
        .floor(FULL, 1.0)
        .floor(STRUCTURE, 1.0),
    );
    let what = "select 11 of 80 members";
    Table { theme: "chunks", what, shape, references: 2, jobs, expected }
}
