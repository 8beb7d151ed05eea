//! What a run does with its record and its filter, on real processes; what is in the folder of records, and what goes.

use std::cell::RefCell;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::{CommandRunner, Filtering, Gathered, OverflowFolder, RunReport};
use crate::sink::Sink;

/// Cuts every `x`, and says so.
struct Cutter {
    sink: Gathered,
    cut: bool,
}

impl Cutter {
    fn new(sink: Gathered) -> Self {
        Self { sink, cut: false }
    }
}

impl Filtering for Cutter {
    fn write(&mut self, bytes: &[u8]) {
        let left: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'x').collect();
        self.cut |= left.len() < bytes.len();
        self.sink.write(&left);
    }

    fn end(mut self, exit_code: Option<i32>, full: Option<&str>) -> bool {
        if self.cut {
            self.sink.write(format!("cut, {exit_code:?}: {full:?}\n").as_bytes());
        }
        self.cut
    }
}

/// What came out, the report, and what was said.
fn run(runner: &CommandRunner, script: &str) -> (String, RunReport, Vec<String>) {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let mut output = Vec::new();
    let notices = RefCell::new(Vec::new());
    let say = |notice: super::Notice| notices.borrow_mut().push(notice.to_string());
    let report = runner.run_with(command, &mut output, |_| {}, say, Cutter::new).unwrap();
    (String::from_utf8(output).unwrap(), report, notices.into_inner())
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder for records, in one that goes with the test.
fn place() -> (TempDir, OverflowFolder) {
    let home = tempfile::tempdir().unwrap();
    let folder = OverflowFolder::new(home.path().join("state/tamis/output"));
    (home, folder)
}

#[test]
fn the_record_stays_where_something_was_cut() {
    let (_home, folder) = place();
    let runner = CommandRunner::new().overflow(folder.clone());
    let (output, report, said) = run(&runner, "echo axb; echo cxd >&2; exit 3");
    let record = report.record.unwrap();
    assert_eq!(output, format!("ab\ncd\ncut, Some(3): Some({record:?})\n"));
    assert_eq!(fs::read_to_string(&record).unwrap(), "axb\ncxd\n");
    assert!(report.cut && report.record_complete && report.error.is_none() && said.is_empty());
    assert_eq!((report.bytes_in, report.bytes_out), (8, output.len() as u64));
    assert_eq!(record.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(folder.path().metadata().unwrap().mode() & 0o7777, 0o700);
    // A signal is an exit code as shells have it.
    let (output, ..) = run(&runner, "echo x; kill -9 $$");
    assert!(output.contains("cut, Some(137)"), "{output}");
}

#[test]
fn the_record_goes_where_nothing_was_cut() {
    let (_home, folder) = place();
    let (output, report, said) = run(&CommandRunner::new().overflow(folder.clone()), "echo ab");
    assert_eq!((output.as_str(), report.record, said.len()), ("ab\n", None, 0));
    assert!(!report.cut && names(folder.path()).is_empty());
    let keeping = CommandRunner::new().overflow(folder).keep(true);
    let (_, report, _) = run(&keeping, "echo ab");
    assert_eq!(fs::read_to_string(report.record.unwrap()).unwrap(), "ab\n");
    // Without a folder the filter works all the same, and names none.
    assert_eq!(run(&CommandRunner::new(), "echo axb").0, "ab\ncut, Some(0): None\n");
}

#[test]
fn what_cannot_be_recorded_is_not_filtered() {
    let (home, folder) = place();
    fs::write(home.path().join("state"), "a file in the way").unwrap();
    let (output, report, said) =
        run(&CommandRunner::new().overflow(folder), "echo axb; sleep .1; echo cxd");
    assert_eq!((output.as_str(), report.cut, report.record), ("axb\ncxd\n", false, None));
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("nothing is filtered: "), "{said:?}");
}

#[test]
fn over_the_limit_the_beginning_is_recorded() {
    let (_home, folder) = place();
    let runner = CommandRunner::new().overflow(folder.with_file_limit(5));
    let (output, report, said) = run(&runner, "echo axb; sleep .1; echo cxd; sleep .1; echo e");
    let record = report.record.unwrap();
    assert_eq!(fs::read_to_string(&record).unwrap(), "axb\nc");
    assert!(output.starts_with("ab\ncd\ne\ncut, Some(0): "), "{output}");
    assert!(output.ends_with(".log (its first 5 bytes)\")\n"), "{output}");
    assert_eq!(said, ["only the first 5 bytes of the full output are recorded"]);
    assert!(!report.record_complete);
}

#[test]
fn what_is_not_private_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let open = home.path().join("open");
    for mode in [0o710, 0o701, 0o755, 0o777] {
        fs::DirBuilder::new().mode(0o700).create(&open).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let error = OverflowFolder::new(&open).create().unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{mode:o}: {error}");
        assert!(names(&open).is_empty());
        fs::remove_dir(&open).unwrap();
    }
    let real = home.path().join("real");
    fs::DirBuilder::new().mode(0o700).create(&real).unwrap();
    let link = home.path().join("link");
    symlink(&real, &link).unwrap();
    let error = OverflowFolder::new(&link).create().unwrap_err().to_string();
    assert!(error.contains("a symbolic link"), "{error}");
    assert!(names(&real).is_empty());
    fs::write(home.path().join("file"), "").unwrap();
    OverflowFolder::new(home.path().join("file")).create().unwrap_err();
    assert!(OverflowFolder::new(&real).create().is_ok(), "the folder itself is fine");
}

/// A file with so many bytes that was written to so long ago.
fn aged(folder: &Path, name: &str, bytes: usize, seconds: u64) -> File {
    let path = folder.join(name);
    fs::write(&path, vec![b'-'; bytes]).unwrap();
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    file
}

fn limited(path: &Path) -> OverflowFolder {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).unwrap();
    OverflowFolder::new(path).with_age_limit(Duration::from_secs(1000)).with_total_limit(100)
}

#[test]
fn what_is_too_old_goes_and_then_the_oldest_of_what_is_too_much() {
    let (_home, folder) = place();
    let path = folder.path();
    let folder = limited(path);
    aged(path, "run-1-1-0.log", 1, 1100);
    aged(path, "run-2-1-0.log", 60, 500);
    aged(path, "run-3-1-0.log", 60, 400);
    aged(path, "run-4-1-0.log", 40, 300);
    drop(folder.create().unwrap());
    assert_eq!(names(path), ["run-3-1-0.log", "run-4-1-0.log"]);
    // What is being written stays.
    let busy = aged(path, "run-5-1-0.log", 200, 2000);
    flock(&busy, FlockOperation::LockExclusive).unwrap();
    drop(folder.create().unwrap());
    assert_eq!(names(path), ["run-5-1-0.log"]);
    drop(busy);
    let made = folder.create().unwrap();
    assert_eq!(names(path), [made.path().file_name().unwrap().to_str().unwrap()]);
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let (home, folder) = place();
    let path = folder.path();
    let folder = limited(path).with_total_limit(0);
    let foreign =
        ["notes.txt", "run-1-2.log", "run-1-2-3.log.gz", "run-1-2-x.log", ".run-1-2-3.log"];
    for name in foreign {
        aged(path, name, 500, 5000);
    }
    let outside = home.path().join("precious");
    fs::write(&outside, "precious").unwrap();
    File::options()
        .append(true)
        .open(&outside)
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    symlink(&outside, path.join("run-7-7-7.log")).unwrap();
    fs::create_dir(path.join("run-8-8-8.log")).unwrap();
    let before = names(path);
    drop(folder.create().unwrap());
    assert_eq!(names(path), before);
    assert_eq!(fs::read_to_string(outside).unwrap(), "precious");
}

/// Where the next name is a link already, another one is taken.
#[test]
fn no_link_is_written_through() {
    let (home, folder) = place();
    let outside = home.path().join("outside");
    let first = folder.create().unwrap().keep();
    fs::remove_file(&first).unwrap();
    // The names of this second and the next ones.
    let name = first.file_name().unwrap().to_str().unwrap();
    let [seconds, process] = name["run-".len()..].split('-').take(2).collect::<Vec<_>>()[..] else {
        panic!("{name}")
    };
    let seconds: u64 = seconds.parse().unwrap();
    for second in seconds..seconds + 5 {
        symlink(&outside, folder.path().join(format!("run-{second}-{process}-0.log"))).unwrap();
    }
    let mut file = folder.create().unwrap();
    std::io::Write::write_all(&mut file, b"secret").unwrap();
    assert!(file.path().to_str().unwrap().ends_with("-1.log"), "{file:?}");
    assert!(!outside.exists());
}

#[test]
fn there_are_never_many_files() {
    let (_home, folder) = place();
    let path = folder.path();
    let folder = limited(path).with_total_limit(u64::MAX);
    for number in 0..1_100 {
        aged(path, &format!("run-{number}-1-0.log"), 0, 900 - number / 2);
    }
    drop(folder.create().unwrap());
    let left = names(path);
    assert_eq!(left.len(), 1_000);
    assert!(!left.contains(&String::from("run-0-1-0.log")), "the oldest go");
    assert!(left.contains(&String::from("run-1099-1-0.log")));
}

#[test]
fn several_may_clean_and_make_files_at_once() {
    let (_home, folder) = place();
    let path = folder.path();
    let folder = limited(path);
    for number in 0..200 {
        aged(path, &format!("run-{number}-1-0.log"), 1, 5000);
    }
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|number: u8| {
                let folder = &folder;
                scope.spawn(move || {
                    for round in 0..20_u8 {
                        let mut file = folder.create().unwrap();
                        std::io::Write::write_all(&mut file, &[number, round]).unwrap();
                        assert_eq!(fs::read(file.path()).unwrap(), [number, round]);
                    }
                })
            })
            .collect();
        makers.into_iter().for_each(|maker| maker.join().unwrap());
    });
    assert!(names(path).is_empty());
}
