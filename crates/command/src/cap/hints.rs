//! Hints of a command line about its output, for the cut.

use tamis_text::cut::{Query, TextKind};

use super::CapHints;
use crate::command_line::CommandLine;

/// Programs that run tests or build, and those that print logs.
const LOGS: &[&str] = &[
    "ant",
    "bazel",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "dmesg",
    "docker-compose",
    "dotnet",
    "eslint",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "go",
    "gradle",
    "gradlew",
    "javac",
    "jest",
    "journalctl",
    "make",
    "meson",
    "mocha",
    "msbuild",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nox",
    "npm",
    "phpunit",
    "playwright",
    "pnpm",
    "pytest",
    "rspec",
    "rustc",
    "swift",
    "tox",
    "tsc",
    "vitest",
    "xcodebuild",
    "yarn",
];

/// Programs that print lines that they found, or names of files.
const LISTINGS: &[&str] = &["ag", "egrep", "fd", "fgrep", "find", "grep", "ls", "rg", "tree"];

/// Returns the kind of the output of a command, as far as its name shows it, and the words to look for.
pub(crate) fn hints(typed: &str) -> CapHints {
    let line = CommandLine::parse(typed);
    let program = line.program_name().unwrap_or_default();
    let kind = match program {
        _ if LOGS.contains(&program) => Some(TextKind::Log),
        _ if LISTINGS.contains(&program) => Some(TextKind::Listing),
        _ => None,
    };
    CapHints { kind, query: Query::of(typed) }
}

#[cfg(test)]
mod tests {
    use tamis_text::cut::TextKind;

    use super::hints;

    #[test]
    fn commands_show_the_kind_of_their_output() {
        for (command, kind) in [
            ("cargo test --all", Some(TextKind::Log)),
            ("grep -rn x src", Some(TextKind::Listing)),
            ("cat x.rs", None),
            ("", None),
        ] {
            assert_eq!(hints(command).kind, kind, "{command}");
        }
    }
}
