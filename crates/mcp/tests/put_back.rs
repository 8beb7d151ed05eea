//! Personal data in a session: one mark for each value, and the value only in calls of the tools that may get it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use serde_json::{Value, json};
use tamis::spec::Redact;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, Exchange, Proxy, ProxyOptions, Route, Session};
use tamis_store::{Store, StoreConfig};

struct Client {
    session: Session,
    exchange: Exchange,
    next: u64,
}

fn proxy(profile: Profile) -> std::sync::Arc<Proxy> {
    let rules = Rules::new(profile).unwrap().with_redact(&Redact::new().personal(true));
    let options = ProxyOptions::new(rules).with_store(Some(Store::open(StoreConfig::memory())));
    Proxy::new(options.with_put_back(["send_*".to_owned()]))
}

impl Client {
    fn new(proxy: &std::sync::Arc<Proxy>) -> Self {
        Self { session: Session::new(proxy), exchange: Exchange::stdio(), next: 0 }
    }

    /// Calls a tool. Returns the arguments that the server gets.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let call =
            json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        let message = Spool::from_vec(serde_json::to_vec(&call).unwrap());
        let bytes = match self.session.from_client(&message, &mut self.exchange) {
            Route::Forward => message.as_slice().unwrap().to_vec(),
            route => sent(route, &message),
        };
        serde_json::from_slice::<Value>(&bytes).unwrap()["params"]["arguments"].take()
    }

    /// Returns the result that the client gets for the last call.
    fn result(&mut self, result: &Value) -> Value {
        let response = json!({"jsonrpc": "2.0", "id": self.next, "result": result});
        let message = Spool::from_vec(serde_json::to_vec(&response).unwrap());
        let route = self.session.from_server(&message, &self.exchange);
        serde_json::from_slice::<Value>(&sent(route, &message)).unwrap()["result"].take()
    }

    /// Returns the text that the client gets for a text, and the notices after it.
    fn shown(&mut self, text: &str) -> (String, String) {
        self.call("read", &json!({}));
        let result = self.result(&json!({"content": [{"type": "text", "text": text}]}));
        let blocks = result["content"].as_array().unwrap();
        let mut texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let shown = texts.next().unwrap().to_owned();
        (shown, texts.collect())
    }
}

fn sent(route: Route, message: &Spool) -> Vec<u8> {
    let Route::Run(job) = route else { panic!("{route:?}") };
    match job.run(message).action {
        Action::Send(new) => new.to_vec(0..new.len(), 1 << 20).unwrap(),
        action => panic!("{action:?}"),
    }
}

#[test]
fn values_return_to_the_tools_that_may_get_them() {
    for profile in [Profile::Standard, Profile::Lossless, Profile::Off] {
        let proxy = proxy(profile);
        let mut client = Client::new(&proxy);
        let json = r#"{"from":"mira@example.org","to":["nils@example.org","mira@example.org"]}"#;
        assert_eq!(client.shown(json).0, r#"{"from":"[email:1]","to":["[email:2]","[email:1]"]}"#);
        assert_eq!(client.shown("ask nils@example.org").0, "ask [email:2]");
        let arguments =
            json!({"to": "[email:2]", "text": "Hi [email:1], [email:3] \"[phone:1]\"", "n": [1]});
        let values = json!({
            "to": "nils@example.org", "text": "Hi mira@example.org, [email:3] \"[phone:1]\"", "n": [1],
        });
        assert_eq!(client.call("send_mail", &arguments), values);
        // The server's echo has the marks again.
        let result = client
            .result(&json!({"content": [{"type": "text", "text": "sent to nils@example.org"}]}));
        assert_eq!(result["content"][0]["text"], "sent to [email:2]");
        // Other tools and other sessions get marks.
        assert_eq!(client.call("list", &arguments), arguments);
        let mut other = Client::new(&proxy);
        assert_eq!(other.call("send_mail", &arguments), arguments);
        assert_eq!(other.shown("nils@example.org").0, "[email:1]");
        assert_eq!(
            client.call("send_mail", &json!({"to": "[email:1]"})),
            json!({"to": "mira@example.org"})
        );
    }
}

/// The store and the parts that are read from it have the marks of the session.
#[test]
fn stored_results_have_marks() {
    let proxy = proxy(Profile::Tight);
    let mut client = Client::new(&proxy);
    let lines: String = (0..3000).map(|line| format!("{line} nils@example.org\n")).collect();
    let (shown, notices) = client.shown(&format!("mira@example.org\n{lines}"));
    assert!(shown.contains("[email:1]") && !shown.contains('@'), "{shown}");
    let (_, rest) = notices.split_once("handle=\"").unwrap();
    let (handle, _) = rest.split_once('"').unwrap();
    client.next += 1;
    let params =
        json!({"name": "tamis_retrieve", "arguments": {"handle": handle, "lines": "1500-1501"}});
    let call =
        json!({"jsonrpc": "2.0", "id": client.next, "method": "tools/call", "params": params});
    let message = Spool::from_vec(serde_json::to_vec(&call).unwrap());
    let Route::Run(job) = client.session.from_client(&message, &mut client.exchange) else {
        panic!()
    };
    let Action::Answer(answer) = job.run(&message).action else { panic!() };
    let answer = String::from_utf8(answer.to_vec(0..answer.len(), 1 << 20).unwrap()).unwrap();
    assert!(answer.contains("1498 [email:2]\\n") && !answer.contains('@'), "{answer}");
}
