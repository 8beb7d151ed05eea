//! Runs every example of the help topics, the help and the README, and every flag. `guide.rs` runs those of the guide.

use std::collections::BTreeSet;

use super::shell::{Example, Typed, arguments, examples};
use super::*;

/// Runs a documented command.
pub(crate) fn happened(folder: &Folder, command: &str) -> Ran {
    let mut typed = Typed::parse(command);
    // Users install a program that others cannot replace. This one may lie in a folder for temporary files.
    if typed.args.first().is_some_and(|command| command == "install") {
        typed.args.push("--trust-path".into());
    }
    let mut ran = folder.tamis(&typed.args, typed.input.as_deref().unwrap_or_default().as_bytes());
    if let Some(file) = &typed.into {
        folder.write(file, &ran.out);
        ran.out.clear();
    }
    ran
}

/// Writes the files that a page shows: TOML and YAML blocks that begin with `# NAME`, and blocks after a line "`NAME`:".
pub(crate) fn write_shown_files(folder: &Folder, page: &str) {
    for opening in ["```toml\n# ", "```yaml\n# "] {
        for block in page.split(opening).skip(1) {
            let (block, _) = block.split_once("```").unwrap();
            let (file, text) = block.split_once('\n').unwrap();
            if file.contains('/') {
                assert_eq!(text, source(file), "a page shows {file} as it is in the repository");
            } else {
                folder.write(file, text);
            }
        }
    }
    let lines: Vec<&str> = page.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(file) = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) else {
            continue;
        };
        assert!(lines[at + 1].is_empty() && lines[at + 2].starts_with("```"), "{line}");
        let block = lines[at + 3..].iter().take_while(|line| !line.starts_with("```"));
        folder.write(file, block.map(|line| format!("{line}\n")).collect::<String>());
    }
}

fn check(name: &str, page: &str) {
    let folder = Folder::new();
    write_shown_files(&folder, page);
    check_in(&folder, name, page);
}

fn check_in(folder: &Folder, name: &str, page: &str) {
    let failed = differences(folder, name, page);
    assert!(failed.is_empty(), "{name}:{failed}");
}

/// Runs the examples of a page, and returns those whose output is not the documented one.
pub(crate) fn differences(folder: &Folder, name: &str, page: &str) -> String {
    let examples = examples(page);
    assert!(!examples.is_empty(), "{name}: examples are found");
    let mut failed = String::new();
    for (at, example) in examples.iter().enumerate() {
        let ran = if let Some(query) = example.command.strip_prefix("jq ") {
            let next = examples.get(at + 1).unwrap();
            assert_eq!(example.output, next.output, "{name}: {}", next.command);
            let Some(ran) = jq(folder, query) else { continue };
            ran
        } else {
            happened(folder, &example.command)
        };
        // A terminal begins a new line for the next output.
        let end = if ran.out.is_empty() || ran.out.ends_with('\n') { "" } else { "\n" };
        let shown = format!("{}{end}{}", ran.out, ran.err);
        let Example { command, output, code } = example;
        if (ran.code, without_handle(&shown)) != (*code, without_handle(output)) {
            failed += &format!(
                "\n$ {command}\n--- documented (exit {code})\n{output}--- actual (exit {})\n{shown}",
                ran.code
            );
        }
    }
    failed
}

/// Runs jq, if it is installed: without it, only the documented outputs are compared.
fn jq(folder: &Folder, query: &str) -> Option<Ran> {
    let mut command = Command::new("jq");
    command.current_dir(folder.path("")).args(arguments(query)).stdin(Stdio::null());
    command.output().ok().map(|output| Ran::new(&output))
}

/// The output, without the handle of the full output, which is random.
fn without_handle(output: &str) -> String {
    match output.split_once("; full output: ") {
        Some((before, rest)) if rest.starts_with("tamis recall tm_") => {
            format!("{before}{}", rest.split_once(']').unwrap().1)
        }
        _ => output.to_owned(),
    }
}

pub(crate) fn source(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

macro_rules! topics {
    ($($(#[$on:meta])* $test:ident $name:literal)*) => {
        $(
            $(#[$on])*
            #[test]
            fn $test() {
                check($name, &source(concat!("crates/cli/src/topics/", $name, ".md")));
            }
        )*

        #[test]
        fn every_topic_is_checked_and_shown() {
            let folder = Folder::new();
            let mut names: Vec<_> = vec![$(concat!($name, ".md").to_owned()),*];
            names.sort();
            let topics = root().join("crates/cli/src/topics");
            let mut found: Vec<_> = std::fs::read_dir(topics)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            found.sort();
            assert_eq!(found, names);
            $(
                let page = folder.tamis(&["help", $name], b"");
                assert_eq!((page.code, page.err.as_str()), (0, ""));
                assert!(!page.out.contains("```") && !page.out.contains('\u{1b}'), "{}", page.out);
                assert!(page.out.contains("\n    $ "), "{}", page.out);
                assert!(folder.tamis(&["help"], b"").out.contains(concat!("\n  ", $name, " ")));
            )*
        }
    };
}

topics! {
    paths "paths"
    roots "roots"
    rules "rules"
    jq_topic "jq"
    manifests "manifests"
    #[cfg(unix)] // `tamis run`
    running "running"
    #[cfg(unix)] // `tamis recall`
    recalling "recalling"
    proxy "proxy"
    serving "serving"
    history "history"
    #[cfg(unix)] // The hooks of agents
    replaying "replaying"
    pages "pages"
    limits "limits"
    reports "reports"
    about_commands "commands"
    exit_codes "exit-codes"
}

/// A folder with the files that documented commands read.
pub(crate) fn with_files() -> Folder {
    let folder = Folder::new();
    folder.write("repos.json", r#"[{"id":1,"owner":{"login":"a"},"body":"x"},{"id":2},{"id":3}]"#);
    folder.write("big.json", r#"{"user":{"name":"a","ssn":1},"items":[{"id":1,"x":2}]}"#);
    folder.write("page.json", r#"[{"body_html":"x","labels":[{"url":"y","name":"z"}]}]"#);
    for name in ["log.ndjson", "events.log"] {
        folder.write(name, "{\"level\":1,\"msg\":\"a\",\"x\":0}\n{\"level\":2,\"msg\":\"b\"}\n");
    }
    folder.write("users.json", r#"[{"id":1,"owner":{"login":"a"},"teams":[{"name":"b"}],"x":2}]"#);
    folder.write("tools.yaml", source("examples/tools.yaml"));
    folder.write("names.txt", "crm.list-users\n");
    folder.write("test.log", "test a ... ok\n");
    folder.write("make.log", "cc -c a.c\n");
    folder.write("rules.toml", "[[rules]]\nname = \"a\"\nmatch = { exact = \"a\" }\n");
    let result =
        |text: &str| format!(r#"{{"role":"tool","tool_call_id":"c1","content":"{text}"}}"#);
    let user = r#"{"role":"user","content":"go on"}"#;
    let history = format!("[{},{user},{user}]", result(&"a long text ".repeat(50)));
    folder.write("history.json", &history);
    folder.write("request.json", format!(r#"{{"model":"m","messages":{history}}}"#));
    write_shown_files(&folder, &source("README.md"));
    std::fs::create_dir(folder.path("responses")).unwrap();
    folder.write("responses/crm.list-users.json", folder.read("users.json"));
    let corpus = root().join("corpus");
    for sub in ["corpus", "corpus/pages", "corpus/commands"] {
        std::fs::create_dir(folder.path(sub)).unwrap();
    }
    for entry in std::fs::read_dir(&corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some(OsStr::new("json")) {
            std::fs::copy(&path, folder.path("corpus").join(path.file_name().unwrap())).unwrap();
        }
    }
    let recorded =
        ["cargo-test-fail", "cargo-check-large"].map(|name| format!("commands/{name}.txt"));
    for name in recorded.iter().map(String::as_str).chain(["pages/news.html"]) {
        std::fs::copy(corpus.join(name), folder.path("corpus").join(name)).unwrap();
    }
    std::fs::create_dir_all(folder.path("examples/mcp")).unwrap();
    for name in ["examples/mcp/tamis.yaml", "examples/mcp/secrets.yaml"] {
        std::fs::copy(root().join(name), folder.path(name)).unwrap();
    }
    folder.write("answer.json", r#"{"title":"T","text":"<p>Some text."}"#);
    folder.write("search.json", r#"{"results":[{"text":"one"},{"text":"two"}]}"#);
    std::fs::create_dir(folder.path("home")).unwrap();
    copy_sessions(&folder);
    // Commands for `tamis run`. `cargo check` prints a recorded output.
    #[cfg(unix)]
    for name in ["cargo", "make"] {
        std::fs::create_dir_all(folder.path("bin")).unwrap();
        let program = folder.path("bin").join(name);
        let script = "#!/bin/sh\ncase $1 in check) cat corpus/commands/cargo-check-large.txt ;; *) echo done ;; esac\n";
        std::fs::write(&program, script).unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, all).unwrap();
    }
    folder
}

/// Copies the made-up sessions of the agents into the folder `sessions`, and into the place of Claude Code.
pub(crate) fn copy_sessions(folder: &Folder) {
    let sessions = root().join("crates/replay/tests/sessions");
    for (from, to) in [
        ("claude-code/-srv-berths/s1.jsonl", "sessions/claude-code.jsonl"),
        ("codex/rollout-2026-03-09T10-00-00-s2.jsonl", "sessions/codex.jsonl"),
        ("gemini/berths/chats/session-2026-03-09T10-00-s3.jsonl", "sessions/gemini.jsonl"),
        ("opencode/opencode.db", "sessions/opencode.db"),
        ("claude-code/-srv-berths/s1.jsonl", "home/.claude/projects/-srv-berths/s1.jsonl"),
    ] {
        std::fs::create_dir_all(folder.path(to).parent().unwrap()).unwrap();
        std::fs::copy(sessions.join(from), folder.path(to)).unwrap();
    }
    let prices =
        r#"{"models": {"*": {"input": 5, "cache_write": 6.25, "cache_read": 0.5, "output": 25}}}"#;
    folder.write("prices.json", prices);
}

/// The lines that begin with tamis, or end in a pipe into it.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).map(|line| line.replace("~/", "home/"));
    let ours = |line: &String| line.starts_with("tamis ") || line.contains("| tamis ");
    lines.filter(|line| ours(line) && !line.contains("| jq ")).collect()
}

/// Makes the folders into which documented commands write completions.
pub(crate) fn make_completion_folders(folder: &Folder) {
    for at in [
        "home/.local/share/bash-completion/completions",
        "home/.zfunc",
        "home/.config/fish/completions",
    ] {
        std::fs::create_dir_all(folder.path(at)).unwrap();
    }
}

/// Stores a result under the handle that the help of `tamis recall` and the guide show.
#[cfg(unix)]
pub(crate) fn store_documented_result(folder: &Folder) {
    use tamis_store::{EntryMeta, Scope, Store, StoreConfig};
    let issue = |id| format!(r#"{{"id":{id},"title":"error {id}","body":"text"}}"#);
    let issues: Vec<String> = (0..60).map(issue).collect();
    let config = StoreConfig::folder(folder.path(".state/store"));
    let store = Store::open(config.with_handles(|| std::array::from_fn(|byte| byte as u8)));
    let mut entry = store.begin(Scope::user(), EntryMeta::json("search")).unwrap();
    write!(entry, r#"{{"issues":[{}]}}"#, issues.join(",")).unwrap();
    assert_eq!(entry.finish().unwrap().to_string(), "tm_aaaqeayeaudaocajbifqydiob4");
}

#[test]
fn examples_of_the_help_run() {
    for (command, count) in [
        ("filter", 11),
        #[cfg(unix)]
        ("run", 5),
        #[cfg(unix)]
        ("recall", 5),
        ("content", 4),
        ("look", 8),
        #[cfg(unix)]
        ("replay", 5),
        ("explain", 6),
        ("suggest", 5),
        ("text", 4),
        ("prune", 5),
        ("check", 5),
        ("audit", 4),
        ("tools", 4),
        ("help", 2),
        ("completions", 3),
        ("man", 2),
    ] {
        let folder = with_files();
        make_completion_folders(&folder);
        #[cfg(unix)]
        store_documented_result(&folder);
        let help = folder.tamis(&[command, "--help"], b"").out;
        let examples = help.split_once("\nExamples:\n").unwrap().1;
        let examples =
            commands(examples.split_once("\n\n").map_or(examples, |(examples, _)| examples));
        assert_eq!(examples.len(), count, "{help}");
        for example in examples {
            let ran = happened(&folder, &example);
            assert_eq!(ran.code, 0, "{example}: {}", ran.err);
            let says = ["--stats", "--keep", "--samples", "filter --select id --why", "suggest"]
                .iter()
                .any(|flag| example.contains(flag));
            assert!(ran.err.is_empty() || says, "{example}: {}", ran.err);
        }
    }
}

#[cfg(unix)] // `tamis run` and `tamis install`
#[test]
fn commands_of_the_readme_run() {
    let folder = with_files();
    let readme = source("README.md").replace("cargo run --release --bin tamis -- ", "tamis ");
    check_in(&with_files(), "README.md", &readme);
    let main = readme.split("```sh\n").nth(1).unwrap().lines().next().unwrap().to_owned();
    let shown = readme.split("```json\n").nth(1).unwrap().split_once("```").unwrap().0;
    assert_eq!(happened(&folder, &main).out, shown);
}

/// Compares the table of the catalog's savings with the output of the commands below it.
#[cfg(unix)] // The commands write to /dev/null.
#[test]
fn documented_savings_of_the_catalog() {
    let folder = with_files();
    let page = source("docs/src/numbers.md");
    let section = page.split_once("## Savings").unwrap().1;
    let commands = commands(section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap());
    assert_eq!(commands.len(), 4);
    for command in commands {
        let tool = command.split(' ').find(|word| word.contains('.')).unwrap();
        let row = section.lines().find(|line| line.starts_with(&format!("| `{tool}` |"))).unwrap();
        let [_, _, _, before, after, saved, tokens_before, tokens_after, ..] =
            row.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            panic!("{row}")
        };
        let said = format!(
            "tamis: {before} bytes ({tokens_before} tokens) in, {after} ({tokens_after}) out, {saved} saved"
        );
        let ran = happened(&folder, &command);
        assert!(ran.err.starts_with(&said), "{command}: {}, not {said}", ran.err);
    }
}

/// A minimal example of each flag of `tamis filter`.
const FLAGS: [(&str, &[&str], &str); 55] = [
    ("--manifest", &["--manifest", "tools.yaml"], "[{\"id\":1}]\n"),
    ("--tool", &["--tool", "crm.list", "--manifest", "tools.yaml"], "[{\"id\":1}]\n"),
    (
        "--level",
        &["--level", "careful", "--tool", "crm.list", "--manifest", "tools.yaml"],
        "[{\"id\":1}]\n",
    ),
    ("--extract", &["--extract", "[0].id"], "1\n"),
    ("--select", &["--select", "id"], "[{\"id\":1}]\n"),
    ("--exclude", &["--exclude", "x"], "[{\"id\":1,\"n\":null,\"e\":\"\"}]\n"),
    ("--omit", &["--omit", "n,x"], "[{\"id\":1,\"e\":\"\"}]\n"),
    ("--requires", &["--requires", "[].y", "--select", "id"], WHOLE),
    ("--on-kind", &["--on-kind", "keep", "--select", "e.z"], "[{\"z\":\"\"}]\n"),
    ("--retain", &["--retain", "/id"], "[{\"id\":1}]\n"),
    ("--patch", &["--patch", "patch.json"], "[{\"id\":1,\"n\":null,\"e\":\"\"}]\n"),
    (
        "--lenient-remove",
        &["--lenient-remove", "--patch", "wrong.json"],
        "[{\"id\":1,\"n\":null,\"e\":\"\",\"x\":{}}]\n",
    ),
    ("--service", &["--service", "Crm@1", "--manifest", "artifact.yaml"], "[{\"id\":1}]\n"),
    ("--root", &["--root", "first", "--select", "id"], "[{\"id\":1}]\n"),
    ("--siblings", &["--siblings", "drop", "--select", "id"], "[{\"id\":1}]\n"),
    ("--where", &["--where", "id=1", "--select", "id"], "[{\"id\":1}]\n"),
    ("--item", &["--item", "1k", "--where", "id=2"], "[]\n"),
    ("--max-items", &["--max-items", "1", "--select", "id"], "[{\"id\":1}]\n"),
    ("--drop-nulls", &["--drop-nulls", "--exclude", "x"], "[{\"id\":1,\"e\":\"\"}]\n"),
    ("--factor", &["--factor"], WHOLE),
    ("--drop-empty", &["--drop-empty", "--exclude", "x"], "[{\"id\":1,\"n\":null}]\n"),
    ("--stop-early", &["--stop-early", "--max-items", "1", "--select", "id"], "[{\"id\":1}]\n"),
    ("--prefer", &["--prefer", "order", "--budget", "40"], WHOLE),
    (
        "--budget",
        &["--budget", "20", "--omitted", "silent", "--prefer", "order"],
        "[{\"id\":1,\"n\":null}]\n",
    ),
    ("--budget-tokens", &["--budget-tokens", "50"], WHOLE),
    ("--min-items", &["--min-items", "0", "--budget", "20", "--omitted", "silent"], "[]\n"),
    ("--omitted", &["--omitted", "mark", "--max-items", "1"], WHOLE),
    ("--on-over", &["--on-over", "error", "--budget", "40"], WHOLE),
    ("--raw", &["--raw", "--select", "id"], WHOLE),
    ("--is-error", &["--is-error", "--select", "id"], WHOLE),
    ("--on-error", &["--on-error", "raw"], WHOLE),
    ("--validation", &["--validation", "full"], WHOLE),
    ("--duplicate-keys", &["--duplicate-keys", "count", "--select", "id"], "[{\"id\":1}]\n"),
    ("--whitespace", &["--whitespace", "minify"], WHOLE),
    ("--max-depth", &["--max-depth", "3"], WHOLE),
    ("--held", &["--held", "1k"], WHOLE),
    ("--spill", &["--spill", "0"], WHOLE),
    ("--report", &["--report", "report.json"], WHOLE),
    ("--tee", &["--tee", "record.json"], WHOLE),
    ("--pretty", &["--pretty", "--select", "id"], "[\n  {\n    \"id\": 1\n  }\n]\n"),
    ("--stats", &["--stats"], WHOLE),
    ("--why", &["--why=/0/id"], WHOLE),
    ("--json", &["--json", "--why=/0/y"], WHOLE),
    ("--ndjson", &["--ndjson"], WHOLE),
    ("--docs", &["--docs"], WHOLE),
    ("--events", &["--events"], ""),
    ("--bad-lines", &["--bad-lines", "skip", "--ndjson"], WHOLE),
    ("--max-docs", &["--max-docs", "1", "--ndjson"], WHOLE),
    ("--lenient", &["--lenient"], WHOLE),
    ("--lines", &["--lines", "--select", "id,n"], "{\"id\":1,\"n\":null}\n"),
    ("--format", &["--format", "csv", "--select", "id,n"], "id,n\n1,\n"),
    ("--redact", &["--redact", "id"], "[{\"id\":\"[redacted]\",\"n\":null,\"e\":\"\",\"x\":{}}]\n"),
    ("--raw-strings", &["-r", "--extract", "[0].e"], "\n"),
    ("--output", &["-o", "out.json"], ""),
    ("--color", &["--color", "never"], WHOLE),
];
const WHOLE: &str = "[{\"id\":1,\"n\":null,\"e\":\"\",\"x\":{}}]\n";

#[test]
fn every_flag_is_run() {
    let folder = Folder::new();
    folder.write("a.json", "[ {\"id\":1,\"n\":null,\"e\":\"\",\"x\":{}} ]");
    folder.write("tools.yaml", "version: 1\nfilters: {crm.list: {select: [id], root: first}}\n");
    folder.write("patch.json", r#"[{"op": "remove", "path": "/0/x"}]"#);
    folder.write("wrong.json", r#"[{"op": "remove", "path": "/0/y"}]"#);
    folder.write(
        "artifact.yaml",
        "apiVersion: reshapr.io/v1alpha1\nkind: ToolsFilters\nservice: {name: Crm, version: 1}\n\
         filters: {list: {retain: [/id]}}\n",
    );
    let help = folder.tamis(&["filter", "-h"], b"").out;
    let flag = |word: &str| {
        word.trim_matches(|char: char| !char.is_ascii_alphabetic() && char != '-').to_owned()
    };
    let in_help: BTreeSet<String> = help
        .lines()
        .map(str::trim_start)
        .map(|line| {
            ["-o, ", "-r, "].iter().find_map(|short| line.strip_prefix(short)).unwrap_or(line)
        })
        .filter(|line| line.starts_with("--") && !line.starts_with("--help"))
        .map(|line| flag(line.split([' ', '=']).next().unwrap()))
        .collect();
    let here: BTreeSet<String> = FLAGS.iter().map(|(flag, ..)| (*flag).to_owned()).collect();
    assert_eq!(in_help, here, "{help}");
    for (flag, args, out) in FLAGS {
        let ran = folder.run(args.iter().chain(&["a.json"]));
        let printed = match flag {
            "--stats" => "tamis: 35 bytes (17 tokens) in, 33 (17) out, 5.7 % saved\n",
            "--why" => "/0/id: kept, at /0/id\n",
            "--json" => {
                assert!(ran.err.contains(r#""value":{"pointer":"/0/y","outcome":"missing"}"#));
                ran.err.as_str()
            }
            _ => "",
        };
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, out, printed), "{flag}");
    }
}
