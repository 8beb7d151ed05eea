//! Output that is held leaves when nothing more comes: questions are seen, and what is killed has lost nothing.

use std::io::BufRead;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// Much longer than it takes: a test that waits in vain is to fail, not to hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command that runs, and what it has printed so far.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    pieces: Receiver<Vec<u8>>,
    seen: String,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            while let Ok(piece @ [_, ..]) = output.fill_buf() {
                let piece = piece.to_vec();
                output.consume(piece.len());
                if sender.send(piece).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, pieces, seen: String::new() }
    }

    fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits until the output is this, while the command waits too.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        while self.seen.len() < text.len() {
            let piece = self.pieces.recv_timeout(PATIENCE);
            let piece = piece.unwrap_or_else(|_| panic!("only {:?} was seen", self.seen));
            self.seen.push_str(std::str::from_utf8(&piece).unwrap());
        }
        assert_eq!(self.seen, text);
    }

    /// Closes its input; all that it printed, and how it ended.
    fn end(mut self) -> (String, std::process::ExitStatus) {
        self.stdin = None;
        while let Ok(piece) = self.pieces.recv_timeout(PATIENCE) {
            self.seen.push_str(std::str::from_utf8(&piece).unwrap());
        }
        (self.seen, self.child.wait().unwrap())
    }

    fn kill(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

/// A command that a filter is for, and that asks.
const ASKS: &str = "#!/bin/sh\nprintf 'cc -c a.c\\nReading\\nContinue? [Y/n] '\nread answer\necho \"$answer it is\"\n";

fn asking() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bin")).unwrap();
    folder.write("bin/make", ASKS);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("bin/make"), mode).unwrap();
    folder
}

#[test]
fn a_question_of_a_command_is_seen_while_it_waits() {
    let folder = asking();
    let mut running = Running::start(folder.any().args(["run", "--", "make"]));
    running.shows("cc -c a.c\nReading\nContinue? [Y/n] ");
    running.write("yes\n");
    let (seen, status) = running.end();
    assert_eq!(seen, "cc -c a.c\nReading\nContinue? [Y/n] yes it is\n");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_question_in_a_pipe_is_seen_while_it_is_open() {
    let folder = Folder::new();
    let mut running = Running::start(folder.any().args(["text", "--command", "cargo build"]));
    running.write("   Compiling a v1.0.0\nwarning: x\nOverwrite? ");
    running.shows("warning: x\nOverwrite? ");
    running.write("no\n   Compiling b v1.0.0\nwarning: y\n");
    running.shows("warning: x\nOverwrite? no\nwarning: y\n");
    let (seen, _) = running.end();
    let note = "[tamis cargo-build: 2 of 5 lines left out]\n";
    assert_eq!(seen, format!("warning: x\nOverwrite? no\nwarning: y\n{note}"));
}

/// A line that the filter cannot know to be one of progress is not lost either.
#[test]
fn a_killed_run_has_written_all_earlier_output() {
    let folder = asking();
    let mut running = Running::start(folder.any().args(["run", "--", "make"]));
    running.shows("cc -c a.c\nReading\nContinue? [Y/n] ");
    running.kill(Signal::KILL);
    let (seen, status) = running.end();
    assert_eq!(seen, "cc -c a.c\nReading\nContinue? [Y/n] ");
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
}

#[test]
fn a_signal_ends_a_filter_when_what_it_holds_is_written() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let folder = Folder::new();
        let args = ["text", "--command", "cargo build", "--report", "report.json"];
        let mut running = Running::start(folder.any().args(args));
        running.write("warning: x\nwarning: y");
        // Until it has been read.
        while rustix::io::ioctl_fionread(running.stdin.as_ref().unwrap()).unwrap() > 0 {
            std::thread::yield_now();
        }
        running.kill(signal);
        // Signals that are ignored, as under nohup or in a background job of a script, do not end it.
        let ends = if is_ignored(signal) { Signal::TERM } else { signal };
        if ends != signal {
            running.kill(ends);
        }
        running.shows("warning: x\nwarning: y");
        let status = running.child.wait().unwrap();
        assert_eq!(status.signal(), Some(ends.as_raw()));
        let report = folder.read("report.json");
        assert!(report.contains("\"lines_in\":2"), "{report}");
    }
}

/// Whether this process ignores a signal, and so the programs that it starts.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    mask & (1 << (signal.as_raw() - 1)) != 0
}

/// A file that would be replaced is unchanged, and no temporary file is left.
#[test]
fn a_signal_leaves_a_file_alone() {
    let folder = Folder::new();
    folder.write("out.log", "before\n");
    let args = ["text", "--command", "cargo build", "-o", "out.log"];
    let mut running = Running::start(folder.any().args(args));
    running.write("warning: x\n");
    while rustix::io::ioctl_fionread(running.stdin.as_ref().unwrap()).unwrap() > 0 {
        std::thread::yield_now();
    }
    running.kill(Signal::TERM);
    assert_eq!(running.child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert_eq!((folder.read("out.log").as_str(), folder.names().len()), ("before\n", 1));
}
