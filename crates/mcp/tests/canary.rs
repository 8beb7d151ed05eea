//! Values that a filter removes for safety reach neither the client nor the store nor the log, in any form of a result.
//!
//! Each manifest removes the member `ssn` of a result, by another rule. Each shape hides `CANARY` there, or in a place
//! that no rule covers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use std::path::Path;

use tamis::spec::Redact;
use tamis_manifest::Manifest;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{Action, Exchange, MessageLimits, Proxy, ProxyOptions, Route, Session};
use tamis_store::{Scope, Store, StoreConfig};

const FILTERS: [(&str, &str); 7] = [
    ("exclude", "{exclude: [ssn], root: object}"),
    ("exclude and select", "{exclude: [ssn], select: [id, ssn], root: object, max_items: 1}"),
    ("retain", "{retain: [/id]}"),
    ("patches", "{patches: [{op: remove, path: /ssn}], lenient_remove: true}"),
    ("when", "{when: [{test: {path: /id, value: 1}, retain: [/id]}], otherwise: drop}"),
    ("closed", "{select: [id], root: object, on_error: closed}"),
    (
        "closed, with a text filter",
        "{select: [id], root: object, on_error: closed, text_filter: {max_lines: 9}}",
    ),
];

/// Results of the tool. `$OBJECT` is the object with the canary, `$TEXT` the same as the content of a string.
const RESULTS: &[&str] = &[
    r#"{"structuredContent":$OBJECT}"#,
    r#"{"structuredContent":$OBJECT,"content":[]}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"}]}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"}],"structuredContent":$OBJECT}"#,
    r#"{"content":[{"type":"text","text":" \n$TEXT\t"}]}"#,
    r#"{"content":[{"text":"$TEXT","type":"text"}],"isError":false}"#,
    r#"{"c\u006fntent":[{"t\u0065xt":"$TEXT","typ\u0065":"text"}],"structured\u0043ontent":$OBJECT}"#,
    // Failed calls.
    r#"{"content":[{"type":"text","text":"$TEXT"}],"isError":true}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"isError":true}"#,
    r#"{"isError":true,"content":[{"type":"text","text":"CANARY"}],"structuredContent":$OBJECT}"#,
    r#"{"isError":true,"structuredContent":$OBJECT}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":"CANARY"}}],"isError":true}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"isError":"true"}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"isError":true,"isError":false}"#,
    // Text that is not one JSON value.
    r#"{"content":[{"type":"text","text":"CANARY"}]}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"structuredContent":{"id":1}}"#,
    r#"{"content":[{"type":"text","text":"$TEXT CANARY"}]}"#,
    r#"{"content":[{"type":"text","text":"$TEXT\n$TEXT"}]}"#,
    r#"{"content":[{"type":"text","text":"{\"id\":1,\"x\":\"CANARY"}]}"#,
    r#"{"content":[{"type":"text","text":"\"CANARY\""}]}"#,
    r#"{"content":[{"type":"text","text":"\ud800$TEXT"}]}"#,
    r#"{"content":[{"type":"text","text":"{\"id\":1,\"x\":\"\ud800\",\"ssn\":\"CANARY\"}"}]}"#,
    r#"{"content":[{"type":"text","text":"\ufeff\ufeff$TEXT"}]}"#,
    r#"{"content":[{"type":"text","text":"'$TEXT'"}],"structuredContent":{"id":1}}"#,
    // Several blocks.
    r#"{"content":[{"type":"text","text":"$TEXT"},{"type":"text","text":"$TEXT"}]}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"},{"type":"text","text":"CANARY"}]}"#,
    r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"$TEXT"}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":"$TEXT"}}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","text":"CANARY"}}]}"#,
    r#"{"content":[{"type":"image","text":"$TEXT","data":""}]}"#,
    // Text in Base64, where media types say that it is text. CANARY stands for the Base64.
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"application/json","blob":"CANARY"}}]}"#,
    r#"{"content":[{"type":"resource","resource":{"blob":"CANARY","uri":"x:1","mimeType":"TEXT/Plain; charset=utf-8"}}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"application/vnd.x+json","blob":"CANARY"}}],"isError":true}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"a\u0070plication/json","blob":"CANARY"}}],"structuredContent":{"id":1}}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"image/png","mimeType":"text/csv","blob":"CANARY"}}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/csv","text":"{}","blob":"CANARY"}}]}"#,
    r#"{"content":[{"type":"image","mimeType":"application/json","data":"CANARY"}]}"#,
    r#"{"content":[{"type":"audio","mimeType":7,"data":"CANARY"}]}"#,
    // Forms that the protocol does not define.
    r#"{"content":"CANARY"}"#,
    r#"{"content":{"text":"CANARY"}}"#,
    r#"{"content":["CANARY"]}"#,
    r#"{"content":[["CANARY"]]}"#,
    r#"{"content":[{"type":"text","text":{"x":"CANARY"}}]}"#,
    r#"{"content":[{"type":"text","text":["CANARY"]}]}"#,
    r#"{"content":[{"type":"json","json":$OBJECT}]}"#,
    r#"{"content":[{"json":$OBJECT}]}"#,
    r#"{"content":[{"type":"resource","resource":"CANARY"}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":{"a":"CANARY"}}}]}"#,
    r#"{"structuredContent":"CANARY"}"#,
    r#"{"structuredContent":"$TEXT"}"#,
    r#""CANARY""#,
    r#"["CANARY"]"#,
    // Duplicates.
    r#"{"content":[],"content":[{"type":"text","text":"CANARY"}]}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"content":[]}"#,
    r#"{"structuredContent":{"id":1},"structured\u0043ontent":$OBJECT}"#,
    r#"{"content":[{"type":"text","text":"{}","t\u0065xt":"CANARY"}]}"#,
    r#"{"content":[{"type":"image","type":"text","text":"CANARY"}]}"#,
    r#"{"content":[{"type":"resource","resource":{"uri":"x:1"},"resource":{"uri":"x:1","text":"CANARY"}}]}"#,
    r#"{"resultType":"complete","resultType":"input_required","content":[{"type":"text","text":"CANARY"}]}"#,
    // Other kinds of results.
    r#"{"resultType":"input_required","content":[{"type":"text","text":"CANARY"}]}"#,
    r#"{"resultType":"task","taskId":"T","structuredContent":$OBJECT}"#,
    r#"{"resultType":"CANARY","content":[]}"#,
    r#"{"resultType":7,"content":[{"type":"text","text":"CANARY"}]}"#,
    r#"{"task":{"taskId":"T"},"content":[{"type":"text","text":"$TEXT"}]}"#,
    r#"{"content":[],"result":{"content":[{"type":"text","text":"$TEXT"}]}}"#,
    r#"{"contents":[{"uri":"x:1","text":"CANARY"}]}"#,
    r#"{"resultType":"task","taskId":"T","statusMessage":"CANARY","result":{"content":["CANARY"]}}"#,
    r#"{"task":{"taskId":"T","statusMessage":"CANARY","error":"CANARY"},"x":"CANARY"}"#,
    // Structured results that wrap the texts.
    r#"{"content":[{"type":"text","text":"$TEXT"}],"structuredContent":{"result":"$TEXT"}}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"}],"structuredContent":{"other":" $TEXT"}}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"},{"type":"text","text":"$TEXT"}],"structuredContent":{"result":["$TEXT","$TEXT"]}}"#,
    r#"{"content":[{"type":"text","text":"$TEXT"},{"type":"text","text":"$TEXT"}],"structuredContent":{"result":[$OBJECT,$OBJECT]}}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"structuredContent":{"result":"CANARY"}}"#,
    r#"{"content":[{"type":"text","text":"CANARY"}],"structuredContent":{"result":["CANARY"]}}"#,
    // Members that no rule covers.
    r#"{"content":[{"type":"text","text":"$TEXT","_meta":{"x":"CANARY"},"data":"CANARY"}],"_meta":$OBJECT,"data":$OBJECT}"#,
    r#"{"content":[{"type":"resource_link","uri":"x:9","name":"n","description":"CANARY","title":"CANARY"}]}"#,
    r#"{"content":[{"type":"text","text":"{\"id\":1}","annotations":{"audience":["user"],"x":"CANARY"}}],"Content":"CANARY"}"#,
];

/// Spellings of the object with the canary.
const OBJECTS: &[&str] = &[
    r#"{"id":1,"ssn":"CANARY"}"#,
    r#"{ "ssn" : "CANARY" , "id" : 1 }"#,
    r#"{"id":1,"\u0073s\u006e":"CANARY"}"#,
    r#"{"ssn":1,"id":1,"ssn":{"a":["CANARY"]},"ssn":null}"#,
    r#"{"id":1,"ssn":["CANARY",{"ssn":"CANARY"}]}"#,
];

/// Messages around a result, `$RESULT`, in response to a request with the id 1.
const RESPONSES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"result":$RESULT}"#,
    r#"{"result":$RESULT,"jsonrpc":"2.0","id":1}"#,
    r#"{"result":$RESULT,"jsonrpc":"2.0","id":"1"}"#,
    r#"{"result":$RESULT,"jsonrpc":"2.0","id":10e-1}"#,
    r#"{"re\u0073ult":$RESULT,"jsonrpc":"2.0","\u0069d":1}"#,
    r#" [ {"jsonrpc":"2.0","id":1,"result":$RESULT} ] "#,
    // To nobody, or ambiguous.
    r#"{"jsonrpc":"2.0","id":2,"result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":null,"result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":[1],"result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":1,"id":1,"result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{},"result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":$RESULT,"result":{"content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":$RESULT,"error":{"code":1,"message":"CANARY"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","result":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":$RESULT}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"CANARY","data":$RESULT}}"#,
    // Not a message.
    "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":$RESULT}",
    r#"{"jsonrpc":"2.0","id":1,"result":$RESULT"#,
    r#"$RESULT"#,
];

struct Setup {
    folder: tempfile::TempDir,
    session: Session,
    proxy: std::sync::Arc<Proxy>,
}

impl Setup {
    fn new(filter: &str, spill: bool) -> Self {
        let text = format!("version: 1\nfilters:\n  a: {filter}\n");
        let manifest = Manifest::parse("tamis.yaml", &text).unwrap();
        Self::with_rules(Rules::new(Profile::Standard).unwrap().with_manifest(manifest), spill)
    }

    fn with_rules(rules: Rules, spill: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut limits = MessageLimits::default();
        if spill {
            limits.spool = SpoolLimits { held: 0, spill: 1 << 30 };
        }
        let store = Store::open(StoreConfig::folder(folder.path().join("store")));
        let options = ProxyOptions::new(rules).with_store(Some(store)).with_limits(limits);
        let proxy = Proxy::new(options);
        Self { folder, session: Session::new(&proxy), proxy }
    }

    fn spool(&self, text: &str) -> Spool {
        let mut spool = Spool::new(self.proxy.limits().spool);
        spool.push(text.as_bytes()).unwrap();
        spool
    }

    fn client(&mut self, text: &str, exchange: &mut Exchange) {
        let message = self.spool(text);
        if let Route::Run(job) = self.session.from_client(&message, exchange) {
            drop(job.run(&message));
        }
    }

    /// Returns what the client gets.
    fn server(&mut self, text: &str, exchange: &Exchange) -> String {
        let message = self.spool(text);
        let sent = match self.session.from_server(&message, exchange) {
            Route::Forward => text.as_bytes().to_vec(),
            Route::Answer(answer) | Route::Reject { body: answer, .. } => answer,
            Route::Drop(_) => Vec::new(),
            Route::Run(job) => {
                let outcome = job.run(&message);
                let log = format!("{:?}", outcome.records);
                assert!(!log.contains("CANARY"), "{log}");
                match outcome.action {
                    Action::Original => text.as_bytes().to_vec(),
                    Action::Send(spool) | Action::Answer(spool) => spool.into_vec().unwrap(),
                    Action::Drop(_) => Vec::new(),
                }
            }
        };
        String::from_utf8(sent).unwrap()
    }

    /// Returns whether the canary is in a file of the store.
    fn is_stored(&self) -> bool {
        fn search(folder: &Path) -> bool {
            let Ok(entries) = std::fs::read_dir(folder) else { return false };
            entries.flatten().any(|entry| {
                let path = entry.path();
                let contents = || std::fs::read(&path).unwrap_or_default();
                if path.is_dir() {
                    search(&path)
                } else {
                    contents().windows(6).any(|window| window == b"CANARY")
                }
            })
        }
        search(self.folder.path())
    }
}

fn exchanges() -> [Exchange; 3] {
    let http = Exchange::http().with_scope(Scope::authorization(Some(b"me")));
    [Exchange::stdio(), http.clone(), http.with_session_id(true).with_event_stream(true)]
}

fn request(id: u64, rest: &str, is_modern: bool) -> String {
    let meta = if is_modern {
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#
    } else {
        ""
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}{meta}}}}}")
}

const CALL: &str =
    r#""method":"tools/call","params":{"name":"a","arguments":{"_output_mode":"raw"}"#;

fn results() -> Vec<String> {
    let mut all = Vec::new();
    for result in RESULTS {
        let objects = if result.contains('$') { OBJECTS } else { &OBJECTS[..1] };
        for object in objects {
            let text = serde_json::to_string(object).unwrap();
            let result = result.replace("$OBJECT", object);
            all.push(result.replace("$TEXT", &text[1..text.len() - 1]));
        }
    }
    all
}

#[test]
fn the_canary_stays_away_in_every_result() {
    let results = results();
    assert!(RESULTS.len() >= 40);
    for (name, filter) in FILTERS {
        let mut passed = 0;
        for (number, exchange) in exchanges().into_iter().enumerate() {
            let mut setup = Setup::new(filter, number == 1);
            for result in &results {
                for is_modern in [false, true] {
                    let mut exchange = exchange.clone();
                    let mut session = Session::new(&setup.proxy);
                    std::mem::swap(&mut setup.session, &mut session);
                    setup.client(&request(1, CALL, is_modern), &mut exchange);
                    let response = RESPONSES[0].replace("$RESULT", result);
                    let sent = setup.server(&response, &exchange);
                    assert!(!sent.contains("CANARY"), "{name}: {response}\n{sent}");
                    passed +=
                        usize::from(sent.contains(r#"{"id":1}"#) || sent.contains(r#"{\"id\":1}"#));
                }
            }
            assert!(!setup.is_stored(), "{name}");
        }
        assert!(passed > 100, "{name}: the rest of the result passes ({passed})");
    }
}

/// The canary is the password of a URL, which `redact` finds at every place.
#[test]
fn redacted_canaries_stay_away_in_every_result() {
    for (name, filter) in [
        ("secrets", "{redact: secrets}"),
        ("secrets and a select", "{select: [id, ssn], root: object, redact: secrets}"),
        ("paths and secrets", "{redact: {paths: [ssn], secrets: true}, root: object}"),
    ] {
        are_redacted(name, |spill| Setup::new(filter, spill));
    }
}

/// A proxy that redacts all results does so with every profile, and with a filter that only saves.
#[test]
fn canaries_are_redacted_whatever_the_filter() {
    for profile in [Profile::Lossless, Profile::Standard, Profile::Tight, Profile::Off] {
        let name = format!("{profile:?}");
        are_redacted(&name, |spill| {
            Setup::with_rules(
                Rules::new(profile).unwrap().with_redact(&Redact::new().secrets(true)),
                spill,
            )
        });
    }
    let manifest = "version: 1\nfilters:\n  a: {select: [id, ssn], root: object}\n";
    are_redacted("a filter that only saves", |spill| {
        let manifest = Manifest::parse("tamis.yaml", manifest).unwrap();
        let rules =
            Rules::new(Profile::Standard).unwrap().with_redact(&Redact::new().secrets(true));
        Setup::with_rules(rules.with_manifest(manifest), spill)
    });
}

fn are_redacted(name: &str, setup: impl Fn(bool) -> Setup) {
    let mut passed = 0;
    for (number, exchange) in exchanges().into_iter().enumerate() {
        let mut setup = setup(number == 1);
        for result in results() {
            let result = result.replace("CANARY", "x://mira:CANARY@y");
            let mut exchange = exchange.clone();
            setup.session = Session::new(&setup.proxy);
            setup.client(&request(1, CALL, false), &mut exchange);
            let response = RESPONSES[0].replace("$RESULT", &result);
            let sent = setup.server(&response, &exchange);
            assert!(!sent.contains("CANARY"), "{name}: {response}\n{sent}");
            passed += usize::from(sent.contains("[redacted"));
        }
        assert!(!setup.is_stored(), "{name}");
    }
    assert!(passed > 50, "{name}: the rest of the result passes ({passed})");
}

#[test]
fn the_canary_stays_away_in_every_response() {
    let results = [RESULTS[0], RESULTS[2], RESULTS[8], RESULTS[14]].map(|result| {
        let text = serde_json::to_string(OBJECTS[0]).unwrap();
        result.replace("$OBJECT", OBJECTS[0]).replace("$TEXT", &text[1..text.len() - 1])
    });
    for (name, filter) in FILTERS {
        for exchange in exchanges() {
            let mut setup = Setup::new(filter, false);
            for (response, result) in
                RESPONSES.iter().flat_map(|response| results.iter().map(move |it| (response, it)))
            {
                let response = response.replace("$RESULT", result);
                for cancels in [false, true] {
                    let mut exchange = exchange.clone();
                    setup.session = Session::new(&setup.proxy);
                    setup.client(&request(1, CALL, false), &mut exchange);
                    if cancels {
                        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
                        setup.client(cancel, &mut exchange);
                    }
                    // The second time, nobody waits for the response.
                    for _ in 0..2 {
                        let sent = setup.server(&response, &exchange);
                        assert!(!sent.contains("CANARY"), "{name}: {response}\n{sent}");
                    }
                }
            }
            assert!(!setup.is_stored(), "{name}");
        }
    }
}

#[test]
fn the_canary_stays_away_in_tasks_and_resources() {
    let places = [
        ("tasks/result", r#""method":"tasks/result","params":{"taskId":"$TASK""#, "$RESULT"),
        (
            "tasks/get",
            r#""method":"tasks/get","params":{"taskId":"$TASK""#,
            r#"{"resultType":"complete","taskId":"$TASK","status":"completed","result":$RESULT}"#,
        ),
        (
            "failed task",
            r#""method":"tasks/get","params":{"taskId":"$TASK""#,
            r#"{"status":"failed","statusMessage":"CANARY","error":{"code":1,"message":"CANARY","data":$RESULT}}"#,
        ),
    ];
    for (name, filter) in FILTERS {
        for exchange in exchanges() {
            let mut setup = Setup::new(filter, false);
            for result in &results() {
                for task in ["T1", "unknown"] {
                    setup.session = Session::new(&setup.proxy);
                    let mut exchange = exchange.clone();
                    setup.client(&request(1, CALL, true), &mut exchange);
                    let start =
                        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"T1"}}"#;
                    assert_eq!(setup.server(start, &exchange), start);
                    for (id, (place, asked, answer)) in (2..).zip(places) {
                        let mut exchange = exchange.clone();
                        setup.client(
                            &request(2, &asked.replace("$TASK", task), true),
                            &mut exchange,
                        );
                        let answer = answer.replace("$RESULT", result).replace("$TASK", task);
                        let response =
                            format!("{{\"result\":{answer},\"jsonrpc\":\"2.0\",\"id\":{id}}}");
                        let sent = setup.server(&response, &exchange);
                        assert!(!sent.contains("CANARY"), "{name}, {place}: {response}\n{sent}");
                    }
                    let push = format!(
                        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{{\"taskId\":\"{task}\",\"result\":{result}}}}}"
                    );
                    let sent = setup.server(&push, &exchange);
                    assert!(!sent.contains("CANARY"), "{name}: {push}\n{sent}");
                }
            }
            assert!(!setup.is_stored(), "{name}");
        }
    }
}

#[test]
fn the_canary_stays_away_in_results_beyond_all_limits() {
    let deep = format!("{{\"a\":{}\"CANARY\"{}}}", "[".repeat(2_000), "]".repeat(2_000));
    let deeper = format!("{{\"a\":{}\"CANARY\"{}}}", "[".repeat(150_000), "]".repeat(150_000));
    let many = format!("{{\"content\":[{}\"CANARY\"]}}", "1,".repeat(300_000));
    for result in [
        format!("{{\"structuredContent\":{deep}}}"),
        format!("{{\"structuredContent\":{deeper}}}"),
        many,
    ] {
        for (name, filter) in FILTERS {
            // `retain` and others may remove the deep part, but then it is not in what is sent.
            for exchange in exchanges() {
                let mut setup = Setup::new(filter, false);
                let mut exchange = exchange.clone();
                setup.client(&request(1, CALL, false), &mut exchange);
                let response = format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":1}}");
                let sent = setup.server(&response, &exchange);
                if name != "exclude" && name != "patches" {
                    assert!(!sent.contains("CANARY"), "{name}");
                }
                assert!(sent.len() < 10_000 && !sent.is_empty(), "{name}: {}", sent.len());
            }
        }
    }
}

#[test]
fn a_late_response_after_many_others_is_dropped() {
    let mut setup = Setup::new(FILTERS[0].1, false);
    let mut exchange = Exchange::stdio();
    for id in 0..4_097 {
        setup.client(&request(id, CALL, false), &mut exchange);
        let cancel = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}"
        );
        setup.client(&cancel, &mut exchange);
    }
    for (id, is_known) in [(0, false), (1, true), (4_096, true)] {
        let response = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"structuredContent\":{{\"id\":1,\"ssn\":\"CANARY\"}}}}}}"
        );
        let sent = setup.server(&response, &exchange);
        assert_eq!(sent.contains(r#"{"id":1}"#), is_known);
        assert!(!sent.contains("CANARY"));
    }
}
