//! Attempts to send a value that the client could not have read, or to let values grow.

use super::*;

#[test]
fn a_denied_tool_gets_no_value() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let handle = client.stored("read", "[1,2,3]");
    for tool in ["erase", "er\\u0061se"] {
        let sent = client.call(tool, &format!("{{\"a\":{}}}", reference(&handle, "")));
        let Sent::Back(response) = sent else { panic!("{sent:?}") };
        assert_eq!(response["error"]["code"], -32602, "{response}");
        assert!(!response.to_string().contains("[1,2,3]"));
    }
}

#[test]
fn a_notice_in_an_edit_is_refused() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let handle = client.stored("read", r#"["a","b","c"]"#);
    let notice = format!(r#"[tamis: 2 of 3 items; tamis_retrieve(handle=\"{handle}\")]"#);
    for rest in
        [r#","edits":[{"old":"b","new":N}]"#, r#","patch":[{"op":"add","path":"/1","value":N}]"#]
    {
        let value = reference(&handle, &rest.replace('N', &format!("\"{notice}\"")));
        let sent = client.call("nested", &body(&value));
        assert!(sent.refusal().contains("an argument has a notice"), "{}", sent.refusal());
    }
}

/// Line breaks between the tokens of a stored value would end the message, and the server would read the rest as messages.
#[test]
fn a_value_does_not_end_its_message() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let call = r#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"erase"}}"#;
    for ending in ["\n", "\r\n", "\r"] {
        let text = format!("[{ending}{call}{ending},2]{ending}");
        let handle = client.stored("read", &text);
        for rest in ["", r#","pointer":"/0""#, r#","patch":[{"op":"remove","path":"/1"}]"#] {
            let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&handle, rest)));
            let Sent::ToServer(bytes) = sent else { panic!("{sent:?}") };
            assert!(memchr::memchr2(b'\n', b'\r', &bytes).is_none(), "{ending:?} {rest}");
        }
    }
}

#[test]
fn only_the_session_and_the_server_of_a_value_use_it() {
    let store = memory();
    let wiki = proxy("wiki", MANIFEST, &store);
    let mail = proxy("mail", MANIFEST, &store);
    let session =
        |id: &str| Exchange::http().with_session_id(true).with_scope(Scope::session(id.as_bytes()));
    let authorized =
        |header: &str| Exchange::http().with_scope(Scope::authorization(Some(header.as_bytes())));
    for (owner, stranger) in [
        (session("a"), session("b")),
        (authorized("a"), authorized("b")),
        (session("c"), authorized("c")),
    ] {
        let mut client = Client::new(&wiki, owner);
        let handle = client.stored("read", r#"["CANARY",2]"#);
        let arguments = format!("{{\"a\":{}}}", reference(&handle, ""));
        let mut other = Client::new(&wiki, stranger);
        assert!(other.call("write", &arguments).refusal().contains("unknown or expired"));
        assert!(matches!(client.call("write", &arguments), Sent::ToServer(_)));
        // The same session at another server.
        let mut client = Client::new(&mail, client.exchange);
        let sent = client.call("write", &arguments);
        assert!(sent.refusal().contains("not one of this server"), "{sent:?}");
    }
}

/// A canary that a rule removes or replaces is in no message to a server, whatever reference a client writes.
#[test]
fn secrets_do_not_leave_through_handles() {
    let mut rng = Prng::new(52);
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let secret = "ghp_CANARYCANARYCANARYCANARYCANARY123456";
    let item = format!(r#"{{"id":1,"secret":"{secret}","list":[1,2]}}"#);
    let list = format!("[{item},{}]", item.replace("\"id\":1", "\"id\":2"));
    let shown = client.stored("read", "[{\"id\":1,\"list\":[1,2]},{\"id\":2}]");
    let handles: Vec<String> = ["drop", "keep", "mask", "edit", "pick"]
        .into_iter()
        .map(|tool| client.stored(tool, &list))
        .chain([shown.clone()])
        .collect();
    let pointers = [
        "",
        "/0",
        "/0/secret",
        "/1/secret",
        "/0/list",
        "/-",
        "/0/secret/0",
        "/00",
        "/~2",
        "/0/s\\u0065cret",
    ];
    let mut sent_values = 0;
    for _ in 0..4000 {
        let pick = |rng: &mut Prng, from: &[&str]| from[rng.below(from.len())].to_owned();
        let handle = handles[rng.below(handles.len())].clone();
        let mut rest = String::new();
        if rng.below(2) == 0 {
            rest += &format!(r#","pointer":"{}""#, pick(&mut rng, &pointers));
        }
        let operation = |rng: &mut Prng| {
            let op = pick(rng, &["test", "copy", "move", "add", "remove", "replace"]);
            let (from, path) = (pick(rng, &pointers), pick(rng, &pointers));
            let value = pick(rng, &["1", "\"x\"", "{\"id\":2}", "[]"]);
            match op.as_str() {
                "copy" | "move" => format!(r#"{{"op":"{op}","from":"{from}","path":"{path}"}}"#),
                "remove" => format!(r#"{{"op":"remove","path":"{path}"}}"#),
                _ => format!(r#"{{"op":"{op}","path":"{path}","value":{value}}}"#),
            }
        };
        match rng.below(3) {
            0 => {
                let operations: Vec<String> =
                    (0..=rng.below(3)).map(|_| operation(&mut rng)).collect();
                rest += &format!(r#","patch":[{}]"#, operations.join(","));
            }
            1 => rest += r#","edits":[{"old":"id","new":"x"}]"#,
            _ => {}
        }
        let tool = pick(&mut rng, &["write", "short", "nested"]);
        let name = pick(&mut rng, &["text", "pages", "a"]);
        let sent = client.call(&tool, &format!("{{\"{name}\":{}}}", reference(&handle, &rest)));
        match &sent {
            Sent::ToServer(bytes) => {
                let text = String::from_utf8(bytes.clone()).unwrap();
                assert!(handle == shown && !text.contains("CANARY"), "{rest}: {text}");
                assert!(!text.contains("$tamis"), "{text}");
                sent_values += 1;
            }
            Sent::Back(_) => assert!(!sent.refusal().contains("CANARY"), "{sent:?}"),
        }
    }
    assert!(sent_values > 50, "{sent_values}");
}

#[test]
fn values_have_a_most_length() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let most = 4 << 20;
    let list = |bytes: usize| format!("[\"{}\",2]", "x".repeat(bytes));
    let large = client.stored("read", &list(most));
    let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&large, "")));
    assert!(sent.refusal().contains("4"), "{sent:?}");
    let sent =
        client.call("write", &format!("{{\"a\":{}}}", reference(&large, r#","pointer":"/1""#)));
    assert_eq!(sent.arguments(), json!({"a": 2}));
    // Many values of one call.
    let part = client.stored("read", &list(most / 8));
    let values = |number: usize| {
        let values: Vec<String> = (0..number).map(|_| reference(&part, "")).collect();
        format!("{{\"a\":[{}]}}", values.join(","))
    };
    assert!(matches!(client.call("write", &values(7)), Sent::ToServer(_)));
    assert!(client.call("write", &values(9)).refusal().contains("the values have more than 4 MiB"));
    assert!(client.call("write", &values(17)).refusal().contains("more than 16"));
    // Longer than the schema of the tool allows.
    let sent =
        client.call("short", &format!("{{\"text\":{}}}", reference(&part, r#","pointer":"/0""#)));
    assert!(sent.refusal().contains("`maxLength` at /text"), "{sent:?}");
    // Copies of copies, in time that does not depend on how large they would be.
    let begin = std::time::Instant::now();
    for copy in
        [r#"{"op":"copy","from":"","path":"/0"}"#, r#"{"op":"copy","from":"/0","path":"/-"}"#]
    {
        let patch = format!(r#","patch":[{}]"#, vec![copy; 1000].join(","));
        let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&part, &patch)));
        assert!(sent.refusal().contains("/a"), "{sent:?}");
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

/// A server that returns what it is sent, and a model that doubles it: each value is stored, and the growth ends.
#[test]
fn repeated_patches_end() {
    let proxy = proxy("wiki", MANIFEST, &memory());
    let mut client = Client::new(&proxy, Exchange::stdio());
    let mut handle = client.stored("read", &format!("[[\"{}\"],2]", "x".repeat(1000)));
    let patch = r#","patch":[{"op":"copy","from":"/0","path":"/0/-"},{"op":"copy","from":"/0","path":"/0/-"}]"#;
    let mut longest = 0;
    for round in 0.. {
        assert!(round < 40, "the value grows without end");
        let sent = client.call("write", &format!("{{\"a\":{}}}", reference(&handle, patch)));
        let Sent::ToServer(bytes) = sent else {
            sent.refusal();
            break;
        };
        longest = bytes.len();
        let value =
            serde_json::from_slice::<Value>(&bytes).unwrap()["params"]["arguments"]["a"].take();
        client.result(&json!({"content": []}));
        handle = client.stored("read", &value.to_string());
    }
    assert!(longest > 1 << 20 && longest < (4 << 20) + 1000, "{longest}");
}
