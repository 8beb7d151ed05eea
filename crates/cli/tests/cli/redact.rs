//! `--redact` on `tamis filter`, `text`, `run` and `content`. The credentials are passwords in URLs.

use super::*;

#[test]
fn json_is_redacted_with_flags_and_with_a_tool() {
    let folder = Folder::new();
    let input = br#"[{"id": 1, "mail": "m@x", "url": "https://a:tide@x.org"}]"#;
    let ran = folder.tamis(&["filter", "--redact", "mail,secrets", "--report", "-"], input);
    let redacted =
        r#"[{"id":1,"mail":"[redacted]","url":"https://a:[redacted:url-password]@x.org"}]"#;
    assert_eq!(ran.out.trim_end(), redacted, "{}", ran.err);
    assert!(ran.err.contains(r#""redacted":{"path":1,"url-password":1}"#), "{}", ran.err);

    folder.write(
        "tools.yaml",
        "version: 1\nfilters:\n  a:\n    exclude: [id]\n    redact: {paths: [mail], with: x}\n",
    );
    let args = ["filter", "--manifest", "tools.yaml", "--redact", "secrets"];
    let ran = folder.tamis(&args, input);
    let both = r#"[{"mail":"x","url":"https://a:[redacted:url-password]@x.org"}]"#;
    assert_eq!(ran.out.trim_end(), both, "{}", ran.err);
    // The filter redacts, so raw output is refused.
    let ran = folder.tamis(&["filter", "--manifest", "tools.yaml", "--raw"], input);
    assert!(!ran.out.contains("m@x"), "{}", ran.out);
}

#[test]
fn text_is_redacted_before_lines_are_cut() {
    let folder = Folder::new();
    let secret = "x https://a:ti\x1b[1mde@x.org\n";
    let text = format!("{secret}{}", "line\n".repeat(3000));
    let args = ["text", "--command", "make", "--max-lines", "9", "--redact", "secrets"];
    let ran = folder.tamis(&args, text.as_bytes());
    assert!(ran.out.starts_with("x https://a:[redacted:url-password]@x.org\n"), "{}", ran.out);
    let other = ["text", "--command", "unknown", "--redact", "secrets"];
    let ran = folder.tamis(&other, secret.as_bytes());
    assert_eq!(ran.out, "x https://a:[redacted:url-password]@x.org\n", "{}", ran.err);
    let ran = folder.tamis(&["text", "--command", "a", "--redact", "names"], b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn the_report_of_text_counts_what_was_redacted() {
    let folder = Folder::new();
    let secret = "x https://a:tide@x.org y\n";
    for command in ["unknown", "make", "docker logs api"] {
        let args = ["text", "--command", command, "--redact", "secrets", "--report", "-"];
        let ran = folder.tamis(&args, secret.as_bytes());
        let report: Value = serde_json::from_str(ran.err.trim_end()).unwrap();
        assert_eq!(report["redacted"], serde_json::json!({"url-password": 1}), "{}", ran.err);
        assert_eq!(report["changed"], true);
        assert_eq!(report["bytes_in"], secret.len());
        assert_eq!(report["bytes_out"], ran.out.len());
        let clean = folder.tamis(&args, b"x\n");
        assert!(!clean.err.contains("redacted") && clean.err.contains("\"changed\":false"));
    }
}

#[cfg(unix)]
#[test]
fn full_outputs_of_commands_are_redacted_only_where_asked() {
    let folder = Folder::new();
    let script =
        "i=0; while [ $i -lt 900 ]; do echo same line; i=$((i+1)); done; echo https://a:tide@x.org";
    for (flag, has_secret) in [(None, true), (Some(["--redact", "secrets"]), false)] {
        let mut args: Vec<&str> = flag.into_iter().flatten().collect();
        args.extend(["--keep", "--max-lines", "20", "--", "sh", "-c", script]);
        let ran = Ran::new(&folder.runner(&args).output().unwrap());
        assert_eq!(ran.out.contains("tide"), has_secret, "{}", ran.out);
        assert_eq!(folder.full(ran.handle()).contains("tide"), has_secret);
    }
}

#[test]
fn the_text_of_a_page_is_redacted_before_it_is_cut() {
    let folder = Folder::new();
    let page = format!(
        "<html><body><article><p>Use https://a:ti&#100;e@x.org now. {}</p></article>",
        "More words follow here. ".repeat(60)
    );
    let ran =
        folder.tamis(&["content", "--redact", "secrets", "--max-tokens", "40"], page.as_bytes());
    assert!(ran.out.contains("https://a:[redacted:url-password]@x.org"), "{}", ran.out);
}

#[test]
fn the_colours_of_a_text_do_not_hide_a_credential() {
    let folder = Folder::new();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("\x1b[1m{token}\x1b[0m gh\x1b[31mp_{}\n", &token[4..]);
    let ran = folder.tamis(&["content", "--redact", "secrets"], text.as_bytes());
    assert_eq!(
        ran.out.trim_end(),
        "[redacted:github-token] [redacted:github-token]",
        "{}",
        ran.err
    );
}
