//! Which value is sent for a reference, and where.

use super::*;

#[test]
fn a_value_with_a_member_twice_is_not_sent() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let handle = client.stored("read", r#"[{"mode":"erase","mode":"read"},2,3]"#);
    let value = reference(&handle, r#","pointer":"/0""#);
    let sent = client.call("write", &format!(r#"{{"o":{value}}}"#));
    assert!(sent.refusal().contains("twice"), "{}", sent.refusal());
}

#[test]
fn json_that_cannot_be_checked_is_a_text_where_the_schema_wants_one() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    for text in [r#"[{"a":1,"a":2},2]"#, r#"["\ud800",2]"#, "[1E400,2]"] {
        let value = reference(&client.stored("read", text), "");
        assert_eq!(client.call("nested", &body(&value)).arguments()["pages"][0]["body"], text);
        assert!(!client.call("write", &format!(r#"{{"o":{value}}}"#)).refusal().is_empty());
    }
}

/// The text of a result is written as the tool returned it, whatever it looks like.
#[test]
fn a_text_is_written_byte_for_byte() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let long = "a line of a page\n".repeat(4000);
    let string = serde_json::to_string(&long).unwrap();
    let texts = [
        format!("{{\"content\":{string}}}"),
        format!("{{\n  \"result\" : {string}\n}}\n"),
        format!("[\n  {{\"text\": {string}, \"n\": 1.10}},\n  null\n]\n"),
        long.replace('\n', "\r\n"),
    ];
    for text in &texts {
        let handle = client.stored("cat", text);
        let sent = client.call("nested", &body(&reference(&handle, "")));
        assert!(sent.arguments()["pages"][0]["body"] == **text, "{:.80}", text);
        let edits = r#","edits":[{"old":"$","new":""}]"#;
        let sent = client.call("nested", &body(&reference(&handle, edits)));
        assert!(sent.refusal().contains("`old` does not occur"), "{sent:?}");
    }
    // Members keep their spelling, too.
    let handle = client.stored("cat", &texts[2]);
    let sent = client.call("nested", &body(&reference(&handle, r#","pointer":"/0""#)));
    let expected = format!("{{\"text\": {string}, \"n\": 1.10}}");
    assert!(sent.arguments()["pages"][0]["body"] == *expected);
    let handle = client.stored("cat", &texts[0]);
    let sent = client.call("nested", &body(&reference(&handle, r#","pointer":"/content""#)));
    assert!(sent.arguments()["pages"][0]["body"] == *long);
}

/// A server may write a text twice, as a block and in an object. Models see the text.
#[test]
fn a_text_that_a_result_wraps_is_written() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let list = "[ {\"id\":1,\"meta\":0},\n 2 ]\n";
    let long = "a line of a page\n".repeat(4000);
    for (tool, text) in [("cat", long.as_str()), ("page", list)] {
        let result = json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"content": text},
        });
        assert!(matches!(client.call(tool, "{}"), Sent::ToServer(_)));
        let shown = client.result(&result).to_string();
        let at = shown.rfind("tm_").unwrap_or_else(|| panic!("{shown:.200}"));
        let handle = shown[at..at + 29].to_owned();
        let sent = client.call("nested", &body(&reference(&handle, "")));
        assert!(sent.arguments()["pages"][0]["body"] == *text, "{tool}");
    }
}

/// The client never saw the object in which several blocks are stored.
#[test]
fn a_value_of_several_blocks_names_one() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let long = "a line of a page\n".repeat(4000);
    let blocks = json!([
        {"type": "text", "text": "{\"a\": [1, 2]}"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": long},
    ]);
    let handle = client.stored_result("cat", &json!({"content": blocks}));
    for rest in ["", r#","pointer":"""#, r#","pointer":"/blocks""#, r#","patch":[]"#] {
        let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&handle, rest)));
        let why = sent.refusal();
        assert!(why.contains("several blocks") && why.contains("/blocks/0 to /blocks/2"), "{why}");
    }
    let sent = client.call(
        "write",
        &format!("{{\"a\":{}}}", reference(&handle, r#","pointer":"/structuredContent""#)),
    );
    assert!(sent.refusal().contains("/blocks/0"), "{sent:?}");
    let sent = client
        .call("write", &format!("{{\"a\":{}}}", reference(&handle, r#","pointer":"/blocks/1""#)));
    assert!(sent.refusal().contains("no text"), "{sent:?}");
    let sent = client.call("nested", &body(&reference(&handle, r#","pointer":"/blocks/2""#)));
    assert!(sent.arguments()["pages"][0]["body"] == *long);
    let sent = client
        .call("write", &format!("{{\"a\":{}}}", reference(&handle, r#","pointer":"/blocks/0/a""#)));
    assert_eq!(sent.arguments()["a"], json!([1, 2]));
    // With a structured result.
    let result = json!({"content": blocks, "structuredContent": {"b": 1}});
    let handle = client.stored_result("cat", &result);
    let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&handle, "")));
    assert!(sent.refusal().contains("or /structuredContent"), "{sent:?}");
    let sent = client.call(
        "write",
        &format!("{{\"a\":{}}}", reference(&handle, r#","pointer":"/structuredContent/b""#)),
    );
    assert_eq!(sent.arguments()["a"], 1);
}

/// Stored results that lack a part of what the tool returned, or differ from it, though the shown part does not say so.
#[test]
fn a_value_that_differs_from_the_result_is_not_written() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let secret = "ghp_CANARYCANARYCANARYCANARYCANARY123456";
    for (tool, text) in [
        ("near", r#"{"title":"x","items":[1,2,3]}"#.to_owned()),
        ("part", r#"{"data":[1,2,3],"title":"x"}"#.to_owned()),
        // The item that is shown has nothing to replace.
        ("mask", format!(r#"[{{"id":1}},{{"id":2,"secret":"{secret}"}}]"#)),
    ] {
        let handle = client.stored(tool, &text);
        for arguments in
            [format!("{{\"a\":{}}}", reference(&handle, "")), body(&reference(&handle, ""))]
        {
            let sent = client
                .call(if arguments.contains("body") { "nested" } else { "write" }, &arguments);
            assert!(sent.refusal().contains("removed or replaced"), "{tool}: {sent:?}");
        }
    }
    // A search for credentials that finds none changes the spelling of JSON, and applies escape sequences of a text.
    let handle = client.stored("mask", "[ {\"id\": 1},\n {\"id\": 2} ]");
    let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&handle, "")));
    assert_eq!(sent.arguments()["a"], json!([{"id": 1}, {"id": 2}]));
    let sent = client.call("nested", &body(&reference(&handle, "")));
    assert!(sent.refusal().contains("white space"), "{sent:?}");
    let edits = r#","edits":[{"old":"1","new":"3"}]"#;
    let sent = client.call("nested", &body(&reference(&handle, edits)));
    assert!(sent.refusal().contains("white space"), "{sent:?}");
    let lines = "a line of a log\n".repeat(20);
    for (text, differs) in [(format!("\u{1b}[1ma\u{1b}[0m\n{lines}"), true), (lines, false)] {
        let handle = client.stored("logs", &text);
        let sent = client.call("nested", &body(&reference(&handle, "")));
        match differs {
            true => assert!(sent.refusal().contains("removed or replaced"), "{sent:?}"),
            false => assert_eq!(sent.arguments()["pages"][0]["body"], *text),
        }
    }
}

#[test]
fn values_are_checked_where_they_stand() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let handle = client.stored("read", r#"[{"text":"a \"page\"","n":1.10},2,3]"#);
    let text = reference(&handle, r#","pointer":"/0/text""#);
    let number = reference(&handle, r#","pointer":"/0/n""#);
    let sent = client.call("nested", &format!(r#"{{"pages":[{{"body":"x"}},{{"body":{text}}}]}}"#));
    assert_eq!(sent.arguments(), json!({"pages": [{"body": "x"}, {"body": "a \"page\""}]}));
    // A number is its text where a string is expected, and keeps its digits.
    let sent = client.call("nested", &format!(r#"{{"pages":[{{"body":{number}}}],"n":{number}}}"#));
    assert_eq!(sent.arguments()["pages"][0]["body"], "1.10");
    let Sent::ToServer(bytes) = sent else { panic!() };
    assert!(String::from_utf8(bytes).unwrap().contains(r#""n":1.10"#));
    for (tool, arguments, why) in [
        ("nested", format!(r#"{{"pages":[{text}]}}"#), "`type` at /pages/0"),
        ("nested", format!(r#"{{"pages":{text}}}"#), "`type` at /pages"),
        (
            "short",
            format!(
                r#"{{"text":{}}}"#,
                reference(&handle, r#","pointer":"/0/text","edits":[{"old":"page","new":"AAAA"}]"#)
                    .replace("AAAA", &"b".repeat(1000))
            ),
            "`maxLength` at /text",
        ),
        // Which of two arguments a server reads is not known.
        ("short", format!(r#"{{"text":{text},"text":"x"}}"#), "occurs twice"),
        ("short", format!(r#"{{"text":"x","text":{text}}}"#), "occurs twice"),
        (
            "nested",
            format!(r#"{{"pages":[{{"body":{text}}}],"pages":[{{"body":"x"}}]}}"#),
            "occurs twice",
        ),
        ("nested", format!(r#"{{"pages":[{{"body":{text}}}],"pages":[]}}"#), "occurs twice"),
        (
            "nested",
            format!(r#"{{"pages":[{{"body":"x"}}],"p\u0061ges":[{{"body":{text}}}]}}"#),
            "occurs twice",
        ),
        ("write", text.clone(), "not for all of them"),
        ("unlisted", format!(r#"{{"a":{text}}}"#), "not known"),
    ] {
        let sent = client.call(tool, &arguments);
        assert!(sent.refusal().contains(why), "{arguments}: {sent:?}");
    }
    // Depth.
    for depth in [90, 101, 140, 5000] {
        let arguments = format!("{{\"a\":{}{text}{}}}", "[".repeat(depth), "]".repeat(depth));
        let sent = client.call("write", &arguments);
        match depth {
            90 => assert!(sent.arguments().to_string().contains("page")),
            _ => assert!(sent.refusal().contains("too deep"), "{sent:?}"),
        }
    }
}
