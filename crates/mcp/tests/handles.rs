//! Attacks on values by handle: nothing reaches a server that the client could not have read, and nothing grows without end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use std::sync::Arc;

use serde_json::{Value, json};
use tamis_manifest::Manifest;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::Spool;
use tamis_mcp::{
    Action, Exchange, Proxy, ProxyOptions, Route, SchemaCheck, SchemaCompiler, SchemaViolation,
    ServerRules, Session,
};
use tamis_store::{Scope, Store, StoreConfig, StoreLimits};
use tamis_testkit::prng::Prng;

const MANIFEST: &str = "\
version: 1
filters:
  read: {max_items: 1}
  drop: {max_items: 1, exclude: [secret]}
  keep: {max_items: 1, retain: [/0/id, /1/id]}
  mask: {max_items: 1, redact: secrets}
  edit: {max_items: 1, patches: [{op: replace, path: /0/secret, value: x}]}
  pick: {max_items: 1, select: [id], allow_raw: false}
  near: {max_items: 1, root: items, siblings: drop}
  part: {max_items: 1, extract: data}
  page: {max_items: 1, omit: [meta]}
  logs: {text_filter: {max_lines: 1}, redact: secrets}
handles: use
tools: {deny: [erase]}
";

struct Validator(jsonschema::Validator);

impl SchemaCheck for Validator {
    fn violations(&self, arguments: &Value, most: usize) -> Vec<SchemaViolation> {
        let violation = |error: jsonschema::ValidationError<'_>| SchemaViolation {
            place: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
        };
        self.0.iter_errors(arguments).take(most).map(violation).collect()
    }
}

fn compile(schema: &Value) -> Option<Box<dyn SchemaCheck>> {
    Some(Box::new(Validator(jsonschema::validator_for(schema).ok()?)))
}

/// A proxy of a server, with its own store or one that it shares with other proxies.
fn proxy(server: &str, manifest: &str, store: &Store) -> Arc<Proxy> {
    let manifest = Manifest::parse("tamis.yaml", manifest).unwrap();
    let servers = ServerRules::of_files([manifest.settings()]);
    let rules = Rules::new(Profile::Standard).unwrap().with_manifest(manifest);
    let options = ProxyOptions::new(rules)
        .with_store(Some(store.clone()))
        .with_servers(servers)
        .with_schema_compiler(SchemaCompiler::new(compile))
        .with_origin([server.as_bytes()]);
    Proxy::new(options)
}

fn memory() -> Store {
    Store::open(StoreConfig::memory().with_limits(StoreLimits::memory()))
}

struct Client {
    session: Session,
    exchange: Exchange,
    next: u64,
}

/// The fate of a call.
#[derive(Debug)]
enum Sent {
    /// The server gets these bytes.
    ToServer(Vec<u8>),
    /// The client gets this response.
    Back(Value),
}

impl Sent {
    fn arguments(&self) -> Value {
        let Self::ToServer(bytes) = self else { panic!("{self:?}") };
        serde_json::from_slice::<Value>(bytes).unwrap()["params"]["arguments"].take()
    }

    fn refusal(&self) -> &str {
        let Self::Back(response) = self else { panic!("the server got a message") };
        assert_eq!(response["result"]["isError"], true, "{response}");
        response["result"]["content"][0]["text"].as_str().unwrap()
    }
}

impl Client {
    /// Starts a session in which the tools are listed.
    fn new(proxy: &Arc<Proxy>, exchange: Exchange) -> Self {
        let mut client = Self { session: Session::new(proxy), exchange, next: 0 };
        let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
        client.send(list.as_bytes());
        let any = json!({"type": "object"});
        let short = json!({"type": "object", "properties": {"text": {"type": "string", "maxLength": 1000}}});
        let nested = json!({"type": "object", "properties": {"pages": {"type": "array", "items": {
            "type": "object", "properties": {"body": {"type": "string"}}, "required": ["body"]}}}});
        let tools = json!([
            {"name": "write", "inputSchema": any}, {"name": "short", "inputSchema": short},
            {"name": "nested", "inputSchema": nested}, {"name": "erase", "inputSchema": any},
        ]);
        client.result(&json!({"tools": tools}));
        client
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        let message = Spool::from_vec(message.to_vec());
        let all = |spool: &Spool| spool.to_vec(0..spool.len(), 1 << 27).unwrap();
        match self.session.from_client(&message, &mut self.exchange) {
            Route::Forward => Sent::ToServer(all(&message)),
            Route::Answer(answer) => Sent::Back(serde_json::from_slice(&answer).unwrap()),
            Route::Run(job) => match job.run(&message).action {
                Action::Original => Sent::ToServer(all(&message)),
                Action::Send(new) => Sent::ToServer(all(&new)),
                Action::Answer(answer) => {
                    Sent::Back(serde_json::from_slice(&all(&answer)).unwrap())
                }
                action => panic!("{action:?}"),
            },
            route => panic!("{route:?}"),
        }
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Sent {
        self.next += 1;
        let id = self.next;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        self.send(call.as_bytes())
    }

    /// Returns the result that the client gets for the last request.
    fn result(&mut self, result: &Value) -> Value {
        let response = json!({"jsonrpc": "2.0", "id": self.next, "result": result});
        let message = Spool::from_vec(serde_json::to_vec(&response).unwrap());
        let bytes = match self.session.from_server(&message, &self.exchange) {
            Route::Forward => message.into_vec().unwrap(),
            Route::Run(job) => match job.run(&message).action {
                Action::Original => message.into_vec().unwrap(),
                Action::Send(new) => new.into_vec().unwrap(),
                action => panic!("{action:?}"),
            },
            route => panic!("{route:?}"),
        };
        serde_json::from_slice::<Value>(&bytes).unwrap()["result"].take()
    }

    /// Calls a tool that returns a text, and returns the handle of the stored result.
    fn stored(&mut self, tool: &str, text: &str) -> String {
        self.stored_result(tool, &json!({"content": [{"type": "text", "text": text}]}))
    }

    /// Calls a tool that returns a result, and returns the handle of what is stored.
    fn stored_result(&mut self, tool: &str, result: &Value) -> String {
        assert!(matches!(self.call(tool, "{}"), Sent::ToServer(_)));
        let shown = self.result(result).to_string();
        let at = shown.rfind("handle=\\\"tm_").unwrap_or_else(|| panic!("no handle: {shown}"));
        shown[at + 9..at + 9 + 29].to_owned()
    }
}

fn reference(handle: &str, rest: &str) -> String {
    format!(r#"{{"$tamis":"{handle}"{rest}}}"#)
}

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

/// Arguments of `nested` with a value where a string is expected.
fn body(value: &str) -> String {
    format!(r#"{{"pages":[{{"body":{value}}}]}}"#)
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
