//! The directions between modules, as `src/lib.rs` draws them: a module uses those before it in the list, never those
//! behind; and what touches the outside world is in few places.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// The order. Modules in one row are leaves of the same height.
const LAYERS: [&[&str]; 14] = [
    &[
        "allowance",
        "ansi",
        "error",
        "excerpt",
        "glob",
        "limits",
        "nearest",
        "notice",
        "report",
        "sink",
        "tokens",
        "work",
    ],
    &["scan", "path"],
    &["json"],
    &["tree"],
    &["reserved", "template"],
    &["spec"],
    &["text"],
    &["content"],
    &["filter"],
    &["history"],
    &["manifest"],
    &["catalog"],
    &["command"],
    &["io"],
];

/// Leaves may use leaves: `limits` raises errors, `report` shows them.
fn height(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file of the library, with the module that it belongs to.
fn library() -> Vec<(PathBuf, String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&src, &mut paths);
    paths
        .into_iter()
        .filter_map(|path| {
            let relative = path.strip_prefix(&src).unwrap().to_path_buf();
            let module =
                relative.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs");
            let inside = module != "lib";
            inside.then(|| (relative.clone(), module.to_owned(), fs::read_to_string(path).unwrap()))
        })
        .collect()
}

#[test]
fn modules_use_those_above_them() {
    let files = library();
    assert!(files.len() > 20, "the sources are found");
    for (path, module, text) in files {
        let own = height(&module).unwrap_or_else(|| panic!("{module} has no place in the order"));
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for used in code.split("crate::").skip(1) {
                let used: String = used
                    .chars()
                    .take_while(|char| char.is_ascii_alphanumeric() || *char == '_')
                    .collect();
                let Some(other) = height(&used) else { continue };
                assert!(
                    other <= own,
                    "{}:{}: {module} must not use {used}",
                    path.display(),
                    number + 1
                );
            }
        }
    }
}

#[test]
fn the_outside_world_is_in_few_places() {
    for (path, module, text) in library() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let allowed = module == "io"
            || path.ends_with("filter/run/hold.rs")
            || path.starts_with("command/run")
            || path.ends_with("tests.rs");
        for word in ["std::fs", "std::env", "std::process"] {
            assert!(allowed || !code.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// One file an instruction set.
const KERNELS: [&str; 3] = ["scan/avx2.rs", "scan/avx512.rs", "scan/neon.rs"];

#[test]
fn unsafe_code_is_in_the_kernels() {
    for (path, _, text) in library() {
        let kernel = KERNELS.iter().any(|kernel| path == Path::new(kernel));
        assert!(kernel || !text.contains("unsafe {"), "{} is unsafe", path.display());
        assert_eq!(kernel, text.contains("std::arch::"), "{}", path.display());
    }
}

#[test]
fn files_answer_one_question() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&src.join("../crates"), &mut paths);
    assert!(paths.len() > 10, "the sources of the command line are found");
    let cli = paths.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, String::from("cli"), text)
    });
    let mut others = Vec::new();
    for folder in ["tests", "benches", "examples", "fuzz/src", "fuzz/examples"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        // A package has no fuzz targets.
        if folder.exists() {
            sources(&folder, &mut others);
        }
    }
    let others = others.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, String::from("beside the library"), text)
    });
    for (path, _, text) in library().into_iter().chain(cli).chain(others) {
        assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
        let lines = text.lines().count();
        let own_tests = path.ends_with("tests.rs");
        assert!(lines <= 600 || own_tests, "{} has {lines} lines", path.display());
    }
}
