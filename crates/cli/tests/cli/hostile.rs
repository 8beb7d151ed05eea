//! Where a process may be put: arguments of any size, streams that are closed, folders and devices as files.

use super::*;

#[cfg(unix)] // A command line of Windows has at most 32 KiB.
#[test]
fn long_lists_of_paths() {
    let folder = Folder::new();
    // As long as a system lets one argument be.
    let names: Vec<String> = (0..9_000).map(|number| format!("member_{number}")).collect();
    let list = names.join(",");
    assert!(list.len() > 100_000);
    let input = "[{\"member_8999\":1,\"x\":2}]";
    let ran = folder.pipe(["--select", &list], input.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (0, "[{\"member_8999\":1}]\n"));
    ran.one_line();
    assert!(ran.err.contains("`member_4` and 8994 more of the selected paths"), "{}", ran.err);
    let ran = folder.pipe(["--exclude", &list], input.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (0, "[{\"x\":2}]\n"));
    // Names that are close to `member_8999`.
    ran.one_line();
    assert!(ran.err.len() < 500 && ran.err.contains(" more of the paths"), "{}", ran.err);
    let explained = folder.tamis(&["explain", "--select", &list], b"");
    assert_eq!(explained.code, 0);
    assert!(explained.out.contains("├─ member_0     as \"member_0\""), "{}", explained.out);
    let more = vec!["x"; 10_001].join(",");
    let ran = folder.pipe(["--exclude", &more], b"[]");
    ran.refused(2, &["tamis: 10001 rules exceed the limit of 10000"]);
    ran.one_line();
}

#[cfg(unix)] // As above.
#[test]
fn one_long_path() {
    let folder = Folder::new();
    let name = "n".repeat(60_000);
    let input = format!("[{{\"{name}\":1,\"x\":2}}]");
    folder.pipe(["--exclude", &name], input.as_bytes()).done("[{\"x\":2}]\n");
    for (flag, path) in [
        ("--select", format!("{name}..{name}")),
        ("--select", format!("[0],{name}.\n")),
        ("--exclude", "[".repeat(100_000)),
        ("--max-items", "9".repeat(100_000)),
        ("--on-error", "é".repeat(50_000)),
        ("--slect", name),
        ("--exclude", vec!["a"; 5_000].join(".")),
    ] {
        let ran = folder.pipe([flag, &path], b"[]");
        ran.refused(2, &[]);
        ran.one_line();
        assert!(ran.err.len() < 4_000, "{} bytes", ran.err.len());
    }
    let deep = vec!["a"; 1_000].join(".");
    let explained = folder.tamis(&["explain", "--select", &deep], b"");
    assert_eq!((explained.code, explained.err.as_str()), (0, ""));
}

#[cfg(unix)] // As above.
#[test]
fn combs_of_paths_are_drawn_in_linear_time() {
    // Each path goes one step further than the one before and branches there.
    let paths: Vec<String> =
        (0..300).map(|depth| format!("{}x{depth}", "a.".repeat(depth))).collect();
    let ran = Folder::new().tamis(&["explain", "--exclude", &paths.join(",")], b"");
    assert_eq!(ran.code, 0);
    assert!(ran.out.len() < 20 * paths.join(",").len(), "{} bytes", ran.out.len());
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\u{7}b";
    for args in [
        &["explain", "--select", name][..],
        &["explain", "--exclude", name],
        &["explain", "--retain", &format!("/{name}")],
        &["explain", "--root", name],
        &["filter", "--select", &format!("{name}..")],
        &["filter", name],
        &["help", name],
        &[name],
    ] {
        let ran = folder.tamis(args, b"[]");
        assert!(!ran.out.contains(['\u{1b}', '\u{7}']), "{args:?}: {}", ran.out);
        assert!(!ran.err.contains(['\u{1b}', '\u{7}']), "{args:?}: {}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn arguments_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for args in [
        &[OsStr::new("filter"), OsStr::new("--select"), odd][..],
        &[OsStr::new("explain"), OsStr::new("--exclude"), odd],
        &[OsStr::new("help"), odd],
        &[odd],
        &[OsStr::new("--color"), odd],
    ] {
        let ran = folder.tamis(args, b"[]");
        ran.refused(2, &[]);
        ran.one_line();
    }
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("secret.json", "[1]");
    let none = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(folder.path("secret.json"), none).unwrap();
    // Who may do everything may read it.
    if File::open(folder.path("secret.json")).is_err() {
        let ran = folder.run(["secret.json"]);
        ran.refused(1, &["tamis: secret.json: cannot read the input: "]);
        ran.one_line();
    }
    let ran = folder.run(["secret.json/x"]);
    ran.refused(1, &["tamis: secret.json/x: cannot read the input: "]);
    std::os::unix::fs::symlink("loop", folder.path("loop")).unwrap();
    folder.run(["loop"]).refused(1, &["tamis: loop: cannot read the input: "]);
    let folder_as = |args: &[&str]| folder.run(args).refused(1, &["tamis: .: "]);
    folder_as(&["."]);
    folder_as(&["--ndjson", "."]);
    folder_as(&["--lenient", "."]);
    folder_as(&["--select", "id", "."]);
}

/// Every command that prints, over enough that it fills a pipe.
#[cfg(unix)]
const PRINTING: [&[&str]; 9] = [
    &["filter", "a.json"],
    &["filter", "--ndjson", "a.json"],
    &["explain", "--select", "a"],
    &["explain", "--json"],
    &["help"],
    &["help", "paths"],
    &["--help"],
    &["completions", "zsh"],
    &["man"],
];

#[cfg(unix)]
fn printing(args: &[&str], folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.current_dir(folder.path("")).args(args).stdin(Stdio::null());
    command
}

#[cfg(unix)]
#[test]
fn nobody_reads_the_output() {
    let folder = Folder::new();
    folder.write("a.json", format!("[{}1]", "1,".repeat(500_000)));
    for args in PRINTING {
        let mut command = printing(args, &folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn nobody_reads_what_is_said() {
    let folder = Folder::new();
    folder.write("a.json", "[{\"a\":1}]");
    folder.write("bad.ndjson", "[\n".repeat(10_000));
    let cases: [(&[&str], i32, &str); 7] = [
        (&["filter", "nothing.json"], 1, ""),
        (&["filter", "--ndjson", "bad.ndjson"], 1, ""),
        (&["filter", "--slect"], 2, ""),
        (&["filter", "--select", "a..b"], 2, ""),
        (&["filter", "--select", "x", "a.json"], 0, "[{\"a\":1}]\n"),
        (&["filter", "--stats", "a.json"], 0, "[{\"a\":1}]\n"),
        (&["help", "nothing"], 2, ""),
    ];
    for (args, code, out) in cases {
        let mut command = printing(args, &folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        let output = child.wait_with_output().unwrap();
        let printed = (output.status.code(), String::from_utf8(output.stdout).unwrap());
        assert_eq!(printed, (Some(code), out.to_owned()), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_output_is_full() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    for args in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = printing(args, &folder).stdout(full).output().unwrap();
        let printed = Ran::new(&output);
        printed.refused(1, &["tamis: standard output: cannot write the output: "]);
        printed.one_line();
    }
    for args in [&["-o", "/dev/full"][..], &["--pretty", "-o", "/dev/full"]] {
        let ran = folder.run(args.iter().chain(&["a.json"]));
        ran.refused(1, &["tamis: /dev/full: cannot write the output: "]);
        ran.one_line();
    }
    let ran = folder.run(["--report", "/dev/full", "a.json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("tamis: /dev/full: cannot write the report: "), "{}", ran.err);
    let ran = folder.run(["--tee", "/dev/full", "a.json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    ran.one_line();
}

#[test]
fn errors_name_the_flag_that_helps() {
    let deep = "[".repeat(2000);
    let late = format!("{{\"a\":\"{}\",\"items\":[]}}", "x".repeat(3000));
    let cases: [(&[&str], &str, &str); 7] = [
        (&[], "1\n2\n", "(more than one document? try --ndjson"),
        (
            &["--select", "id", "--duplicate-keys", "reject"],
            "{\"id\":1,\"id\":2}",
            "duplicate key (--duplicate-keys reject)",
        ),
        (&[], &deep, "(raise it with --max-depth)"),
        (&["--ndjson"], &deep, "(raise it with --max-depth)"),
        (&["--lenient"], &deep, "(raise it with --max-depth)"),
        (
            &["--select", "id", "--held", "1k", "--spill", "1k"],
            &late,
            "(raise it with --held or --spill)",
        ),
        (&["--ndjson", "--held", "1k", "--spill", "0"], &late, "(raise it with --held"),
    ];
    for (args, input, remedy) in cases {
        let ran = piped(args, input);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.err.contains(remedy), "{args:?}: {}", ran.err);
        ran.one_line();
    }
}

#[test]
fn values_that_are_needed_twice_have_a_limit() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(17 << 20));
    let args = ["--root", "object", "--select", "a,b=a"];
    let ran = piped(&args, &long);
    ran.refused(1, &["(raise it with --item, or select less)"]);
    ran.one_line();
}

/// The disk is full in the middle of a spill: files may not grow beyond some kilobytes.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    let waits =
        format!("[{}{{}}]", r#"{"x": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}, "#.repeat(40_000));
    let lines = format!("{{\"id\": [{}1]}}\n", "1,".repeat(400_000));
    for (args, input) in [
        (&["--select", "id"][..], &waits),
        (&["--root", "first", "--budget", "100000000"], &waits),
        (&["--ndjson"], &lines),
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", r#"trap "" XFSZ; ulimit -f 8; exec "$@""#, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_tamis")).args(["filter", "--held", "1k"]).args(args);
        let ran = Ran::new(&folder.feed(&mut command, input.as_bytes()));
        ran.refused(
            1,
            &["cannot write the temporary file", ": File too large", "or lower --spill"],
        );
    }
}

#[cfg(unix)]
#[test]
fn a_temporary_file_that_cannot_be_made() {
    let folder = Folder::new();
    let late = format!("{{\"a\":\"{}\",\"data\":[]}}", "x".repeat(1 << 20));
    let args = ["--max-items", "1", "--held", "1k"];
    let mut command = folder.command();
    command.args(args).env("TMPDIR", folder.path("nothing"));
    let ran = Ran::new(&folder.feed(&mut command, late.as_bytes()));
    ran.refused(1, &["cannot write the temporary file: ", "has room, or lower --spill"]);
    ran.one_line();
    // Without it all is well, and so it is where nothing has to be written to disk.
    folder.pipe(args, late.as_bytes()).done(&format!("{late}\n"));
}

#[test]
fn manual_pages_and_completions() {
    let folder = Folder::new();
    let page = folder.tamis(&["man"], b"");
    assert_eq!((page.code, page.err.as_str()), (0, ""));
    assert!(page.out.contains(".TH tamis 1"), "{}", page.out);
    assert_eq!(folder.tamis(&["man", "share/man1"], b"").code, 0);
    for name in ["tamis", "tamis-filter", "tamis-explain", "tamis-help", "tamis-completions"] {
        let page = folder.read(format!("share/man1/{name}.1"));
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
    }
    assert!(folder.read("share/man1/tamis-filter.1").contains("max\\-items"));
    folder.write("file", "");
    let ran = folder.tamis(&["man", "file"], b"");
    ran.refused(1, &["tamis: file: cannot write the manual: "]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.tamis(&["completions", shell], b"");
        assert_eq!((script.code, script.err.as_str()), (0, ""));
        assert!(script.out.contains("max-items") && script.out.contains("explain"), "{shell}");
    }
    folder.tamis(&["completions", "csh"], b"").refused(2, &["csh", "bash, elvish, fish"]);
}

/// The script in the shell that it is for.
#[cfg(target_os = "linux")]
#[test]
fn bash_completes() {
    let script = Folder::new().tamis(&["completions", "bash"], b"").out;
    let complete = |words: &[&str]| {
        let (last, before) = words.split_last().unwrap();
        let typed = format!(
            "{script}\nCOMP_WORDS=({} '{last}'); COMP_CWORD={}; _tamis tamis '{last}' '{}'; echo ${{COMPREPLY[@]}}",
            before.join(" "),
            before.len(),
            before.last().unwrap(),
        );
        let ran = Command::new("bash").args(["--norc", "-c", &typed]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{words:?}");
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    };
    for (words, offered) in [
        (&["tamis", "fi"][..], "filter"),
        (&["tamis", "filter", "--max"], "--max-items --max-depth --max-docs"),
        (&["tamis", "filter", "--on-error", ""], "raw closed"),
        (
            &["tamis", "help", "r"],
            "run recall restore replay roots rules running recalling replaying reports",
        ),
        (&["tamis", "help", "ex"], "explain exit-codes"),
        (&["tamis", "completions", "z"], "zsh"),
    ] {
        assert_eq!(complete(words), offered, "{words:?}");
    }
}

#[test]
fn help_is_there_in_every_way_that_people_ask() {
    let folder = Folder::new();
    let ask = |args: &[&str]| {
        let ran = folder.tamis(args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        // The name as it was typed, which has an extension on Windows.
        ran.out.replace("tamis.exe", "tamis")
    };
    assert_eq!(ask(&["help"]), ask(&["--help"]));
    for command in ["filter", "explain", "completions", "help", "man"] {
        let long = ask(&[command, "--help"]);
        assert_eq!(ask(&["help", command]), long);
        assert!(ask(&[command, "-h"]).len() <= long.len());
        assert!(long.contains("Examples:\n  tamis "), "{long}");
    }
    for shown in ["filter", "explain", "help", "completions", "Topics"] {
        assert!(ask(&["-h"]).contains(shown), "{shown}");
    }
    assert!(!ask(&["-h"]).contains("man "), "for packagers");
    let ran = folder.tamis(&["help", "nothing"], b"");
    ran.refused(2, &["no page on nothing", "commands: ", " explain", "topics: ", " roots"]);
    ran.one_line();
    for (word, topic) in [
        ("exit", "exit-codes"),
        ("where", "rules"),
        ("--redact", "rules"),
        ("chat", "history"),
        ("filtr", "filter"),
    ] {
        let ran = folder.tamis(&["help", "--", word], b"");
        ran.refused(2, &[&format!("`tamis help {topic}`")]);
    }
}
