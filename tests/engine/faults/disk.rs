//! The disk is full while data waits in a temporary file: every driver reports an error, its output up to then is
//! correct, and no file is left behind.
//!
//! Only the superuser could create a full disk. A limit on the size of files has the same effect; it applies to a
//! process, so the test starts itself again with that limit.

use std::path::Path;
use std::process::Command;

use tamis::http::Transform;
use tamis::{ErrorKind, Limits, Spec};
use tamis_chat::{PruneProgram, PruneSpec};

use super::drivers::{Driver, compiled, histories, json, plain, records};
use super::polls::{ADAPTERS, runtime, through};

/// Set where files may not grow.
const HERE: &str = "TAMIS_TEST_FULL_DISK";
/// The number of waiting bytes that are kept in memory.
const HELD: u64 = 1 << 10;
/// Bytes that come at once.
const PIECE: usize = 5_000;

type Case = (Driver, Box<dyn Fn(&Limits) -> Transform>);

/// Drivers that have to wait for more than a file may have.
fn cases() -> Vec<Case> {
    let items = r#"{"x": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}, "#.repeat(6_000);
    let late = format!("[{items}{{\"id\": 1}}]").into_bytes();
    let line = format!("{{\"id\": [{}1]}}\n", "1234567,".repeat(30_000));
    let event = format!("data: {{\"id\": [{}1]}}\n\n", "1234567,".repeat(30_000));
    let chat = format!("[{}{{\"role\": \"user\"}}]", "{\"role\": \"user\"}, ".repeat(15_000));
    let select = compiled(&Spec::new().select("id"));
    let options = |limits: &Limits| tamis_testkit::call_options().with_limits(limits.clone());
    // These filters hold nothing: only the output of a record waits.
    let whole = compiled(&Spec::new());
    let [lines, _, events] =
        records("whole", &whole, line.as_bytes(), event.as_bytes()).try_into().ok().expect("three");
    let prune = PruneProgram::compile(&PruneSpec::new().keep_turns(1)).expect("it compiles");
    let mut cases: Vec<Case> = Vec::new();
    let driver = json("late", &select, &late).swap_remove(0);
    let make = move |limits: &Limits| Transform::json(select.with_options(&options(limits)));
    cases.push((driver, Box::new(make)));
    let program = whole.clone();
    let make = move |limits: &Limits| Transform::ndjson(program.with_options(&options(limits)));
    cases.push((lines, Box::new(make)));
    let make = move |limits: &Limits| Transform::events(whole.with_options(&options(limits)));
    cases.push((events, Box::new(make)));
    let make = move |limits: &Limits| Transform::from(&prune.clone().with_limits(limits.clone()));
    cases.push((histories(chat.as_bytes()).swap_remove(0), Box::new(make)));
    cases
}

fn files_may_not_grow() {
    let limits = Limits::new().with_held(HELD);
    let runtime = runtime();
    for (driver, transform) in cases() {
        let mut right = Vec::new();
        let all_in_memory = Limits::new().with_held(1 << 30).with_spill(0);
        driver.run_within(&all_in_memory, &plain, &mut right).0.expect("memory suffices");
        let check = |how: &str, (output, result): (Vec<u8>, Result<(), tamis::Error>)| {
            let said = format!("{}, {how}", driver.name);
            let error = result.expect_err(&said);
            assert_eq!((error.kind(), error.limit()), (ErrorKind::Spill, None), "{said}: {error}");
            let message = "cannot write the temporary file";
            assert!(error.message().contains(message), "{said}: {error}");
            let cause = error.io_error().map(std::io::Error::kind);
            assert_eq!(cause, Some(std::io::ErrorKind::FileTooLarge), "{said}: {error}");
            assert!(right.starts_with(&output) && output.len() < right.len(), "{said}");
            // It goes with the run.
            assert_eq!(open_files(), 0, "{said}");
        };
        let mut output = Vec::new();
        let (result, _) = driver.run_within(&limits, &plain, &mut output);
        check("blocking", (output, result));
        for adapter in ADAPTERS {
            let run = through(adapter, transform(&limits), &driver.input, PIECE);
            check(adapter, runtime.block_on(run));
        }
    }
}

/// Files without a name that are open.
fn open_files() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("a folder").flatten();
    let deleted = |path: &Path| path.to_string_lossy().ends_with("(deleted)");
    open.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|path| deleted(&path))).count()
}

#[test]
fn a_full_disk() {
    if std::env::var_os(HERE).is_some() {
        return files_may_not_grow();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut again = Command::new("sh");
    again.args(["-c", r#"trap "" XFSZ; ulimit -f 8; exec "$@""#, "sh"]);
    again.arg(std::env::current_exe().expect("this program"));
    again.args(["faults::disk::a_full_disk", "--exact", "--nocapture", "--test-threads=1"]);
    let output = again.env(HERE, "").env("TMPDIR", folder.path()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}\n{errors}");
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "files are left");
}
