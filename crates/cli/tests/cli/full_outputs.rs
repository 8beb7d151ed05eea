//! Where `tamis run` keeps full outputs, and what it does where it cannot.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::commands::{RECORDS, TENTHS};
use super::*;

#[test]
fn the_full_output_is_kept_where_that_is_asked_for() {
    let folder = Folder::new();
    let ran = Ran::new(
        &folder.runner(&["--keep", "--", "sh", "-c", "echo a; echo b >&2"]).output().unwrap(),
    );
    let records = folder.records();
    assert_eq!((ran.code, ran.out.as_str(), records.len()), (0, "a\nb\n", 1));
    let said = format!("tamis: sh: to print the full output: tamis recall {}\n", ran.handle());
    assert_eq!(ran.err, said);
    folder.tamis(&["recall", ran.handle()], b"").done("a\nb\n");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&folder.path(RECORDS).join(&records[0])), 0o600);
    assert_eq!((mode(&folder.path(RECORDS)), mode(&folder.path(".state"))), (0o700, 0o700));
    // As a file in a folder; with a limit, the beginning.
    let args = ["--keep", "--overflow-dir", "mine", "--overflow-limit", "3", "echo", "abcdef"];
    let ran = folder.runner(&args).output().map(|output| Ran::new(&output)).unwrap();
    assert_eq!(ran.out, "abcdef\n");
    let (warned, said) = ran.err.split_once('\n').unwrap();
    assert_eq!(
        warned,
        "tamis: echo: warning: only the first 3 bytes of the full output are recorded"
    );
    let record = said.trim_end().strip_prefix("tamis: echo: the full output is in ").unwrap();
    assert!(
        record.starts_with(folder.path("").canonicalize().unwrap().to_str().unwrap()),
        "{record}"
    );
    assert_eq!(folder.read(record), "abc");
}

/// Nothing is lost: what was cut is in the record, what is not in the record is not cut.
#[test]
fn when_the_disk_is_full_nothing_more_is_cut() {
    let folder = Folder::new();
    folder.write("rules.toml", TENTHS);
    folder.write("blocked", "a file in the way");
    let mut command = Command::new("sh");
    let script =
        "trap '' XFSZ; ulimit -f 4000; exec \"$TAMIS\" run --manifest rules.toml -- seq 600000";
    command.args(["-c", script]).env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    command.env("TAMIS_STATE_DIR", folder.path(".state")).current_dir(folder.path(""));
    let ran = Ran::new(&command.output().unwrap());
    assert_eq!(ran.code, 0);
    ran.one_line();
    let records = folder.records();
    assert_eq!(records.len(), 1);
    let (filtered, raw) = ran.out.split_once("[tamis tenths: ").unwrap();
    let (note, raw) = raw.split_once('\n').unwrap();
    let said = format!("tamis recall {} (until it could not be written)]", ran.handle());
    assert!(note.ends_with(&said), "{note}");
    assert!(filtered.starts_with("10\n20\n30\n"), "{filtered}");
    let recorded = folder.full(ran.handle());
    let all: String = (1..=600_000).map(|n| format!("{n}\n")).collect();
    assert!(all.starts_with(&recorded) && all.ends_with(raw));
    assert!(recorded.len() + raw.len() >= all.len(), "{} and {}", recorded.len(), raw.len());
    // From the start: unchanged.
    let mut command = folder.runner(&["--manifest", "rules.toml", "seq", "5000"]);
    let blocked = folder.path("blocked");
    let command = command.env("TAMIS_STATE_DIR", &blocked).env("TMPDIR", &blocked);
    let ran = Ran::new(&command.output().unwrap());
    assert!(ran.out.starts_with("1\n2\n3\n") && ran.out.ends_with("\n5000\n"));
    ran.one_line();
}

#[test]
fn without_a_place_for_the_full_output_the_run_goes_on() {
    let folder = Folder::new();
    folder.write(".state", "a file in the way");
    let args = ["--keep", "--", "sh", "-c", "echo a; echo b >&2; exit 3"];
    let run = |temporary: &Path| {
        let ran = Ran::new(&folder.runner(&args).env("TMPDIR", temporary).output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (3, "a\nb\n"));
        ran.one_line();
        ran.err
    };
    let said = run(&folder.path(".state"));
    assert!(said.contains("warning: cannot record the full output, so it is not filtered: "));
    // The folder for temporary files is the second place.
    let said = run(&folder.path(""));
    let place = said.trim_end().rsplit_once(' ').expect("words").1;
    assert!(Path::new(place).starts_with(folder.path("")), "{said}");
    assert_eq!(std::fs::read_to_string(place).unwrap(), "a\nb\n");
    // No copy is needed without a filter, with --raw, or with --no-overflow.
    folder.shell("echo a").done("a\n");
    for flag in ["--raw", "--no-overflow"] {
        let ran = Ran::new(&folder.runner(&[flag, "git", "--version"]).output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    }
    folder.tamis(&["run", "--no-overflow", "--keep", "true"], b"").refused(2, &["--keep"]);
}

/// A sandbox may write only to the folder for temporary files. Its full outputs are found from outside, too.
#[test]
fn the_last_full_output_of_a_sandbox_is_found() {
    let folder = Folder::new();
    folder.write("file", "a file in the way");
    std::fs::create_dir(folder.path("temporary")).unwrap();
    let run = |state: &str, args: &[&str]| {
        let mut command = folder.any();
        command.args(args).env("TMPDIR", folder.path("temporary"));
        Ran::new(&command.env("TAMIS_STATE_DIR", folder.path(state)).output().unwrap())
    };
    let ran = run("file", &["run", "--keep", "--", "seq", "300"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for state in ["file/state", ".state"] {
        let ran = run(state, &["run", "--last", "--lines", "7-8"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "7\n8\n"), "{state}: {}", ran.err);
    }
}

/// As a full disk: a file cannot grow any further.
#[test]
fn when_the_disk_is_full_the_run_goes_on() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$TAMIS\" run --keep --overflow-dir mine -- sh -c 'head -c 100000 /dev/zero; exit 3'";
    command.args(["-c", script]).env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    command.env("TAMIS_STATE_DIR", folder.path(".state")).current_dir(folder.path(""));
    let ran = Ran::new(&command.output().unwrap());
    assert_eq!((ran.code, ran.out.len()), (3, 100_000));
    let warnings =
        ran.err.matches("recording the full output failed, so the rest is not filtered").count();
    assert_eq!(warnings, 1, "{}", ran.err);
    let record = std::fs::read_dir(folder.path("mine")).unwrap().next().unwrap().unwrap();
    assert!((1_000..100_000).contains(&record.metadata().unwrap().len()));
    // Without room for the beginning, nothing is stored.
    let mut command = Command::new("sh");
    let script = script.replace("--overflow-dir mine ", "");
    command.args(["-c", &script]).env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    command.env("TMPDIR", "/dev/null");
    let ran = Ran::new(&command.env("TAMIS_STATE_DIR", folder.path(".state")).output().unwrap());
    assert_eq!((ran.code, ran.out.len(), folder.records().len()), (3, 100_000, 0));
    assert!(
        ran.err.contains("cannot record the full output, so it is not filtered"),
        "{}",
        ran.err
    );
}
