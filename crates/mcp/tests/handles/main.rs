//! Values by handle.
//!
//! - `attacks`: nothing reaches a server that the client could not have read, and nothing grows without end.
//! - `values`: a value is what the tool returned, and is sent only where the schema accepts it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

mod attacks;
mod values;

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

/// Arguments of `nested` with a value where a string is expected.
fn body(value: &str) -> String {
    format!(r#"{{"pages":[{{"body":{value}}}]}}"#)
}
