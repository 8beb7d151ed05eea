//! Tests with real processes: the record, the filter, and the folder of records.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::{
    CommandRunner, OutputRecord, OutputRecorder, OverflowFolder, RecordPlace, RunReport,
    RunningCommand,
};
use crate::{CommandReport, FilterResult, OutputFilter, OutputFilterRegistry, PassThroughReason};

/// Removes lines with an `x`.
struct Cutter;

impl OutputFilter for Cutter {
    fn matches(&self, _: &str) -> bool {
        true
    }

    fn filter(&self, _: &str, raw_output: &str, exit_code: i32) -> FilterResult {
        let left = raw_output.split_inclusive('\n').filter(|line| !line.contains('x'));
        let left: String = left.collect();
        let left = if raw_output.contains('x') { left + &format!("{exit_code}\n") } else { left };
        FilterResult::new(raw_output, left)
    }
}

/// A script that prints enough removable lines for the notice to be shorter.
const MANY: &str = "n=0; while [ $n -lt 100 ]; do echo xxxxxxx; n=$((n+1)); done;";

fn runner() -> CommandRunner {
    CommandRunner::new(OutputFilterRegistry::new().register(Cutter))
}

/// Returns the output, the report and the warnings.
fn run(runner: &CommandRunner, script: &str) -> (String, RunReport, Vec<String>) {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let mut output = Vec::new();
    let mut notices = Vec::new();
    let say = |notice: super::RunnerWarning| notices.push(notice.to_string());
    let report = runner.run(command, &mut output, |_| {}, say).unwrap();
    (String::from_utf8(output).unwrap(), report, notices)
}

/// The notice for the removed lines.
fn note(full: impl std::fmt::Display) -> String {
    format!("[tamis custom: 100 of 102 lines left out; full output: {full}]\n")
}

/// The file that has the full output.
fn file(report: &RunReport) -> PathBuf {
    report.record.as_ref().and_then(RecordPlace::path).unwrap().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder for records inside a temporary directory.
fn place() -> (TempDir, OverflowFolder) {
    let home = tempfile::tempdir().unwrap();
    let folder = OverflowFolder::new(home.path().join("state/tamis/output"));
    (home, folder)
}

#[test]
fn the_record_stays_where_something_was_cut() {
    let (_home, folder) = place();
    let runner = runner().with_overflow(folder.clone());
    let (output, report, said) = run(&runner, &format!("{MANY} echo a; echo b >&2; exit 3"));
    let record = file(&report);
    // The filter adds a line, so one line less is missing.
    assert_eq!(output, format!("a\nb\n3\n{}", note(record.display()).replace("100", "99")));
    let full = "xxxxxxx\n".repeat(100) + "a\nb\n";
    assert_eq!(fs::read_to_string(&record).unwrap(), full);
    assert_eq!(report.output.full_output.as_deref(), record.to_str());
    assert!(report.output.cut && report.record_complete && !report.record_failed);
    assert!(report.error.is_none() && said.is_empty());
    assert_eq!(report.output.bytes_in, full.len() as u64);
    assert_eq!(report.output.bytes_out, output.len() as u64);
    assert_eq!(record.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(folder.path().metadata().unwrap().mode() & 0o7777, 0o700);
    // A signal is reported as the exit code that a shell uses.
    let (output, report, _) = run(&runner, &format!("{MANY} kill -9 $$"));
    assert!(output.starts_with("137\n["), "{output}");
    assert_eq!(report.output.exit_code, Some(137));
}

#[test]
fn the_record_goes_where_nothing_was_cut() {
    let (_home, folder) = place();
    let (output, report, said) = run(&runner().with_overflow(folder.clone()), "echo ab");
    assert_eq!((output.as_str(), report.record, said.len()), ("ab\n", None, 0));
    assert_eq!((report.output.cut, report.output.full_output), (false, None));
    assert!(names(folder.path()).is_empty());
    let (_, report, _) = run(&runner().with_overflow(folder).with_keep(true), "echo ab");
    assert_eq!(fs::read_to_string(file(&report)).unwrap(), "ab\n");
    // Without a folder, filtering works, and the notice names no file.
    let (output, ..) = run(&runner(), MANY);
    assert_eq!(output, "0\n[tamis custom: 99 of 100 lines left out]\n");
    // Output that no filter applies to needs no folder.
    let (home, folder) = place();
    let none = CommandRunner::new(OutputFilterRegistry::new()).with_overflow(folder);
    let (output, report, _) = run(&none, "printf 'a\nb'");
    assert_eq!(
        (output.as_str(), report.output.passed),
        ("a\nb", Some(PassThroughReason::NoFilter))
    );
    let CommandReport { bytes_in, bytes_out, lines_in, lines_out, .. } = report.output;
    assert_eq!((bytes_in, bytes_out, lines_in, lines_out), (3, 3, 2, 2));
    assert!(names(home.path()).is_empty());
}

#[test]
fn output_that_cannot_be_recorded_is_not_filtered() {
    let (home, folder) = place();
    fs::write(home.path().join("state"), "a file in the way").unwrap();
    let (output, report, said) = run(&runner().with_overflow(folder), MANY);
    assert_eq!(output, "xxxxxxx\n".repeat(100));
    assert_eq!((report.output.cut, report.record, report.record_failed), (false, None, true));
    assert_eq!((report.output.bytes_in, report.output.bytes_out), (800, 800));
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("so it is not filtered: "), "{said:?}");
}

#[test]
fn over_the_limit_the_beginning_is_recorded() {
    let (_home, folder) = place();
    let runner = runner().with_overflow(folder.with_file_limit(13));
    let (output, report, said) =
        run(&runner, &format!("{MANY} sleep .1; echo a; sleep .1; echo b"));
    let record = file(&report);
    assert_eq!(fs::read_to_string(&record).unwrap(), "xxxxxxx\nxxxxx");
    let full = format!("{} (its first 13 bytes)", record.display());
    assert_eq!(output, format!("a\nb\n0\n{}", note(full).replace("100", "99")));
    assert_eq!(said, ["only the first 13 bytes of the full output are recorded"]);
    assert!(!report.record_complete && !report.record_failed);
}

/// A place whose records cannot be kept.
#[derive(Debug)]
struct Leaky;

impl OutputRecorder for Leaky {
    fn begin(&self) -> io::Result<Box<dyn OutputRecord>> {
        Ok(Box::new(Self))
    }
}

impl Write for Leaky {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputRecord for Leaky {
    fn place(&self) -> RecordPlace {
        RecordPlace::Command("show it".to_owned())
    }

    fn written(&self) -> u64 {
        0
    }

    fn left_out(&self) -> u64 {
        0
    }

    fn keep(self: Box<Self>) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_record_that_cannot_be_kept_is_reported() {
    let (output, report, said) = run(&runner().with_overflow(Leaky), MANY);
    assert_eq!(output, "0\n[tamis custom: 99 of 100 lines left out; full output: show it]\n");
    assert_eq!(said, ["the full output could not be kept: no storage space"]);
    assert_eq!((report.record, report.record_failed), (None, true));
    assert_eq!((report.output.full_output, report.record_complete), (None, false));
}

/// The order in which the command and its output end does not matter. Another test that starts a program at the same time may
/// hold the output open until that program runs, which is rare.
#[test]
fn no_warning_without_leftover_processes() {
    const ROUNDS: u32 = 200;
    let runner = CommandRunner::new(OutputFilterRegistry::new()).with_linger(Duration::ZERO);
    let mut left_open = 0;
    for _ in 0..ROUNDS {
        let (output, report, said) = run(&runner, "echo a");
        assert_eq!((output.as_str(), said.len()), ("a\n", usize::from(report.left_open)));
        // In small pieces, some of which are read after the end.
        let mut command = Command::new("sh");
        command.args(["-c", "echo abcdefgh"]);
        let mut running = RunningCommand::start(command).unwrap().with_linger(Duration::ZERO);
        let (mut output, mut piece) = (Vec::new(), [0; 2]);
        while let count @ 1.. = running.read(&mut piece).unwrap() {
            output.extend_from_slice(&piece[..count]);
        }
        assert_eq!(output, b"abcdefgh\n");
        left_open += u32::from(report.left_open) + u32::from(running.is_left_open());
        assert!(running.finish().unwrap().success());
    }
    assert!(left_open < ROUNDS / 20, "{left_open}");
}

#[test]
fn a_folder_that_is_not_private_is_refused() {
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

/// Creates a file of the given size and age.
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
fn expired_files_are_removed_first_then_the_oldest() {
    let (_home, folder) = place();
    let path = folder.path();
    let folder = limited(path);
    aged(path, "run-1-1-0.log", 1, 1100);
    aged(path, "run-2-1-0.log", 60, 500);
    aged(path, "run-3-1-0.log", 60, 400);
    aged(path, "run-4-1-0.log", 40, 300);
    drop(folder.create().unwrap());
    assert_eq!(names(path), ["run-3-1-0.log", "run-4-1-0.log"]);
    // Files that are being written are kept.
    let busy = aged(path, "run-5-1-0.log", 200, 2000);
    flock(&busy, FlockOperation::LockExclusive).unwrap();
    drop(folder.create().unwrap());
    assert_eq!(names(path), ["run-5-1-0.log"]);
    drop(busy);
    let made = folder.create().unwrap();
    assert_eq!(names(path), [made.path().file_name().unwrap().to_str().unwrap()]);
}

#[test]
fn foreign_files_are_never_removed() {
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

/// If the next name is a symbolic link, another name is chosen.
#[test]
fn no_link_is_written_through() {
    let (home, folder) = place();
    let outside = home.path().join("outside");
    let first = folder.create().unwrap().keep();
    fs::remove_file(&first).unwrap();
    // The names for this second and the next ones.
    let name = first.file_name().unwrap().to_str().unwrap();
    let [seconds, process] = name["run-".len()..].split('-').take(2).collect::<Vec<_>>()[..] else {
        panic!("{name}")
    };
    let seconds: u64 = seconds.parse().unwrap();
    for second in seconds..seconds + 5 {
        symlink(&outside, folder.path().join(format!("run-{second}-{process}-0.log"))).unwrap();
    }
    let mut file = folder.create().unwrap();
    Write::write_all(&mut file, b"secret").unwrap();
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
                        Write::write_all(&mut file, &[number, round]).unwrap();
                        assert_eq!(fs::read(file.path()).unwrap(), [number, round]);
                    }
                })
            })
            .collect();
        makers.into_iter().for_each(|maker| maker.join().unwrap());
    });
    assert!(names(path).is_empty());
}
