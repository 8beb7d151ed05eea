//! `tamis content`, and content by the name of a tool.

use super::*;

const PAGE: &str =
    "<html><nav>Home</nav><p>One two three. Four five six.</p><p>Seven eight nine ten.</p>";
const REGISTRY: &str = "tools:\n  fetch: {filter: {type: content, max_tokens: 9}}\n  rows: {filter: {type: field, fields: [id]}}\n  git: {}\n";

#[test]
fn a_page_from_a_pipe_or_a_file_in_any_format() {
    let folder = Folder::new();
    let text = "One two three. Four five six.\n\nSeven eight nine ten.\n";
    folder.tamis(&["content"], PAGE.as_bytes()).done(text);
    folder.tamis(&["content", "-"], PAGE.as_bytes()).done(text);
    folder.write("page.html", "<h1>T</h1><p><a href=/x>link</a> and text");
    folder.tamis(&["content", "page.html"], b"").done("T\n\nlink and text\n");
    folder
        .tamis(&["content", "page.html", "--format", "markdown"], b"")
        .done("# T\n\n[link](/x) and text\n");
    folder.tamis(&["content", "page.html", "-o", "page.html"], b"").done("");
    assert_eq!(folder.read("page.html"), "T\n\nlink and text\n");
    folder.write("a.json", r#"{"title":"T","text":"<p>a"}"#);
    folder.tamis(&["content", "--extract", "title,text", "a.json"], b"").done("T\n\na\n");
    folder
        .tamis(&["content", "--extract", "title", "--extract", "text", "a.json"], b"")
        .done("T\n\na\n");
}

#[test]
fn the_report_says_what_was_left_out() {
    let folder = Folder::new();
    let ran = folder
        .tamis(&["content", "--max-tokens", "9", "--report", "r.json", "--stats"], PAGE.as_bytes());
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "One two three. Four five six.\n\n[... 5 tokens left out]\n")
    );
    assert!(ran.err.starts_with("tamis: 85 bytes (29 tokens) in, 54 (16) out"), "{}", ran.err);
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(report["content_from"], "article");
    assert_eq!(report["filter_applied"], true);
    assert_eq!(report["filter_original_bytes"], PAGE.len());
    assert_eq!(report["filter_result_bytes"], 52);
    assert_eq!(report["output_bytes"], 54);
    assert_eq!(report["budget_applied"], true);
    assert_eq!(report["tokens_limit"], 9);
    assert_eq!(report["tokens_original"], 13);
    assert_eq!(report["budget_result_bytes"], 54);
    assert!(report.get("tokens_estimated").is_none());
}

#[test]
fn a_fallback_is_a_warning() {
    let folder = Folder::new();
    let ran = folder.tamis(&["content"], b"<html><script>x()</script>");
    assert_eq!((ran.code, ran.out.as_str()), (0, "<html><script>x()</script>\n"));
    assert_eq!(
        ran.err,
        "tamis: standard input: warning: no text was found in the page: it is unchanged\n"
    );
    let ran = folder.tamis(&["content"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err, "tamis: standard input: byte 0: the document is empty\n");
    let ran = folder.tamis(&["content", "--held", "3", "--spill", "0"], b"{\"text\": 1}");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.ends_with("buffer limit of 3 bytes exceeded (raise it with --held or --spill)\n"),
        "{}",
        ran.err
    );
    let ran = folder.tamis(&["content", "--extract", "a..b"], b"{}");
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("tamis: extract: "), "{}", ran.err);
}

#[test]
fn a_registry_dispatches_by_name() {
    let folder = Folder::new();
    folder.write("tool-registry.yaml", REGISTRY);
    folder.write("page.html", PAGE);
    let filter = |tool: &str, args: &[&str], input: &str| {
        let base = ["filter", "--manifest", "tool-registry.yaml", "--tool", tool];
        folder.tamis(&[&base[..], args].concat(), input.as_bytes())
    };
    filter("fetch", &["page.html"], "")
        .done("One two three. Four five six.\n\n[... 5 tokens left out]\n");
    filter("fetch", &["--budget-tokens", "100"], "plain text\n").done("plain text\n");
    filter("rows", &[], "{\"id\": 1, \"x\": 2}").done("[{\"id\":1}]\n");
    for (tool, input) in [("git", "no JSON\n\n at all"), ("unheard of", "[1,\n2")] {
        let ran = filter(tool, &[], input);
        assert_eq!((ran.code, ran.out), (0, format!("{input}\n")));
        assert_eq!(
            ran.err,
            "tamis: standard input: warning: the registry has no filter of a known type for this tool: its response passes unfiltered\n"
        );
    }
    folder.write("other.yaml", "version: 1\nfilters: {crm.get: {retain: [/id]}}\n");
    let base = ["filter", "--manifest", "other.yaml", "--manifest", "tool-registry.yaml"];
    let ran = folder.tamis(&[&base[..], &["--tool", "CRM.get"]].concat(), b"{\"id\":1,\"x\":2}");
    ran.refused(2, &["no filter for the tool `CRM.get`"]);
    for flag in ["--pretty", "--ndjson", "--lenient"] {
        let ran = filter("fetch", &[flag], "text");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert_eq!(
            ran.err,
            format!("tamis: {flag}: the response of this tool may not be JSON; leave {flag} out\n")
        );
    }
    let ran = folder.tamis(&["check", "tool-registry.yaml"], b"");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (
            0,
            "tool-registry.yaml: 2 filters (aios)\n  fetch: saves: content\n  rows: saves: select, wrap\n"
        )
    );
    folder
        .tamis(&["tools", "--manifest", "tool-registry.yaml"], b"")
        .done("fetch  the content; at most 9 tokens\nrows   id\n");
    let ran = folder.tamis(&["explain", "--manifest", "tool-registry.yaml", "--tool", "git"], b"");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "plan: stream\n\n1. pass: stream\n   every document is forwarded unchanged\n")
    );
}
