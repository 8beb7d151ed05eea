//! Runs every line of the shell blocks of the README and the guide with a real shell, in what a checkout of the repository has.
//!
//! The network and the programs that take long are replaced by scripts: `curl` prints a response of the corpus, or an installer
//! that does nothing, `cargo` and `make` print a line. `tamis` is the program of the tests. Recipes that need minutes, or the network, only have
//! to be there.

use super::documented::{copy_sessions, make_completion_folders, source};
use super::guide::pages;
use super::*;

/// Folders and files of the repository that commands of the documents read.
const CHECKOUT: [&str; 6] = ["corpus", "crates", "docs", "examples", "README.md", "Cargo.toml"];

/// The recipes that are not run.
const RECIPES: [&str; 4] = [
    "benches/truth/agents",
    "benches/truth/commands",
    "benches/truth/filters",
    "crates/agents/tests/real/setup",
];

/// The lines of the blocks of a page that are fenced as `sh`. A line that ends with `\` goes on in the next one.
fn lines(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let lines = blocks.map(|block| block.replace("\\\n", " "));
    let lines = lines.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')).collect()
}

/// A folder that looks like the root of a checkout, and whose programs are those of the test.
fn checkout() -> Folder {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    for name in CHECKOUT {
        symlink(root().join(name), folder.path(name)).unwrap();
    }
    for name in ["bin", "home/.config"] {
        std::fs::create_dir_all(folder.path(name)).unwrap();
    }
    make_completion_folders(&folder);
    std::fs::create_dir_all(folder.path("home/.local/share/man/man1")).unwrap();
    copy_sessions(&folder);
    let tamis = env!("CARGO_BIN_EXE_tamis");
    // The program of a test may be in a folder for temporary files, which `install` refuses.
    let tamis = format!(
        "case $1 in install) exec {tamis} \"$@\" --trust-path ;; *) exec {tamis} \"$@\" ;; esac"
    );
    let curl = "case $* in *install.sh) echo : ;; *api.*) cat corpus/github-list-issues.json ;; *) cat corpus/pages/news.html ;; esac";
    for (name, script) in
        [("tamis", tamis.as_str()), ("curl", curl), ("cargo", "echo done"), ("make", "echo done")]
    {
        let program = folder.path("bin").join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs a line. Returns `None` if it needs a program that is not there.
fn run(folder: &Folder, line: &str) -> Option<Ran> {
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    if line.contains("jq ") && !has_jq {
        return None;
    }
    let mut shell = Command::new("bash");
    let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    shell.args(["-o", "pipefail", "-c", line]).current_dir(folder.path(""));
    shell.env("PATH", path).env("HOME", folder.path("home"));
    shell.env("XDG_CONFIG_HOME", folder.path("home/.config"));
    shell.env("TAMIS_STATE_DIR", folder.path(".state")).stdin(Stdio::null());
    Some(Ran::new(&shell.output().unwrap()))
}

#[test]
fn every_line_of_the_shell_blocks_runs() {
    let (mut count, mut failed) = (0, String::new());
    for name in std::iter::once("README.md".to_owned()).chain(pages("docs/src")) {
        // A later line of a page may read what an earlier one wrote.
        let folder = checkout();
        for line in lines(&source(&name)) {
            let word = line.split_whitespace().next().unwrap_or_default();
            if RECIPES.contains(&word) {
                assert!(root().join(word).is_file(), "{name}: {word} is missing");
                continue;
            }
            let Some(ran) = run(&folder, &line) else { continue };
            count += 1;
            if ran.code != 0 {
                failed += &format!("\n{name}: {line}\n  exit {}: {}", ran.code, ran.err);
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
    // Without jq some are left out.
    assert!(count > 50, "{count} lines");
}
