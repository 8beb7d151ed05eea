//! Rules on the sources: which modules may import which, as each `src/lib.rs` draws them; no large circles of imports; few
//! files that touch the outside world; no long files; no paths in documents that do not exist.

mod imports;

use std::fs;
use std::path::{Path, PathBuf};

use tamis_testkit::paths;

use imports::Package;

/// The order of the modules of a package. Modules in one row are leaves of the same height. Between packages, cargo keeps
/// the order.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "crates/json/src",
        &[
            &[
                "error",
                "excerpt",
                "fast_paths",
                "glob",
                "limits",
                "nearest",
                "regex_budget",
                "sink",
                "spill",
                "test_work",
                "tokens",
            ],
            &["hold", "scan", "path"],
            &[
                "bom",
                "event_fields",
                "key",
                "levels",
                "machine",
                "path_tracker",
                "policy",
                "scalar",
                "strings",
                "values",
                "writer",
            ],
            &["tree"],
        ],
    ),
    (
        "crates/text/src",
        &[
            &["ansi", "estimate", "fields", "grouped"],
            &["data_urls", "failures", "notice", "secrets"],
            &["controls", "words"],
            &["cut"],
            &["line_rules", "redact"],
            &["lines"],
            &["invisible", "redactor"],
            &["quoted"],
        ],
    ),
    (
        "crates/template/src",
        &[
            &["buffer", "float", "lex", "number", "tree", "value"],
            &["error", "escape", "parse", "reads", "verb"],
            &["format", "item"],
            &["functions", "quota"],
            &["run"],
            &["compiled"],
        ],
    ),
    (
        "crates/page/src",
        &[
            &["css", "cut", "decode", "escapes", "references", "tags"],
            &["data", "elements", "formula", "panels", "values"],
            &["outline"],
            &["article", "choose", "render", "segments", "style", "table"],
            &["strip"],
            &["page"],
        ],
    ),
    (
        "crates/manifest/src",
        &[
            &["commands", "error", "name", "renamed", "scalar", "schema", "store", "suggest"],
            &["node", "placed"],
            &["profile", "rule_place", "weakened", "yaml"],
            &["catalog", "server"],
            &["settings"],
            &["delivery", "entry"],
            &["building", "manifest"],
            &["inherit"],
            &["aios", "kimbap", "native", "reshapr"],
            &["parse"],
            &["builtin", "files", "lookup", "service"],
        ],
    ),
    (
        "crates/command/src",
        &[
            &[
                "engines",
                "line_head",
                "line_prefix",
                "output_filter",
                "report",
                "rule_chain",
                "shell",
                "text_decoder",
            ],
            &["cap", "command_line", "full_output", "printing", "wrappers"],
            &["builtin", "machine_output", "rules"],
            &["exit_variant", "output_reader"],
            &["command_filter", "compared_output", "compound", "step_run"],
            &["registry"],
            &["run", "transform"],
        ],
    ),
    (
        "crates/chat/src",
        &[
            &["placeholder", "report", "spec", "text"],
            &["findings", "sizes"],
            &["program"],
            &["survey"],
            &["plan"],
            &["splice"],
            &["run"],
            &["chat_scan", "drivers", "transform"],
        ],
    ),
    ("crates/insight/src", &[&["audit", "look", "misspelled", "suggest"], &["sensitive", "why"]]),
    (
        "crates/replay/src",
        &[
            &["facts", "figures"],
            &["cost"],
            &["transcript"],
            &["shown"],
            &["report"],
            &["open_result"],
            &["session"],
            &["table"],
            &["page"],
        ],
    ),
    (
        "src",
        &[
            &["report", "text"],
            &["json"],
            &["reserved"],
            &["spec"],
            &["encode"],
            &["content"],
            &["filter"],
            &["factor"],
            &["io"],
            &["http"],
        ],
    ),
    (
        "crates/store/src",
        &[
            &["handle", "process", "scope", "state"],
            &["entry"],
            &["limits"],
            &["backend"],
            &["cloud", "folder", "memory", "no_cloud"],
            &["config", "notice", "window"],
            &["value", "writer"],
            &["store"],
            &["calls"],
        ],
    ),
    (
        "crates/mcp/src",
        &[
            &["record", "schema_check", "spool"],
            &["jsonrpc"],
            &["rules"],
            &["policy"],
            &["rewrite"],
            &["route"],
            &["config"],
            &["gateway_yaml", "tool_result"],
            &["program"],
        ],
    ),
    (
        "crates/cli/src",
        &[
            &["console"],
            &["system"],
            &["files"],
            &["flags", "figures"],
            &["filters"],
            &["job"],
            &["commands"],
            &["args"],
            &["main"],
        ],
    ),
    (
        "crates/gateway/src",
        &[
            &["callers", "report"],
            &["observe"],
            &["transport"],
            &["serve"],
            // The parts of the program.
            &["schema", "serve_command", "setup", "telemetry"],
        ],
    ),
];

/// The sources of the library, and of the crates below and above it that carry no messages.
const LIBRARY: [&str; 7] = [
    "crates/chat/src",
    "crates/command/src",
    "crates/insight/src",
    "crates/json/src",
    "crates/manifest/src",
    "crates/text/src",
    "src",
];

/// Leaves may use leaves: `limits` raises errors, `report` shows them.
fn height(layers: &[&[&str]], module: &str) -> Option<usize> {
    layers.iter().position(|row| row.contains(&module))
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

/// Every source file of the library and its engine, with the module that it belongs to.
fn library() -> Vec<(PathBuf, String, String)> {
    LIBRARY.iter().flat_map(|src| files_of(&paths::path(src))).collect()
}

fn files_of(src: &Path) -> Vec<(PathBuf, String, String)> {
    let mut paths = Vec::new();
    sources(src, &mut paths);
    paths
        .into_iter()
        .filter_map(|path| {
            let relative = path.strip_prefix(src).unwrap().to_path_buf();
            let module =
                relative.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs");
            let inside = module != "lib";
            inside.then(|| (relative.clone(), module.to_owned(), fs::read_to_string(path).unwrap()))
        })
        .collect()
}

#[test]
fn modules_use_those_above_them() {
    for (src, layers) in LAYERS {
        let package = Package::read(&paths::path(src));
        assert!(package.files.len() > 2, "the sources of {src} are found");
        let mut imports = 0;
        for (module, file) in &package.files {
            // The root of the library re-exports all of them.
            let Some(own) = module.first() else { continue };
            let height_of = |module: &str| {
                height(layers, module)
                    .unwrap_or_else(|| panic!("{src}: {module} has no place in the order"))
            };
            for import in package.imports(module) {
                // In a module within the file, `super` is the file.
                let Some(other) = import.module.first() else { continue };
                imports += 1;
                let is_above = height_of(other) <= height_of(own);
                assert!(is_above, "{}: {own} must not use {}", file.path.display(), import.path);
            }
        }
        assert!(imports > 10, "only {imports} imports of {src} are found");
    }
}

/// Larger circles that exist: the folder that has all files of the circle, and their number. The numbers must only
/// shrink.
const CIRCLES: [(&str, usize); 1] = [("crates/agents/src/install/mcp", 4)];

/// Files that import one another can be read only together, so circles have three files at most.
#[test]
fn circles_of_imports_are_small() {
    let mut packages = vec![String::from("src")];
    for entry in fs::read_dir(paths::path("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let src = format!("crates/{name}/src");
        packages.extend(paths::path(&src).is_dir().then_some(src));
    }
    assert!(packages.len() > 2, "{packages:?}");
    let mut wrong = Vec::new();
    for src in packages {
        for circle in Package::read(&paths::path(&src)).circles() {
            let files: Vec<String> =
                circle.iter().map(|path| format!("{src}/{}", path.display())).collect();
            let known = CIRCLES.iter().find(|(folder, _)| {
                files.iter().all(|file| file.starts_with(&format!("{folder}/")))
            });
            let most = known.map_or(3, |(_, most)| *most);
            if files.len() > most {
                wrong.push(format!("{} files, {most} allowed: {files:#?}", files.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_outside_world_is_in_few_places() {
    for (path, module, text) in library() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let allowed = matches!(module.as_str(), "io" | "run" | "drivers" | "files")
            || ["spill.rs", "files.rs", "tests.rs"].iter().any(|name| path.ends_with(name));
        for word in ["std::fs", "std::env", "std::process"] {
            assert!(allowed || !code.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Macros that the kernels expand, which name no instruction.
const FORWARD: &str = "scan/forward.rs";
/// One file an instruction set.
const KERNELS: [&str; 3] = ["scan/avx2.rs", "scan/avx512.rs", "scan/neon.rs"];

#[test]
fn unsafe_code_is_in_the_kernels() {
    for (path, _, text) in library() {
        let kernel = KERNELS.iter().any(|kernel| path == Path::new(kernel));
        let may_be_unsafe = kernel || path == Path::new(FORWARD);
        assert!(may_be_unsafe || !text.contains("unsafe {"), "{} is unsafe", path.display());
        assert_eq!(kernel, text.contains("std::arch::"), "{}", path.display());
    }
}

#[test]
fn files_answer_one_question() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "examples", "fuzz/src", "fuzz/examples"] {
        let before = files.len();
        sources(&paths::path(folder), &mut files);
        assert!(files.len() > before, "{folder} has no sources");
    }
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
        let lines = text.lines().count();
        // The unit tests of a module are one file.
        let is_tests = path.ends_with("tests.rs")
            && LIBRARY.iter().any(|src| path.starts_with(paths::path(src)));
        assert!(lines <= 600 || is_tests, "{} has {lines} lines", path.display());
        // The tests of gateways call functions of the examples. All other code that is shared is in a package.
        let is_gateway = path.ends_with("crates/interop/tests/gateway/main.rs");
        let includes = text.contains(concat!("#[", "path = "));
        assert!(is_gateway || !includes, "{} includes another file", path.display());
    }
}

/// Paths in code spans that begin with a folder of the repository exist, in the documents for contributors and users.
#[test]
fn paths_in_documents_exist() {
    let folders =
        ["src/", "tests/", "crates/", "benches/", "fuzz/", "docs/", "corpus/", "examples/"];
    let mut found = 0;
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"] {
        // Blocks of code may show output, which names files of other projects.
        let text: String = paths::text(document).split("```").step_by(2).collect();
        for word in text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace) {
            if !folders.iter().any(|folder| word.starts_with(folder)) {
                continue;
            }
            found += 1;
            // Only the folder of a pattern is checked.
            let folder = word.split('*').next().unwrap_or_default();
            let path =
                if folder == word { word } else { folder.rsplit_once('/').map_or("", |at| at.0) };
            if !paths::path(path).exists() {
                missing.push(format!("{document}: `{word}`"));
            }
        }
    }
    assert!(found > 30, "only {found} paths are found");
    assert!(missing.is_empty(), "{missing:#?}");
}
