//! `tamis recall`: results in the store of the user and in other stores, their parts, messages and exit codes.

use tamis_store::{EntryMeta, Scope, Store, StoreConfig};

use super::*;

const ISSUES: &str =
    r#"{"total":3,"issues":[{"id":1,"title":"a"},{"id":2,"title":"b"},{"id":3,"body":"x\ny\n"}]}"#;
const LOG: &str = "one\nerror: two\n[tamis: three]\nfour\n";

/// Stores an entry, as another program does.
fn put(store: &Path, scope: Scope, meta: EntryMeta, bytes: &str) -> String {
    let store = Store::open(StoreConfig::folder(store));
    let mut writer = store.begin(scope, meta).unwrap();
    writer.write_all(bytes.as_bytes()).unwrap();
    writer.finish().unwrap().to_string()
}

#[test]
fn last_is_a_flag() {
    for word in ["last", "latest"] {
        let ran = Folder::new().tamis(&["recall", word], b"");
        ran.refused(2, &["write tamis recall --last"]);
    }
}

#[test]
fn parts_are_printed() {
    let folder = Folder::new();
    let store = folder.path(".state/store");
    let json = put(&store, Scope::user(), EntryMeta::json("search"), ISSUES);
    let text = put(&store, Scope::user(), EntryMeta::text("make"), LOG);
    for (handle, flags, expected) in [
        (&json, &[][..], format!("{ISSUES}\n")),
        (&json, &["--pointer", "/total"], "3\n".into()),
        (&json, &["--pointer", "issues[2].body"], "x\ny\n".into()),
        (&json, &["--pointer", "/issues/2/body", "--lines", "2"], "y\n".into()),
        (
            &json,
            &["--items", "1-", "--select", "id,t=title"],
            "[{\"id\":2,\"t\":\"b\"},{\"id\":3}]\n".into(),
        ),
        (
            &json,
            &["--items", "0", "--select", "id", "--select", "title"],
            "[{\"id\":1,\"title\":\"a\"}]\n".into(),
        ),
        (&json, &["--grep", "total"], "2:  \"total\": 3,\n".into()),
        (&text, &[], LOG.replace("[tamis", "| [tamis")),
        (&text, &["--lines", "1-2"], "one\nerror: two\n".into()),
        (
            &text,
            &["--grep", "^err", "--context", "1"],
            "1-one\n2:error: two\n3-[tamis: three]\n".into(),
        ),
        (&text, &["--grep", "-|four"], "4:four\n".into()),
        (&text, &["--offset", "30"], "four\n".into()),
        (&text, &["--limit", "all"], LOG.replace("[tamis", "| [tamis")),
    ] {
        folder.tamis(&[&["recall", handle.as_str()], flags].concat(), b"").done(&expected);
    }
    // Nothing is cut without a message.
    let ran = folder.tamis(&["recall", &text, "--limit", "8"], b"");
    let said = format!("tamis: {text}: bytes 0-7 of 35; for the next, the same with --offset 8\n");
    assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "one\nerro", said));
    let ran = folder.tamis(&["recall", &text, "--grep", "five"], b"");
    let said = format!("tamis: {text}: no line matches\n");
    assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "", said));
    let big = put(&store, Scope::user(), EntryMeta::text("x"), &"0123456789abcde\n".repeat(2_000));
    let ran = folder.tamis(&["recall", &big], b"");
    assert_eq!((ran.code, ran.out.len()), (0, 16 << 10));
    ran.one_line();
    assert_eq!(folder.tamis(&["recall", &big, "--limit", "20k"], b"").out.len(), 20 << 10);
    assert_eq!(folder.tamis(&["recall", &big, "--limit", "all"], b"").out.len(), 32_000);
}

#[test]
fn other_stores_are_named() {
    let folder = Folder::new();
    let handle = put(&folder.path("mine"), Scope::user(), EntryMeta::text("x"), "text\n");
    folder.tamis(&["recall", &handle, "--store", "mine"], b"").done("text\n");
    let unknown = "unknown or expired; call the tool again";
    folder.tamis(&["recall", &handle], b"").refused(1, &[&handle, unknown]);
    // Entries of a session are not the user's.
    let foreign = put(&folder.path("mine"), Scope::session(b"s"), EntryMeta::text("x"), "text\n");
    folder.tamis(&["recall", &foreign, "--store", "mine"], b"").refused(1, &[unknown]);
    // A folder that others can enter is not used.
    use std::os::unix::fs::PermissionsExt;
    let open = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("mine"), open).unwrap();
    let ran = folder.tamis(&["recall", &handle, "--store", "mine"], b"");
    ran.refused(1, &["cannot read the store", "other users can enter the folder"]);
    // Nothing is created by reading.
    assert_eq!(folder.names(), ["mine"]);
}

#[test]
fn wrong_questions_are_refused() {
    let folder = Folder::new();
    let store = folder.path(".state/store");
    let json = put(&store, Scope::user(), EntryMeta::json("x"), ISSUES);
    let text = put(&store, Scope::user(), EntryMeta::text("x"), LOG);
    for (handle, flags, code, message) in [
        ("nonsense", &[][..], 1, "unknown or expired"),
        ("tm_../../../etc/passwd", &[], 1, "unknown or expired"),
        ("", &[], 1, "unknown or expired"),
        (&json, &["--pointer", "/nothing"], 1, "no value at /nothing"),
        (&json, &["--select", "nothing"], 1, "no item has any of the selected paths"),
        (&json, &["--pointer", "/total", "--items", "1"], 1, "the value at /total is not an array"),
        (&text, &["--items", "1"], 1, "items: the entry is text; use lines, grep or offset"),
        (&json, &["--items", "3-1"], 2, "--items: expected a range such as 25-49"),
        (&json, &["--lines", "0-1"], 2, "--lines: expected a range from 1"),
        (&json, &["--grep", "("], 2, "--grep: unclosed group"),
        (&json, &["--pointer", "a..b"], 2, "--"),
        (&json, &["--context", "3"], 2, "--grep"),
        (&json, &["--limit", "some"], 2, "--limit"),
        (&json, &["--grep", "x", "--context", "1000"], 2, "--context: expected at most 100 lines"),
    ] {
        let ran = folder.tamis(&[&["recall", handle], flags].concat(), b"");
        ran.refused(code, &[message]);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    folder.tamis(&["recall"], b"").refused(2, &["<HANDLE>"]);
}

#[test]
fn the_last_full_output_is_printed() {
    let folder = Folder::new();
    let last = || folder.tamis(&["run", "--last"], b"");
    last().refused(1, &["no full output is stored"]);
    for number in ["1", "2"] {
        folder.tamis(&["run", "--keep", "echo", number], b"");
    }
    // Nothing was cut, so it was not kept.
    folder.tamis(&["run", "echo", "3"], b"").done("3\n");
    put(&folder.path(".state/store"), Scope::user(), EntryMeta::text("tool"), "4\n");
    last().done("2\n");
    folder.tamis(&["run", "--keep", "head", "-c", "100000", "/dev/zero"], b"");
    assert_eq!(last().out.len(), 100_000);
    folder.tamis(&["run", "--last", "ls"], b"").refused(2, &["--last"]);
    folder.tamis(&["run"], b"").refused(2, &["<COMMAND>"]);
    // After `--`, it is the command's.
    folder.tamis(&["run", "--", "echo", "--last"], b"").done("--last\n");
}

#[test]
fn the_folder_of_the_user_is_where_it_says() {
    let folder = Folder::new();
    for (variables, expected) in [
        (&[("TAMIS_STATE_DIR", "t"), ("XDG_STATE_HOME", "x"), ("HOME", "h")][..], "t/store"),
        (&[("XDG_STATE_HOME", "x"), ("HOME", "h")], "x/tamis/store"),
        (&[("HOME", "h")], "h/.local/state/tamis/store"),
    ] {
        let mut command = folder.runner(&["--keep", "true"]);
        for name in ["TAMIS_STATE_DIR", "XDG_STATE_HOME", "HOME"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().map(|(name, path)| (name, folder.path(path))));
        assert_eq!(Ran::new(&command.output().unwrap()).code, 0);
        // The full output and the lock.
        assert_eq!(std::fs::read_dir(folder.path(expected)).unwrap().count(), 2, "{expected}");
    }
    // Paths that are not absolute do not count.
    let mut command = folder.runner(&["--keep", "true"]);
    command.env("TAMIS_STATE_DIR", "t2").env("XDG_STATE_HOME", "x2").env("HOME", folder.path("h2"));
    command.output().unwrap();
    assert!(
        !folder.path("t2").exists() && !folder.path("x2").exists() && folder.path("h2").exists()
    );
}

/// Full outputs of several runs at once are all kept, each under its own handle.
#[test]
fn runs_at_the_same_time_share_the_store() {
    let folder = Folder::new();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let mut command = folder.any();
            let script = format!("echo {number}; sleep .1; echo {number}");
            command.args(["run", "--keep", "--", "sh", "-c", &script]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        let handle = said.trim_end().rsplit_once(' ').unwrap().1;
        folder.tamis(&["recall", handle], b"").done(&format!("{number}\n{number}\n"));
    }
}

/// A run that is killed leaves nothing that can be recalled, and no file after the next run.
#[test]
fn a_killed_run_leaves_nothing() {
    let folder = Folder::new();
    let mut command = folder.any();
    command.args(["run", "--keep", "--", "sh", "-c", "echo ready; exec sleep 30"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let parts = || -> Vec<String> {
        let names = std::fs::read_dir(folder.path(".state/store")).unwrap();
        let names = names.map(|name| name.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "lock").collect()
    };
    let begun = parts();
    assert_eq!(begun.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let handle = begun[0].trim_start_matches('.').trim_end_matches(".part");
    folder.tamis(&["recall", handle], b"").refused(1, &["unknown or expired"]);
    folder.tamis(&["run", "--keep", "true"], b"");
    let left = parts();
    assert!(left.len() == 1 && left != begun, "{left:?}");
}
