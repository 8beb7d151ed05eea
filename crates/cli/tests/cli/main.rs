//! The command line, as a process: flags, exit codes, diagnostics, files and pipes.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

mod audit;
#[cfg(unix)]
mod caps;
mod catalog;
#[cfg(unix)]
mod commands;
mod content;
mod documented;
mod explain;
mod figures;
#[cfg(unix)]
mod full_outputs;
#[cfg(unix)]
mod gateway;
#[cfg(unix)]
mod guide;
#[cfg(unix)]
mod hook;
mod hostile;
mod input;
#[cfg(unix)]
mod install;
mod look;
mod manifest;
mod output;
mod paths;
mod prune;
#[cfg(unix)]
mod recall;
mod records;
mod redact;
#[cfg(unix)]
mod replay;
mod rules;
mod samples;
mod shell;
#[cfg(unix)]
mod shell_blocks;
#[cfg(unix)]
mod shells;
#[cfg(unix)]
mod silence;
mod stats;
mod suggest;
mod terminal;
mod text;
mod usage;
mod why;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with files, in which commands run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.current_dir(self.0.path()).arg("filter").stdin(Stdio::null());
        command
    }

    /// Any command, whose state is in the folder, with programs of the folder's own `bin`.
    fn any(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        // As a user types it. Notices name the program in this way.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "tamis");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.path("bin")].into_iter().chain(std::env::split_paths(&path));
        command.current_dir(self.0.path()).env("TAMIS_STATE_DIR", self.path(".state"));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command
    }

    /// Runs any command.
    fn tamis<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        Ran::new(&self.feed(self.any().args(args), input))
    }

    /// Runs over files.
    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::new(&self.command().args(args).output().unwrap())
    }

    /// Runs over a pipe.
    fn pipe<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        Ran::new(&self.feed(self.command().args(args), input))
    }

    fn feed(&self, command: &mut Command, input: &[u8]) -> Output {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A run that fails or needs no more input closes the pipe, which is not an error here.
        let feeder = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }
}

/// The last handle in a text.
fn handle_in(text: &str) -> Option<&str> {
    let from = text.rfind("tm_")?;
    let len = text[from..].find(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    Some(&text[from..len.map_or(text.len(), |len| from + len)])
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// The handle of the full output that the output or a message names.
    #[track_caller]
    fn handle(&self) -> &str {
        handle_in(&self.out).or_else(|| handle_in(&self.err)).unwrap()
    }

    /// Asserts exit code 0, this output, and no messages.
    #[track_caller]
    fn done(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (0, out, ""));
    }

    /// Asserts this exit code, no output, and messages with all of these words.
    #[track_caller]
    fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {:?}", self.err);
        }
    }

    /// Asserts exit code 1, this partial output, and a message with this word.
    #[track_caller]
    fn refused_after(&self, out: &str, word: &str) {
        assert_eq!((self.code, self.out.as_str()), (1, out), "{}", self.err);
        assert!(self.err.contains(word), "{}", self.err);
    }

    #[track_caller]
    fn succeeded(&self) {
        assert_eq!(self.code, 0, "{}", self.err);
    }

    #[track_caller]
    fn one_line(&self) {
        assert_eq!(self.err.lines().count(), 1, "{:?}", self.err);
        assert!(self.err.starts_with("tamis: "), "{:?}", self.err);
    }
}

/// The folder of the workspace, which has the corpus and the README.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap()
}

const NO_ARGS: [&str; 0] = [];

/// One command over a pipe.
#[track_caller]
/// Compresses a text.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn piped(args: &[&str], input: &str) -> Ran {
    Folder::new().pipe(args, input.as_bytes())
}
