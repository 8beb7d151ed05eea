//! `tamis run`, with real commands: streams, exit codes, signals, pipes, and where the full output is kept.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// Where full outputs are in the folder of a test.
pub(crate) const RECORDS: &str = ".state/store";

impl Folder {
    /// `tamis run` with these arguments, not yet started.
    pub(crate) fn runner(&self, args: &[&str]) -> Command {
        let mut command = self.any();
        command.arg("run").args(args).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A script of the shell.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        Ran::new(&self.runner(&["--", "sh", "-c", script]).output().unwrap())
    }

    /// The names of the files with full outputs.
    pub(crate) fn records(&self) -> Vec<String> {
        let Ok(names) = std::fs::read_dir(self.path(RECORDS)) else { return Vec::new() };
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "lock").collect()
    }

    /// A full output.
    pub(crate) fn full(&self, handle: &str) -> String {
        let ran = self.tamis(&["recall", handle, "--limit", "all"], b"");
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    }
}

/// A script that runs; it has printed `ready`.
fn ready(mut command: Command) -> (Child, BufReader<ChildStdout>) {
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, output)
}

fn kill(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn both_streams_come_in_their_order() {
    let folder = Folder::new();
    let ran = folder.shell("for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo err $n >&2; done");
    let expected: String = (1..10).map(|n| format!("out {n}\nerr {n}\n")).collect();
    ran.done(&expected);
    assert!(folder.records().is_empty(), "nothing was cut, so nothing is kept");
}

#[test]
fn exit_codes_are_those_of_the_command() {
    let folder = Folder::new();
    for code in [0, 1, 2, 3, 126, 127, 255] {
        let ran = folder.shell(&format!("echo a; exit {code}"));
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (code, "a\n", ""));
    }
}

#[test]
fn tamis_dies_of_the_signal_that_killed_the_command() {
    let folder = Folder::new();
    for (name, signal) in [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("ABRT", Signal::ABORT),
        ("KILL", Signal::KILL),
        ("SEGV", Signal::SEGV),
        ("PIPE", Signal::PIPE),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
    ] {
        let script = format!("ulimit -c 0; echo a; kill -{name} $$; sleep 5");
        let output = folder.runner(&["--", "sh", "-c", &script]).output().unwrap();
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{name}: {output:?}");
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a\n"[..], &b""[..]), "{name}");
    }
}

#[test]
fn signals_go_on_to_the_command() {
    let folder = Folder::new();
    for (name, signal) in [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
    ] {
        // It says goodbye, and what it says arrives.
        let script = format!(
            "trap 'echo bye; exit 5' {name}; echo ready; n=0; while [ $n -lt 400 ]; do sleep .05; n=$((n+1)); done"
        );
        let (mut child, mut output) = ready(folder.runner(&["--", "sh", "-c", &script]));
        kill(&child, signal);
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("bye\n", Some(5)), "{name}");
    }
    // A command without a word for it dies, and so does tamis.
    let (mut child, _output) =
        ready(folder.runner(&["--", "sh", "-c", "echo ready; exec sleep 20"]));
    kill(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert!(folder.records().is_empty());
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$TAMIS\" run -- sh -c 'echo ready; sleep .5; echo alive'";
    command.args(["-c", script]).env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    command.env("TAMIS_STATE_DIR", folder.path(".state")).stdout(Stdio::piped());
    let (mut child, mut output) = ready(command);
    kill(&child, Signal::HUP);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("alive\n", Some(0)));
}

/// Some start programs so; then a system forgets how children ended.
#[test]
fn ignored_children_are_waited_for() {
    let folder = Folder::new();
    let mut command = Command::new("bash");
    let script = "trap '' CHLD; exec \"$TAMIS\" run -- sh -c 'echo a; (exit 3); exit $(($? + 4))'";
    command.args(["-c", script]).env("TAMIS", env!("CARGO_BIN_EXE_tamis"));
    let ran = Ran::new(&command.env("TAMIS_STATE_DIR", folder.path(".state")).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (7, "a\n", ""));
}

#[test]
fn a_command_that_cannot_run_has_the_exit_code_of_a_shell() {
    let folder = Folder::new();
    folder.write("text", "echo a");
    for (command, code, words) in [
        ("no-such-command", 127, "tamis: no-such-command: not found"),
        ("./no/such/file", 127, "tamis: ./no/such/file: not found"),
        ("./text/file", 127, "tamis: ./text/file: "),
        ("./text", 126, "tamis: ./text: cannot be executed: "),
        (".", 126, "tamis: .: cannot be executed: "),
    ] {
        let ran = Ran::new(&folder.runner(&["--", command]).output().unwrap());
        ran.refused(code, &[words]);
        ran.one_line();
    }
    folder.tamis(&["run"], b"").refused(2, &["COMMAND"]);
    folder.tamis(&["run", "--no-such-flag", "true"], b"").refused(2, &["--no-such-flag"]);
    folder.tamis(&["run", "--linger", "-1", "true"], b"").refused(2, &["expected seconds"]);
}

/// A script that does not say what runs it is run by the shell, by its path or its name.
#[test]
fn a_script_without_an_interpreter_is_run_by_the_shell() {
    let folder = Folder::new();
    folder.write("plain-script", "echo got $1");
    std::fs::set_permissions(folder.path("plain-script"), PermissionsExt::from_mode(0o755))
        .unwrap();
    folder.tamis(&["run", "./plain-script", "7"], b"").done("got 7\n");
    let path = format!("{}:/usr/bin:/bin", folder.path("").display());
    let output = folder.runner(&["plain-script", "8"]).env("PATH", path).output().unwrap();
    Ran::new(&output).done("got 8\n");
}

#[test]
fn arguments_after_the_command_are_passed_to_it() {
    let folder = Folder::new();
    let typed = ["run", "printf", "%s,", "--raw", "--report", "x", "--color", "maybe", "--", "-h"];
    folder.tamis(&typed, b"").done("--raw,--report,x,--color,maybe,--,-h,");
    folder.tamis(&["run", "--raw", "--", "printf", "%s", "--keep"], b"").done("--keep");
    assert!(!folder.path("x").exists());
}

#[test]
fn standard_input_is_the_commands() {
    let folder = Folder::new();
    folder.tamis(&["run", "cat"], b"a\0b").done("a\0b");
}

#[test]
fn output_comes_while_the_command_runs() {
    let folder = Folder::new();
    let mut command = folder.runner(&["--", "sh", "-c", "echo ready; read line; echo got $line"]);
    command.stdin(Stdio::piped());
    let (mut child, mut output) = ready(command);
    // It waits for this: nothing of what follows can have come.
    child.stdin.take().unwrap().write_all(b"more\n").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("got more\n", Some(0)));
}

#[test]
fn bytes_of_any_kind_pass() {
    let folder = Folder::new();
    let bytes: Vec<u8> =
        (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    folder.write("bytes", &bytes);
    let output = folder.runner(&["cat", "bytes"]).output().unwrap();
    assert!(output.stdout == bytes && output.status.success());
}

/// As where the other end of the stream is a program that does not wait for what it writes itself.
#[test]
fn a_stream_that_does_not_wait_is_waited_for() {
    let folder = Folder::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap() | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&writer, flags).unwrap();
    let mut command = folder.runner(&["head", "-c", "1000000", "/dev/zero"]);
    let child = command.stdout(writer).spawn().unwrap();
    drop(command);
    std::thread::sleep(Duration::from_millis(300));
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    Ran::new(&child.wait_with_output().unwrap()).done("");
    assert_eq!(read.len(), 1_000_000);
}

/// In a terminal Ctrl-C reaches tamis and the command: the command must not get it twice.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_interrupts_once() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let folder = Folder::new();
    let shows = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shows).unwrap();
    unlockpt(&shows).unwrap();
    let name = ptsname(&shows, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    // It does not sleep: while it waited for that, two would be one.
    let script = "n=0; trap 'n=$((n+1))' INT; echo ready; i=0; \
                  while [ $i -lt 500000 ]; do i=$((i+1)); done; echo $n";
    let mut command = Command::new("setsid");
    command.args(["--ctty", env!("CARGO_BIN_EXE_tamis"), "run", "--", "sh", "-c", script]);
    command.env("TAMIS_STATE_DIR", folder.path(".state")).stdin(terminal).stdout(Stdio::piped());
    let (mut child, mut output) = ready(command);
    File::from(shows).write_all(b"\x03").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("1\n", Some(0)));
}

/// If the reader closes the pipe, the command gets SIGPIPE as in any pipe.
#[test]
fn a_closed_pipe_ends_the_command() {
    let folder = Folder::new();
    let mut child = folder.runner(&["yes"]).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    drop(output);
    assert_eq!((line.as_str(), child.wait().unwrap().signal()), ("y\n", Some(13)));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
    assert!(folder.records().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_reported() {
    let folder = Folder::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = folder.runner(&["--keep", "echo", "a"]).stdout(full).output().unwrap();
    let ran = Ran::new(&output);
    ran.refused(
        1,
        &["tamis: standard output: ", "to print the output read so far: tamis recall tm_"],
    );
    assert_eq!(folder.full(ran.handle()), "a\n");
}

/// Processes that a command leaves behind do not delay tamis. All output of the command itself is written.
#[test]
fn processes_that_remain_are_not_waited_for() {
    let folder = Folder::new();
    let over = folder.path("over");
    let ran = folder.shell(&format!(
        "(sleep 20; touch {}) & head -c 300000 /dev/zero; echo; echo last; exit 4",
        over.display()
    ));
    assert!(!over.exists());
    assert_eq!((ran.code, ran.out.len()), (4, 300_006));
    assert!(ran.out.ends_with("\nlast\n"));
    ran.one_line();
    assert!(ran.err.contains("keeps the output open"), "{}", ran.err);
    // Something that never falls silent is left too.
    let over = folder.path("silent");
    let ran = folder.shell(&format!(
        "(n=0; while [ $n -lt 2000 ]; do echo y; sleep .01; n=$((n+1)); done; touch {}) & exit 3",
        over.display()
    ));
    assert!(!over.exists());
    assert_eq!(ran.code, 3);
    ran.one_line();
    // Output that follows soon is waited for, as long as requested.
    let script = "(sleep .6; echo later) & echo now";
    let args = ["--linger", "10", "--", "sh", "-c", script];
    Ran::new(&folder.runner(&args).output().unwrap()).done("now\nlater\n");
    let output = folder.runner(&["--linger", "0", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(Ran::new(&output).out, "now\n");
}

/// The command looks at the memory of tamis, its parent.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_output() {
    let folder = Folder::new();
    let peak = |bytes: u32| -> u64 {
        let script = format!("head -c {bytes} /dev/zero; echo; grep VmHWM /proc/$PPID/status");
        let ran = folder.shell(&script);
        assert!(ran.code == 0 && ran.out.len() > bytes as usize, "{}", ran.err);
        let line = ran.out.lines().last().unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let (small, large) = (peak(1_000), peak(50_000_000));
    assert!(large < small + 2_048, "{small} KiB, then {large} KiB");
}

/// Rules that leave one line of ten.
pub(crate) const TENTHS: &str = r#"
[[rules]]
name = "tenths"
match = { prefix = "seq" }
strip = ["[1-9]$"]
"#;

#[test]
fn output_is_filtered_while_it_comes_and_all_of_it_kept() {
    let folder = Folder::new();
    folder.write("rules.toml", TENTHS);
    let run = |args: &[&str]| {
        let args = [&["--manifest", "rules.toml", "--report", "report.json"], args].concat();
        Ran::new(&folder.runner(&args).output().unwrap())
    };
    let all: String = (1..=5000).map(|n| format!("{n}\n")).collect();
    let tenths: String = (1..=500).map(|n| format!("{n}0\n")).collect();
    let ran = run(&["seq", "5000"]);
    let records = folder.records();
    assert_eq!((ran.code, ran.err.as_str(), records.len()), (0, "", 1));
    let first = ran.handle().to_owned();
    let record = format!("tamis recall {first}");
    let note = format!("[tamis tenths: 4500 of 5000 lines left out; full output: {record}]\n");
    assert_eq!(ran.out, format!("{tenths}{note}"));
    assert_eq!(folder.full(&first), all);
    let report: Value = serde_json::from_str(&folder.read("report.json")).unwrap();
    assert_eq!((&report["filter"], &report["cut"]), (&"tenths".into(), &true.into()));
    assert_eq!((&report["lines_in"], &report["lines_out"]), (&5000.into(), &501.into()));
    assert_eq!(report["full_output"], record);
    assert_eq!(report["full_output_complete"], true);
    // If the full output cannot be saved, the output mentions it.
    let note = "[tamis tenths: 4500 of 5000 lines left out]\n";
    assert_eq!(run(&["--no-overflow", "seq", "5000"]).out, format!("{tenths}{note}"));
    run(&["--raw", "seq", "5000"]).done(&all);
    // Filters that a file disables are disabled.
    folder.write("off.toml", "[tools.filters]\nenabled = false\n");
    run(&["--manifest", "off.toml", "seq", "5000"]).done(&all);
    // Over its limit the record has the beginning, and the output is filtered to its end.
    let ran = run(&["--overflow-limit", "1k", "seq", "5000"]);
    assert!(ran.out.starts_with(&tenths), "{}", ran.out);
    assert!(ran.out.ends_with(" (its first 1024 bytes)]\n"), "{}", ran.out);
    assert!(ran.err.contains("only the first 1024 bytes"), "{}", ran.err);
    let of_both = folder.records();
    assert_ne!(ran.handle(), first);
    let recalled = folder.tamis(&["recall", ran.handle()], b"");
    assert_eq!((of_both.len(), recalled.out.as_str()), (2, &all[..1024]));
    assert!(
        recalled.err.ends_with("only the beginning: a limit was reached\n"),
        "{}",
        recalled.err
    );
    // In a folder of files, the notice names the file.
    let ran = run(&["--overflow-dir", "mine", "seq", "5000"]);
    let file = std::fs::read_dir(folder.path("mine")).unwrap().next().unwrap().unwrap().path();
    assert!(ran.out.ends_with(&format!("; full output: {}]\n", file.display())), "{}", ran.out);
    assert_eq!((folder.read(file), folder.records().len()), (all, 2));
}

#[test]
fn the_filters_that_come_with_tamis_are_there() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("some/folder")).unwrap();
    for number in 0..300 {
        folder.write(format!("some/folder/number-{number}.txt"), "");
    }
    let find = ["find", ".", "-name", "*.txt"];
    let raw = Command::new("find").args(&find[1..]).current_dir(folder.path("")).output().unwrap();
    let ran = Ran::new(&folder.runner(&find).output().unwrap());
    let records = folder.records();
    assert_eq!((ran.code, ran.err.as_str(), records.len()), (0, "", 1));
    assert_eq!(folder.full(ran.handle()).as_bytes(), raw.stdout);
    assert!(ran.out.len() < raw.stdout.len(), "{}", ran.out);
    let last = ran.out.lines().last().unwrap();
    assert!(last.starts_with("[tamis ") && last.contains(ran.handle()), "{last}");
    // Machine-readable output, and output without a filter, is unchanged.
    let raw = raw.stdout.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }).collect();
    let ran = Ran::new(&folder.runner(&[&find[..], &["-print0"]].concat()).output().unwrap());
    ran.done(&String::from_utf8(raw).unwrap());
    assert_eq!(folder.records().len(), 1);
}

/// The first lines are out before the command goes on.
#[test]
fn filtered_output_comes_while_the_command_runs() {
    let folder = Folder::new();
    folder.write("rules.toml", TENTHS.replace("seq", "sed"));
    let mut command = folder.runner(&["--manifest", "rules.toml", "sed", "-u", "s/1$/1/"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for n in 0..10_000 {
        writeln!(stdin, "{n}").unwrap();
    }
    stdin.flush().unwrap();
    // Its input is still open.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "0\n");
    drop(stdin);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\n9990\n[tamis tenths: 9000 of 10000 lines left out; "), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn rules_that_are_wrong_are_reported_before_anything_runs() {
    let folder = Folder::new();
    folder.write("rules.toml", "[[rules]]\nname = \"a\"\nmach = { prefix = \"a\" }\n");
    for (file, place) in
        [("rules.toml", "tamis: rules.toml:3:"), ("none.toml", "tamis: none.toml: ")]
    {
        let ran = folder.tamis(&["run", "--manifest", file, "touch", "ran"], b"");
        ran.refused(2, &[place]);
        assert!(!folder.path("ran").exists());
    }
    let ran = folder.tamis(&["run", "--manifest", "-", "cat"], b"");
    ran.refused(2, &["the command's standard input"]);
}

#[test]
fn the_report_says_what_the_run_did() {
    let folder = Folder::new();
    let report = |args: &[&str]| -> Value {
        folder.runner(&[&["--report", "report.json"], args].concat()).output().unwrap();
        serde_json::from_str(&folder.read("report.json")).unwrap()
    };
    let said = report(&["--keep", "sh", "-c", "echo abc; exit 3"]);
    assert_eq!(said["command"], serde_json::json!(["sh", "-c", "echo abc; exit 3"]));
    assert_eq!(
        (&said["exit_code"], &said["bytes_in"], &said["bytes_out"]),
        (&3.into(), &4.into(), &4.into())
    );
    assert_eq!((&said["cut"], &said["left_open"]), (&false.into(), &false.into()));
    let recall = said["full_output"].as_str().unwrap();
    assert_eq!(folder.full(handle_in(recall).unwrap()), "abc\n");
    assert!(recall.starts_with("tamis recall tm_"), "{recall}");
    assert_eq!(said["full_output_complete"], true);
    let said = report(&["sh", "-c", "kill -9 $$"]);
    // As shells say it.
    assert_eq!((&said["exit_code"], &said["signal"]), (&137.into(), &9.into()));
    assert_eq!(said["full_output"], Value::Null);
    let said = report(&["no-such-command"]);
    assert_eq!((&said["error"], &said["exit_code"]), (&"not found".into(), &Value::Null));
    folder
        .tamis(&["run", "--report", "no/such/folder", "echo", "a"], b"")
        .refused(1, &["no/such/folder"]);
    let ran = folder.tamis(&["run", "--stats", "--report", "-", "echo", "a"], b"");
    assert!(ran.err.starts_with("{\"command\":[\"echo\",\"a\"],"), "{}", ran.err);
    assert!(
        ran.err.ends_with("}\ntamis: no filter: 2 bytes (2 tokens) in, 2 (2) out, 0.0 % saved\n"),
        "{}",
        ran.err
    );
}
