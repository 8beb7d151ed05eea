//! `tamis text`: the saved output of commands.

use super::*;

const BUILD: &str =
    "   Compiling a v1.0.0\n   Compiling b v1.0.0\n   Compiling c v1.0.0\nwarning: x\n";

fn text(folder: &Folder, args: &[&str], input: &[u8]) -> Ran {
    let args: Vec<&str> = ["text"].iter().chain(args).copied().collect();
    folder.tamis(&args, input)
}

#[test]
fn files_and_pipes() {
    let folder = Folder::new();
    let long = BUILD.repeat(3);
    folder.write("build.log", &long);
    let left = "warning: x\nwarning: x\nwarning: x\n";
    text(&folder, &["--command", "cargo build"], long.as_bytes())
        .done(&format!("{left}[tamis cargo-build: 9 of 12 lines left out]\n"));
    text(&folder, &["--command", "cargo build", "build.log"], b"").done(&format!(
        "{left}[tamis cargo-build: 9 of 12 lines left out; full output: build.log]\n"
    ));
    text(&folder, &["--command", "cat x", "build.log"], b"").done(&long);
    text(&folder, &["--command", "cargo build", "-"], b"").done("");
    // In its own place the full output is gone, and nothing says that it is there.
    text(&folder, &["--command", "cargo build", "build.log", "-o", "build.log"], b"").done("");
    let expected = format!("{left}[tamis cargo-build: 9 of 12 lines left out]\n");
    assert_eq!(folder.read("build.log"), expected);
}

#[test]
fn reports_and_statistics() {
    let folder = Folder::new();
    let args = ["--command", "cargo build", "--exit-code", "0", "--report", "r.json", "--stats"];
    let ran = text(&folder, &args, BUILD.repeat(3).as_bytes());
    assert_eq!(
        ran.err,
        "tamis: cargo-build: 231 bytes (111 tokens) in, 77 (26) out, 66.6 % saved\n"
    );
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    for (key, value) in [
        ("filter", Value::from("cargo-build")),
        ("exit_code", 0.into()),
        ("cut", true.into()),
        ("lines_in", 12.into()),
        ("lines_removed", 9.into()),
        ("lines_out", 4.into()),
    ] {
        assert_eq!(report[key], value, "{key}");
    }
    let ran = text(&folder, &["--command", "x", "--stats"], b"y\n");
    assert_eq!(ran.err, "tamis: no filter: 2 bytes (2 tokens) in, 2 (2) out, 0.0 % saved\n");
}

#[test]
fn rules_of_ones_own() {
    let folder = Folder::new();
    folder.write(
        "rules.toml",
        "[[rules]]\nname = \"mine\"\nmatch = { prefix = \"cargo\" }\n[rules.exit.ok]\nstrip = ['.']\non_empty = \"fine\\n\"\n",
    );
    let args = ["--command", "cargo build", "--manifest", "rules.toml", "--exit-code"];
    let with = |code: &'static str| [&args[..], &[code]].concat();
    text(&folder, &with("0"), BUILD.as_bytes()).done("fine\n[tamis mine: 4 of 4 lines left out]\n");
    text(&folder, &with("1"), BUILD.as_bytes()).done(BUILD);
    text(&folder, &with("-9"), BUILD.as_bytes()).done(BUILD);
}

#[test]
fn errors_of_the_command_line() {
    let folder = Folder::new();
    folder
        .write("bad.toml", "[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\nstrip = ['(']\n");
    folder.write("wrong.toml", "[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\n[[rules.examples]]\ninput = \"a\\n\"\noutput = \"b\\n\"\n");
    text(&folder, &["x"], b"").refused(2, &["--command"]);
    text(&folder, &["--command", "a", "none.log"], b"").refused(1, &["none.log", "cannot"]);
    text(&folder, &["--command", "a", "--manifest", "none.toml"], b"")
        .refused(2, &["none.toml: cannot be read"]);
    text(&folder, &["--command", "a", "--manifest", "bad.toml"], b"")
        .refused(2, &["bad.toml:4:11: pattern: unclosed group"]);
    text(&folder, &["--command", "a", "--manifest", "-"], b"").refused(2, &["`-` is given twice"]);
    folder.tamis(&["check", "bad.toml"], b"").refused(2, &["bad.toml:4:11: "]);
    folder
        .tamis(&["check", "wrong.toml"], b"")
        .refused(2, &["wrong.toml:4:1: a: line 1 of the example's output is `a`, expected `b`"]);
}

#[test]
fn rules_are_recognised_by_what_they_are() {
    let folder = Folder::new();
    let rules = "# mine\n\n[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\n";
    folder
        .tamis(&["check", "-"], rules.as_bytes())
        .done("standard input: 1 rule, 0 examples (rules for commands)\n");
    folder.write("rules.conf", rules);
    folder.write("tools.yaml", "version: 1\nfilters: {list: {select: [id]}}\n");
    folder.tamis(&["check", "rules.conf", "tools.yaml"], b"").done(
        "rules.conf: 1 rule, 0 examples (rules for commands)\ntools.yaml: 1 filter (tamis)\n  list: saves: select\n",
    );
}

/// A whole configuration of zeph is TOML, whatever it begins with.
#[test]
fn a_configuration_of_zeph_is_recognised_and_warned_of() {
    let folder = Folder::new();
    let config =
        "[agent]\nname = \"Zeph\"\n[llm]\nprovider = \"ollama\"\n[tools.filters]\nenabled = true\n";
    folder
        .tamis(&["check", "-"], config.as_bytes())
        .done("standard input: 0 rules, 0 examples (rules for commands)\n");
    let config = format!("{config}filters_path = \"/etc/zeph\"\n");
    folder.write("config.toml", &config);
    let ran = folder.tamis(&["check", "config.toml"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.err,
        "tamis: config.toml:7:1: warning: `filters_path` has no effect here: pass the `filters.toml` of this folder as a separate file\n"
    );
    folder
        .tamis(&["check", "config.toml", "--deny-warnings"], b"")
        .refused(2, &["filters_path", "tamis: 1 warning, which --deny-warnings refuses"]);
    // Settings for all filters in one file apply to the rules of another file.
    folder.write("off.toml", "[agent]\n[tools.filters.security]\nenabled = false\n");
    folder.write(
        "rules.toml",
        "[[rules]]\nname = \"plan\"\nmatch = { prefix = \"plan\" }\nstrategy = { type = \"strip_noise\", patterns = [\"noise\"] }\n",
    );
    let noise = "noise that nobody has to read\n".repeat(5) + "noise: unauthorized\n";
    let text = ["text", "--command", "plan", "--manifest", "rules.toml"];
    folder.tamis(&text, noise.as_bytes()).done(
        "[tamis security: lines that the rules removed]\nnoise: unauthorized\n[tamis plan: 5 of 6 lines left out]\n",
    );
    let text = [&text[..], &["--manifest", "off.toml"]].concat();
    folder.tamis(&text, noise.as_bytes()).done("[tamis plan: 6 of 6 lines left out]\n");
}
