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
    // Below 32 levels nothing is indented further.
    let ran = piped(&["--pretty"], &format!("{}1{}", "[".repeat(40), "]".repeat(40)));
    let widest = ran.out.lines().map(|line| line.len() - line.trim_start().len()).max();
    assert_eq!((widest, ran.out.lines().count()), (Some(64), 81));
    let corpus = root().join("corpus/graphql-depth8.json");
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
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(printed.starts_with("tamis: standard output: cannot write the output: "), "{printed}");
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

/// A command in a shell, in which `$TAMIS` is the program.
#[cfg(unix)]
fn shell(folder: &Folder, script: &str) -> Ran {
    let mut command = Command::new("sh");
    command.current_dir(folder.path("")).args(["-c", script]);
    command.env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    Ran::new(&command.stdin(Stdio::null()).output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_standard_stream_that_is_closed_or_only_read_is_an_error() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    folder.write("h.json", r#"[{"role":"tool","content":"text"}]"#);
    folder.write("page.txt", "a text");
    folder.write("m.yaml", "version: 1\nfilters: {t: {}}\n");
    for args in [
        "filter a.json",
        "filter --ndjson a.json",
        "filter --lenient --pretty a.json",
        "filter --docs a.json",
        "filter -o /dev/stdout a.json",
        "look a.json",
        "audit m.yaml",
        "savings",
        "content page.txt",
        "prune h.json",
        "text --command cat a.json",
        "run -- echo a",
        "tools",
        "explain",
        "check m.yaml",
        "check --schema",
        "completions bash",
        "man",
        "help",
        "help paths",
        "filter --help",
        "--version",
    ] {
        for output in ["1</dev/null", ">&-", ">&- <&-"] {
            let ran = shell(&folder, &format!("$TAMIS {args} {output}"));
            assert_eq!(ran.code, 1, "{args} {output}: {}", ran.err);
            ran.one_line();
            assert!(ran.err.contains("cannot write the output: "), "{args} {output}: {}", ran.err);
        }
        let ran = shell(&folder, &format!("$TAMIS {args} >/dev/null"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args}");
        // The target of the link is written.
        let ran = shell(&folder, &format!("$TAMIS {args} 1<>/dev/null"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args}");
    }
    for args in
        ["hook gemini", "hook codex --config user", "hook shell --config user 'echo ran >&2'"]
    {
        for output in ["1</dev/null", ">&-", ">&- <&-"] {
            let ran = shell(&folder, &format!("$TAMIS {args} {output}"));
            assert_eq!(ran.code, 1, "{args} {output}: {}", ran.err);
            ran.one_line();
            assert!(ran.err.contains("cannot write the output: "), "{args} {output}: {}", ran.err);
        }
        let ran = shell(&folder, &format!("$TAMIS {args} >/dev/null </dev/null"));
        assert_eq!(ran.code, 0, "{args}: {}", ran.err);
    }
    // They are programs of another package, which need not be there.
    for args in ["mcp -- cat", "serve --config gateway.yaml"] {
        let ran = shell(&folder, &format!("$TAMIS {args} >&-"));
        assert_eq!(ran.code, 1, "{args}: {}", ran.err);
        assert!(ran.err.contains("cannot write the output: "), "{args}: {}", ran.err);
    }
    // It also prints sizes on standard error.
    assert_eq!(shell(&folder, "$TAMIS suggest a.json >&-").code, 1);
    for error in ["2</dev/null", "2>&-"] {
        let ran = shell(&folder, &format!("$TAMIS filter --report - a.json {error}"));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_written_to_as_they_are() {
    let folder = Folder::new();
    folder.write("a.json", "[ 1 ]");
    std::os::unix::fs::symlink("/dev/stdout", folder.path("link")).unwrap();
    for (args, redirect, added) in [
        ("-o /dev/stdout", ">>log", "[1]\n"),
        ("-o /proc/self/fd/1", ">>log", "[1]\n"),
        ("-o link", ">>log", "[1]\n"),
        ("-o /dev/stderr", "2>>log", "[1]\n"),
        ("-o /dev/fd/7", "7>>log", "[1]\n"),
        ("--tee /dev/fd/7", "7>>log", "[ 1 ]"),
        ("--tee /dev/stdout -o b.json", ">>log", "[ 1 ]"),
    ] {
        folder.write("log", "before\n");
        let inode = |name: &str| {
            use std::os::unix::fs::MetadataExt;
            std::fs::metadata(folder.path(name)).unwrap().ino()
        };
        let was = inode("log");
        let ran = shell(&folder, &format!("$TAMIS filter a.json {args} {redirect}"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args}");
        assert_eq!(folder.read("log"), format!("before\n{added}"), "{args}");
        assert_eq!(inode("log"), was, "{args}");
    }
    folder.write("log", "before\n");
    let ran = shell(&folder, "$TAMIS filter a.json --report /dev/stderr 2>>log");
    assert_eq!((ran.code, ran.out.as_str()), (0, "[1]\n"));
    assert!(folder.read("log").starts_with("before\n{\"filter_applied\":false"));
    // Writes through two descriptors of a file continue after each other.
    let ran = shell(&folder, "{ echo one; $TAMIS filter a.json -o /dev/fd/3; echo two; } 3>&1");
    ran.done("one\n[1]\ntwo\n");
    let ran = shell(&folder, "$TAMIS filter -o /dev/stdout <>a.json >&0");
    ran.refused(2, &[]);
    let ran = shell(&folder, "$TAMIS filter a.json -o /dev/fd/9");
    ran.refused(1, &["/dev/fd/9: cannot write"]);
    assert_eq!(folder.names(), ["a.json", "b.json", "link", "log"]);
}

#[test]
fn an_input_file_is_not_an_output_file() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    folder.write("p.json", "[]");
    folder.write("m.yaml", "version: 1\nfilters: {t: {}}\n");
    folder.write("r.toml", "");
    let (patch, manifest) =
        (&["filter", "--patch", "p.json"][..], &["filter", "--manifest", "m.yaml"][..]);
    let text = &["text", "--command", "cat", "--manifest", "r.toml"][..];
    for (args, file, flags) in [
        (patch, "p.json", &["-o", "--tee", "--report"][..]),
        (manifest, "m.yaml", &["-o", "--tee", "--report"]),
        (text, "r.toml", &["-o", "--report"]),
        (&["filter"], "a.json", &["--tee", "--report"]),
        (&["content"], "a.json", &["--report"]),
        (&["prune"], "a.json", &["--report"]),
        (&["text", "--command", "cat"], "a.json", &["--report"]),
    ] {
        let before = folder.read(file);
        for flag in flags {
            for name in [file, &format!("./{file}")] {
                let args = [args, &["a.json", flag, name]].concat();
                let ran = folder.tamis(&args, b"");
                ran.refused(2, &["are the same file; give"]);
                ran.one_line();
                assert_eq!(folder.read(file), before, "{args:?}");
            }
        }
    }
    #[cfg(unix)]
    folder
        .tamis(&["run", "--manifest", "r.toml", "--report", "r.toml", "true"], b"")
        .refused(2, &["--report and --manifest are the same file"]);
    // All written files are different.
    for args in
        [["--tee", "t", "--report", "t"], ["-o", "t", "--report", "t"], ["-o", "t", "--tee", "./t"]]
    {
        folder.run([&args[..], &["a.json"]].concat()).refused(2, &["are the same file"]);
    }
    assert_eq!(folder.names(), ["a.json", "m.yaml", "p.json", "r.toml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_no_temporary_file() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    let begin = |before: &str| {
        let mut command = Command::new("sh");
        command
            .current_dir(folder.path(""))
            .args(["-c", &format!("{before} exec \"$0\" filter -o out.json")]);
        let command = command.arg(env!("CARGO_BIN_EXE_tamis"));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"[1,").unwrap();
        // Until it is there.
        while !folder.names().iter().any(|name| name.starts_with(".tamis-")) {
            std::thread::yield_now();
        }
        (child, input)
    };
    for signal in ["TERM", "INT", "HUP"] {
        let (mut child, input) = begin("umask 000;");
        let temporary =
            folder.names().into_iter().find(|name| name.starts_with(".tamis-")).unwrap();
        let mode = std::fs::metadata(folder.path(&temporary)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        kill(&child, signal);
        let status = child.wait().unwrap();
        drop(input);
        let number =
            [("TERM", 15), ("INT", 2), ("HUP", 1)].iter().find(|(name, _)| *name == signal);
        assert_eq!(status.signal(), number.map(|(_, number)| *number), "{signal}");
        assert_eq!(folder.names(), [""; 0], "{signal}");
    }
    // Ignored signals stay ignored, and the complete file has the default mode.
    let (mut child, mut input) = begin("trap '' HUP INT; umask 027;");
    kill(&child, "HUP");
    kill(&child, "INT");
    input.write_all(b"2]").unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(folder.read("out.json"), "[1,2]\n");
    let mode = std::fs::metadata(folder.path("out.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(folder.names(), ["out.json"]);
}

#[cfg(target_os = "linux")]
fn kill(child: &std::process::Child, signal: &str) {
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
    assert!(killed.success());
}

/// However early the signal comes.
#[cfg(unix)]
#[test]
fn a_signal_as_the_temporary_file_appears_leaves_none() {
    let folder = Folder::new();
    for _ in 0..20 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.current_dir(folder.path("")).args(["filter", "-o", "out.json"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        while !folder.names().iter().any(|name| name.starts_with(".tamis-")) {
            std::thread::yield_now();
        }
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_stays_one() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("a.json", "[ 1 ]");
    std::fs::create_dir(folder.path("deep")).unwrap();
    symlink("deep/other", folder.path("link")).unwrap();
    symlink("new.json", folder.path("deep/other")).unwrap();
    folder.run(["a.json", "-o", "link"]).done("");
    assert_eq!(folder.read("deep/new.json"), "[1]\n");
    for link in ["link", "deep/other"] {
        assert!(std::fs::symlink_metadata(folder.path(link)).unwrap().is_symlink(), "{link}");
    }
    symlink("round", folder.path("round")).unwrap();
    folder.run(["a.json", "-o", "round"]).refused(1, &["round: cannot write"]);
    assert!(std::fs::symlink_metadata(folder.path("round")).unwrap().is_symlink());
    assert_eq!(folder.names(), ["a.json", "deep", "link", "round"]);
}

#[test]
fn elements_as_lines() {
    let input = r#"{"n":1,"items":[{"id":1,"x":[2,3]},"a\"b",[4],null],"z":{"y":5}}"#;
    let all = "{\"id\":1,\"x\":[2,3]}\n\"a\\\"b\"\n[4]\nnull\n";
    piped(&["--lines"], input).done(all);
    piped(&["--lines", "--select", "id", "--max-items", "2"], input)
        .done("{\"id\":1}\n\"a\\\"b\"\n");
    piped(&["--lines", "--extract", "items"], input).done(all);
    piped(&["--lines", "--root", "items[0].x"], input).done("2\n3\n");
    piped(&["--lines", "--stop-early", "--max-items", "1"], input).done("{\"id\":1,\"x\":[2,3]}\n");
    piped(&["--lines", "--retain", "/items/x,/z"], input).done("{\"x\":[2,3]}\n");
    // A payload that is not an array is one line.
    piped(&["--lines", "--root", "z"], input).done("{\"y\":5}\n");
    piped(&["--lines", "--root", "n"], input).done("1\n");
    piped(&["--lines", "--root", "object"], input).done(&format!("{input}\n"));
    piped(&["--lines"], "3").done("3\n");
    // Without elements there are no lines.
    piped(&["--lines"], "{\"items\":[]}").done("");
    let ran = piped(&["--lines", "--root", "q"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no value at root q"), "{}", ran.err);
    piped(&["--lines", "--ndjson"], "[1,2]\n[]\n{\"items\":[3]}\n").done("1\n2\n3\n");
    // A mark is not an element.
    piped(&["--lines", "--max-items", "1", "--omitted", "mark"], "[1,2]").done("1\n");
    piped(&["--lines", "--budget", "20"], "{\"a\":0,\"items\":[[1,2],[3,4],[5,6]]}")
        .done("[1,2]\n");
    let ran = piped(&["--lines", "--budget", "12"], "[[1,2],[3,4],[5,6]]");
    assert_eq!((ran.code, ran.out.as_str()), (0, "[1,2]\n"));
    // Elements before an error were already written.
    let ran = piped(&["--lines"], "[1,2,oops]");
    assert_eq!((ran.code, ran.out.as_str()), (1, "1\n2"));
}

#[test]
fn strings_without_quotes() {
    piped(&["-r"], r#""a\nb\u00e9 \"c\"""#).done("a\nb\u{e9} \"c\"\n");
    piped(&["-r", "--pretty"], "[\"a\"]").done("[\n  \"a\"\n]\n");
    piped(&["--raw-strings", "--extract", "[0].t"], "[{\"t\":\"x\\ty\"}]").done("x\ty\n");
    piped(&["-r", "--lines"], "[\"a\",[\"b\"],1,\"\",\"c\"]").done("a\n[\"b\"]\n1\n\nc\n");
    piped(&["-r", "--ndjson", "--extract", "m"], "{\"m\":\"one\"}\n{\"m\":[2]}\n")
        .done("one\n[2]\n");
    piped(&["-r", "--docs"], "\"a\"\"b\"").done("a\nb\n");
    piped(&["-r"], "{\"a\":\"b\"}").done("{\"a\":\"b\"}\n");
}

#[test]
fn the_text_of_a_summary() {
    let folder = Folder::new();
    folder.write(
        "t.yaml",
        "version: 1\nfilters:\n  t: {compact: {header: '{{.Total}} users', item: '- \"{{.id}}\"'}}\n",
    );
    folder.write("a.json", r#"{"n": 1, "items": [{"id": "a"}, {"id": "b"}]}"#);
    let args = ["--manifest", "t.yaml", "a.json"];
    folder.run(args.iter().chain(&["-r"])).done("2 users\n- \"a\"\n- \"b\"\n");
    let ran = folder.run(args);
    assert!(ran.out.starts_with("{\"n\":1,\"summary\":\"2 users\\n"), "{}", ran.out);
    folder.run(args.iter().chain(&["--lines"])).refused(2, &["--lines: ", "summary"]);
    folder.write("a.json", "{\"n\": \"x\"}");
    folder.run(args.iter().chain(&["-r"])).done("{\"n\":\"x\"}\n");
}

#[test]
fn flags_for_lines_that_cannot_be_combined() {
    for (flags, printed) in [
        (&["--lines", "--pretty"][..], "--lines and --pretty: "),
        (&["--lines", "--raw"], "--lines and --raw: "),
        (&["--lines", "--siblings", "keep"], "--lines and --siblings keep: "),
        (&["--lines", "--whitespace", "keep"], "--whitespace keep cannot be combined with"),
        (&["-r", "--whitespace", "keep"], "--whitespace keep cannot be combined with"),
    ] {
        piped(flags, "[1]").refused(2, &[printed]);
    }
}
