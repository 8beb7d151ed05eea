//! Where output goes: indented, to pipes, to files that are replaced.

use super::*;

const DOCUMENTS: [&str; 6] = [
    "1",
    "[]",
    "{}",
    r#"{"a":{"b":[1,2,{"c":[]},{}]},"d":"x: [\"y\"]"}"#,
    r#"[[],[[]],{"a":{}},null,true,-1.5,"é"]"#,
    "[\"\\\\\",{\"\\\"\":\"{\"}]",
];

#[test]
fn pretty_is_what_the_oracle_prints() {
    for document in DOCUMENTS {
        let value: Value = serde_json::from_str(document).unwrap();
        let expected = serde_json::to_string_pretty(&value).unwrap() + "\n";
        piped(&["--pretty"], document).done(&expected);
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/graphql-depth8.json");
    let text = std::fs::read_to_string(corpus).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::to_string_pretty(&value).unwrap() + "\n";
    piped(&["--pretty"], &serde_json::to_string(&value).unwrap()).done(&expected);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    folder.write("a.json", format!("[{}1]", "1,".repeat(1_000_000)));
    for args in [&["a.json"][..], &["--pretty", "a.json"], &["--lenient", "a.json"]] {
        let mut child = folder
            .command()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command().arg("a.json").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.starts_with("tamis: standard output: cannot write the output: "), "{told}");
}

#[test]
fn a_file_may_be_replaced_by_its_output() {
    let folder = Folder::new();
    folder.write("a.json", "[ {\"id\": 1, \"x\": 2} ]");
    folder.run(["--select", "id", "a.json", "-o", "a.json"]).done("");
    assert_eq!(folder.read("a.json"), "[{\"id\":1}]\n");
    folder.run(["a.json", "-o", "b.json", "--pretty"]).done("");
    assert_eq!(folder.read("b.json"), "[\n  {\n    \"id\": 1\n  }\n]\n");
    folder.run(["a.json", "-o", "-"]).done("[{\"id\":1}]\n");
    assert_eq!(folder.names(), ["a.json", "b.json"]);
}

#[test]
fn a_run_that_fails_leaves_the_file_alone() {
    let folder = Folder::new();
    folder.write("a.json", "[1, oops]");
    folder.write("out.json", "as it was");
    for args in [
        &["a.json", "-o", "out.json"][..],
        &["a.json", "-o", "a.json"],
        &["nothing.json", "-o", "out.json"],
        &["a.json", "-o", "new.json"],
        &["--select", "a..b", "a.json", "-o", "out.json"],
    ] {
        assert_ne!(folder.run(args).code, 0, "{args:?}");
        assert_eq!(folder.names(), ["a.json", "out.json"], "{args:?}");
    }
    assert_eq!(
        (folder.read("a.json"), folder.read("out.json")),
        ("[1, oops]".into(), "as it was".into())
    );
    folder.run(["a.json", "-o", "no/out.json"]).refused(1, &["tamis: no/out.json: cannot write"]);
    folder.run(["a.json", "-o", "."]).refused(1, &["tamis: .: cannot write"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_with_a_name_is_written_to_not_replaced() {
    let folder = Folder::new();
    folder.write("a.json", "[ 1 ]");
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = folder.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    folder.run(["a.json", "-o", "pipe"]).done("");
    assert_eq!(reader.join().unwrap(), "[1]\n");
    assert_eq!(folder.names(), ["a.json", "pipe"]);
}

#[test]
fn bad_lines_leave_the_file_alone() {
    let folder = Folder::new();
    folder.write("a.ndjson", "[1]\n[oops]\n[2]\n");
    let ran = folder.run(["--ndjson", "a.ndjson", "-o", "a.ndjson"]);
    ran.refused(1, &["a.ndjson: line 2: byte 5", "a.ndjson: not written"]);
    assert_eq!(folder.read("a.ndjson"), "[1]\n[oops]\n[2]\n");
    folder.write("a.ndjson", "[ 1 ]\n[ 2 ]");
    folder.run(["--ndjson", "a.ndjson", "-o", "a.ndjson"]).done("");
    assert_eq!(folder.read("a.ndjson"), "[1]\n[2]\n");
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let mode =
        |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    folder.write("a.json", "[ 1 ]");
    for wanted in [0o600, 0o640, 0o755] {
        let permissions = std::fs::Permissions::from_mode(wanted);
        std::fs::set_permissions(folder.path("a.json"), permissions).unwrap();
        folder.run(["a.json", "-o", "a.json"]).done("");
        assert_eq!(mode("a.json"), wanted);
    }
    folder.write("plain.json", "");
    folder.run(["a.json", "-o", "new.json"]).done("");
    assert_eq!(mode("new.json"), mode("plain.json"), "as any new file");
    symlink("new.json", folder.path("link.json")).unwrap();
    folder.run(["--max-items", "1", "a.json", "-o", "link.json"]).done("");
    assert!(std::fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    assert_eq!(folder.read("new.json"), "[1]\n");
}
