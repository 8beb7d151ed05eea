//! The plugins in `plugins/`: they start no program by its name, and agree with what `tamis install` writes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "in a test a panic is the report")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

fn json(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(plugins().join(path)).unwrap()).unwrap()
}

#[test]
fn versions_are_that_of_the_program() {
    let files = [
        "claude-code/.claude-plugin/plugin.json",
        "gemini/gemini-extension.json",
        "opencode/package.json",
    ];
    for file in files {
        assert_eq!(json(file)["version"], env!("CARGO_PKG_VERSION"), "{file}");
    }
    let market = json("claude-code/.claude-plugin/marketplace.json");
    assert_eq!(market["plugins"][0]["name"], json(files[0])["name"]);
}

/// Runs the command line of a hook in a home folder, with a program there that prints its arguments.
#[cfg(unix)]
fn run(line: &str, home: &Path, working: &Path) -> (Option<i32>, String) {
    let output = Command::new("bash")
        .args(["-c", line])
        .env_clear()
        .env("HOME", home)
        .current_dir(working)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[cfg(unix)]
#[test]
fn hooks_start_tamis_from_a_usual_place_or_do_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("w"));
    for path in [home.join(".cargo/bin"), elsewhere.clone()] {
        std::fs::create_dir_all(path).unwrap();
    }
    for (file, event, arguments) in [
        ("claude-code/hooks/hooks.json", "PostToolUse", "hook claude-code --config user\n"),
        ("gemini/hooks/hooks.json", "AfterTool", "hook gemini --config user\n"),
    ] {
        let hooks = json(file);
        let line = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        let program = home.join(".cargo/bin/tamis");
        _ = std::fs::remove_file(&program);
        let is_installed = ["/usr/local/bin/tamis", "/usr/bin/tamis", "/opt/homebrew/bin/tamis"]
            .iter()
            .any(|path| Path::new(path).exists());
        if !is_installed {
            assert_eq!(run(line, &home, &elsewhere), (Some(0), String::new()));
        }
        // A failure of the hook has no effect.
        std::fs::write(&program, "#!/bin/sh\necho \"$@\"\necho x >&2\nexit 3\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(run(line, &home, &elsewhere), (Some(0), arguments.to_owned()));
        if !is_installed {
            // A command in a sandbox could have written it.
            assert_eq!(run(line, &home, &home), (Some(0), String::new()));
        }
    }
}

#[test]
fn the_plugin_of_opencode_is_the_one_that_is_installed() {
    let own = std::fs::read_to_string(plugins().join("opencode/index.js")).unwrap();
    let installed = tamis_agents::hook::opencode::plugin(
        tamis_mcp::config::ConfigFiles::User,
        Path::new("/usr/bin/tamis"),
    );
    // The places and their imports differ.
    let body = |text: &str| text.split_once("const ARGUMENTS").unwrap().1.to_owned();
    assert_eq!(body(&own), body(&installed));
    assert!(own.contains("const PROGRAM = PLACES.find((path) => existsSync(path)) ?? \"\"\n"));
}
