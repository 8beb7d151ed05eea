//! A file that is read twice changes in between, or while it is read again: the run fails, for what was found may be there no more.

use std::fs::File;
use std::io::{Read, Write};

use tamis::{CallOptions, ErrorKind, Fault, Spec, Test, filter_file};

use crate::drivers::{compiled, document};

/// Does something to the file that it reads from, when that ends.
struct Meddler(Box<dyn Read>, File, fn(&mut File));

impl Read for Meddler {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count == 0 {
            self.2(&mut self.1);
        }
        Ok(count)
    }
}

#[test]
fn a_file_that_changes_between_its_readings_is_an_error() {
    // What is at the end decides what becomes of the beginning.
    let specs = [
        ("auto", Spec::new().exclude("x")),
        ("when", Spec::new().when(Test::new("/total", 40), Spec::new().exclude("x"))),
    ];
    let changes: [fn(&mut File); 3] = [
        |_| {},
        |file| file.set_len(20).expect("it can be shorter"),
        |file| file.write_all(b" ").expect("it can be longer"),
    ];
    for (name, spec) in specs {
        let program = compiled(&spec);
        let ends = changes.map(|change| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), document()).expect("it takes the document");
            let other = File::options().append(true).open(file.path()).expect("it is there");
            let same = File::open(file.path()).expect("it is there");
            let (report, result) =
                filter_file(&program, &CallOptions::new(), same, Vec::new(), |reader| {
                    Box::new(Meddler(reader, other, change))
                });
            assert_eq!(report.error.is_some(), result.is_err(), "{name}");
            result.err().map(|error| (error.kind(), error.fault(), error.message().to_owned()))
        });
        let changed = "the file changed while it was read twice".to_owned();
        let changed = Some((ErrorKind::Read, Fault::Input, changed));
        assert_eq!(ends[1..], [changed.clone(), changed], "{name}: {ends:?}");
        assert!(ends[0].is_none(), "{name}: {ends:?}");
    }
}
