//! A file that is read twice changes in between, or while it is read again: the run fails, for what was found may be
//! there no more.

use std::fs::File;
use std::io::{Read, Write};

use tamis::spec::Condition;
use tamis::{Error, ErrorKind, FailedRun, Fault, Spec, filter_file};
use tamis_chat::{PruneProgram, PruneSpec, prune_file};

use super::drivers::{AroundFile, Source, compiled, document, history};

/// Does something to the file that it reads from, when that ends.
struct Meddler(Source, File, fn(&mut File));

impl Read for Meddler {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count == 0 {
            self.2(&mut self.1);
        }
        Ok(count)
    }
}

/// A run over a file that somebody meddles with: whether its report has an error, and its end.
type Run = Box<dyn Fn(File, Box<dyn FnOnce(Source) -> Source>) -> (bool, Result<(), Error>)>;

fn filters(spec: &Spec) -> Run {
    let program = compiled(spec);
    Box::new(move |file, around| {
        let (report, result) =
            FailedRun::split(filter_file(&program, AroundFile::new(file, around), Vec::new()));
        (report.error.is_some(), result)
    })
}

fn prunes() -> Run {
    let program = PruneProgram::compile(&PruneSpec::new()).expect("it compiles");
    Box::new(move |file, around| {
        let (report, result) =
            FailedRun::split(prune_file(&program, AroundFile::new(file, around), Vec::new()));
        (report.error.is_some(), result)
    })
}

#[test]
fn a_file_that_changes_between_its_readings_is_an_error() {
    // The end of the document decides how its beginning is filtered.
    let branch = Spec::new().when(Condition::new("/total", 40), Spec::new().exclude("x"));
    let runs = [
        ("auto", document(), filters(&Spec::new().exclude("x"))),
        ("when", document(), filters(&branch)),
        ("prune", history(), prunes()),
    ];
    let changes: [fn(&mut File); 3] = [
        |_| {},
        |file| file.set_len(20).expect("it can be shorter"),
        |file| file.write_all(b" ").expect("it can be longer"),
    ];
    for (name, input, run) in runs {
        let ends = changes.map(|change| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), &input).expect("it takes the input");
            let other = File::options().append(true).open(file.path()).expect("it is there");
            let same = File::open(file.path()).expect("it is there");
            let meddled = move |reader| -> Source { Box::new(Meddler(reader, other, change)) };
            let (told, result) = run(same, Box::new(meddled));
            assert_eq!(told, result.is_err(), "{name}");
            result.err().map(|error| (error.kind(), error.fault(), error.message().to_owned()))
        });
        let changed = "the file changed while it was read twice".to_owned();
        let changed = Some((ErrorKind::Read, Fault::Input, changed));
        assert_eq!(ends, [None, changed.clone(), changed], "{name}");
    }
}
