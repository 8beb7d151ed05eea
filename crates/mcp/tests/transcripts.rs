//! Conversations between a client and a server, through a session of the proxy.
//!
//! Each file in `tests/transcripts` is one conversation. It begins with settings, and after an empty line has one event
//! a line:
//!
//! | line | meaning |
//! |---|---|
//! | `# …` | a comment |
//! | `client …` | the client sends this message |
//! | `server …` | the server sends this message |
//! | `-> …` | what the server gets; `-> same` for the same bytes |
//! | `<- …` | what the client gets; `<- same` for the same bytes |
//! | `reject STATUS …` | the HTTP request is refused |
//! | `drop REASON` | nothing is sent |
//! | `http key=value …` | a new HTTP exchange: `session`, `events`, `method`, `name`, `version`, `scope` |
//! | `ended STATUS` | the server has ended; lines `<-` follow |
//! | `exchange-ended WHY` | the HTTP response of the exchange ended without a message |
//! | `has TEXT`, `lacks TEXT` | about the message that was sent last |
//! | `logs TOOL OUTCOME` | the log has a line for that message |
//!
//! Messages are compared byte for byte. `UPDATE_TRANSCRIPTS=1 cargo test -p tamis-mcp --test transcripts` writes what
//! is sent into the files; review the difference.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tamis_manifest::Manifest;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{
    Action, ClientReads, DropReason, Exchange, MessageLimits, Proxy, ProxyOptions, Route,
    SchemaCheck, SchemaCompiler, SchemaViolation, ServerRules, Session,
};
use tamis_store::{Scope, Store, StoreConfig, StoreLimits};

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    let updates = std::env::var_os("UPDATE_TRANSCRIPTS").is_some();
    let mut failures = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for spill in [false, true] {
            let played = Transcript::read(&text).play(spill);
            if updates && !spill {
                std::fs::write(&path, &played).unwrap();
            } else if played != text && !updates {
                let difference = difference(&text, &played);
                _ = writeln!(failures, "{name} (spill: {spill}):\n{difference}");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Shows the first line that differs.
fn difference(expected: &str, played: &str) -> String {
    let lines = expected.lines().zip(played.lines()).enumerate();
    let mut lines = lines.filter(|(_, (expected, played))| expected != played);
    match lines.next() {
        Some((number, (expected, played))) => {
            format!("  line {}\n  expected: {expected}\n  played:   {played}", number + 1)
        }
        None => "  the number of lines differs".to_owned(),
    }
}

struct Transcript<'a> {
    settings: &'a str,
    events: &'a str,
}

/// The message that was sent because of the last event.
enum Sent {
    Server(String),
    Client(String),
    Reject(u16, String),
    Drop(DropReason),
    Nothing,
}

/// Checks arguments with the crate that the proxy has.
struct Validator(jsonschema::Validator);

impl SchemaCheck for Validator {
    fn violations(&self, arguments: &serde_json::Value, most: usize) -> Vec<SchemaViolation> {
        let violation = |error: jsonschema::ValidationError<'_>| SchemaViolation {
            place: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
        };
        self.0.iter_errors(arguments).take(most).map(violation).collect()
    }
}

fn compile(schema: &serde_json::Value) -> Option<Box<dyn SchemaCheck>> {
    Some(Box::new(Validator(jsonschema::validator_for(schema).ok()?)))
}

impl<'a> Transcript<'a> {
    fn read(text: &'a str) -> Self {
        let (settings, events) = text.split_once("\n\n").expect("an empty line after the settings");
        Self { settings, events }
    }

    fn proxy(&self, spill: bool) -> Arc<Proxy> {
        let mut rules = None;
        let mut profile = Profile::Off;
        let mut store = true;
        let mut reads = None;
        let mut service = None;
        let mut limits = MessageLimits::default();
        let mut manifest = None;
        let mut entry = 16 << 20;
        let mut lines = self.settings.lines();
        while let Some(line) = lines.next() {
            if line.starts_with('#') {
                continue;
            }
            let (key, value) = line.split_once(':').expect("a setting");
            let value = value.trim();
            match key {
                "profile" => profile = value.parse().unwrap(),
                "store" => store = value != "off",
                "client-reads" => reads = Some(value.parse::<ClientReads>().unwrap()),
                "service" => service = Some(value.to_owned()),
                "output" => limits.output = value.parse().unwrap(),
                "open" => limits.open_requests = value.parse().unwrap(),
                "remembered" => limits.remembered = value.parse().unwrap(),
                "entry" => entry = value.parse().unwrap(),
                "manifest" => {
                    let rest: Vec<&str> = lines.by_ref().collect();
                    manifest = Some(Manifest::parse("tamis.yaml", &rest.join("\n")).unwrap());
                }
                key => panic!("unknown setting {key}"),
            }
        }
        if spill {
            limits.spool = SpoolLimits { held: 16, spill: 1 << 30 };
        }
        let rules = rules.get_or_insert_with(|| Rules::new(profile).unwrap());
        let mut rules = std::mem::replace(rules, Rules::new(profile).unwrap());
        let servers = ServerRules::of_files(manifest.iter().map(Manifest::settings));
        if let Some(manifest) = manifest {
            rules = rules.with_manifest(manifest);
        }
        let handle = AtomicU8::new(0);
        let config = StoreConfig::memory()
            .with_limits(StoreLimits::memory().with_entry(entry))
            .with_handles(move || [handle.fetch_add(1, Ordering::Relaxed); 16]);
        let rules = servers.redacting(rules.with_service(service.as_deref()));
        let options = ProxyOptions::new(rules)
            .with_store(store.then(|| Store::open(config)))
            .with_client_reads(reads)
            .with_servers(servers)
            .with_schema_compiler(SchemaCompiler::new(compile))
            .with_limits(limits);
        Proxy::new(options)
    }

    /// Plays the conversation, and returns the file with what was really sent.
    fn play(&self, spill: bool) -> String {
        let proxy = self.proxy(spill);
        let mut session = Session::new(&proxy);
        let mut exchange = Exchange::stdio();
        let mut out = format!("{}\n\n", self.settings);
        let mut last = String::new();
        let mut logged = Vec::new();
        for line in self.events.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let spool = || {
                let mut spool = Spool::new(proxy.limits().spool);
                spool.push(rest.as_bytes()).unwrap();
                spool
            };
            let sent: Vec<Sent> = match word {
                "client" => {
                    let message = spool();
                    let route = session.from_client(&message, &mut exchange);
                    let sent = finish(route, &message, Sent::Server, &mut logged);
                    if matches!(sent, Sent::Client(_)) {
                        session.responded(&mut exchange);
                    }
                    vec![sent]
                }
                "server" => {
                    let message = spool();
                    let route = session.from_server(&message, &exchange);
                    vec![finish(route, &message, Sent::Client, &mut logged)]
                }
                "http" => {
                    exchange = http(rest);
                    Vec::new()
                }
                "ended" => {
                    let lines = session.upstream_ended(rest).into_iter();
                    lines.map(|line| Sent::Client(String::from_utf8(line).unwrap())).collect()
                }
                "exchange-ended" => {
                    let line = session.exchange_ended(&exchange, rest);
                    let line = line.map(|line| Sent::Client(String::from_utf8(line).unwrap()));
                    vec![line.unwrap_or(Sent::Nothing)]
                }
                "has" | "lacks" => {
                    assert_eq!(last.contains(rest), word == "has", "{line}\n{last}");
                    Vec::new()
                }
                "logs" => {
                    assert!(logged.iter().any(|line| line == rest), "{line}\n{logged:?}");
                    Vec::new()
                }
                "->" | "<-" | "reject" | "drop" => continue,
                "" | "#" => Vec::new(),
                word => panic!("unknown event {word}"),
            };
            _ = writeln!(out, "{line}");
            for sent in sent {
                let same =
                    |text: &str| if text == rest { "same".to_owned() } else { text.to_owned() };
                let (mark, text) = match &sent {
                    Sent::Server(text) => ("->".to_owned(), same(text)),
                    Sent::Client(text) => ("<-".to_owned(), same(text)),
                    Sent::Reject(status, text) => (format!("reject {status}"), text.clone()),
                    Sent::Drop(reason) => ("drop".to_owned(), reason.as_str().to_owned()),
                    Sent::Nothing => ("drop".to_owned(), "nothing_is_owed".to_owned()),
                };
                last = match sent {
                    Sent::Server(text) | Sent::Client(text) | Sent::Reject(_, text) => text,
                    Sent::Drop(_) | Sent::Nothing => String::new(),
                };
                _ = writeln!(out, "{mark} {text}");
            }
        }
        out
    }
}

/// Does the work for a message, and writes the tools and outcomes of the log.
fn finish(
    route: Route,
    message: &Spool,
    on: impl Fn(String) -> Sent,
    logged: &mut Vec<String>,
) -> Sent {
    logged.clear();
    let text = |spool: &Spool| {
        String::from_utf8(spool.to_vec(0..spool.len(), usize::MAX).unwrap()).unwrap()
    };
    match route {
        Route::Forward => on(text(message)),
        Route::Answer(answer) => Sent::Client(String::from_utf8(answer).unwrap()),
        Route::Reject { status, body } => Sent::Reject(status, String::from_utf8(body).unwrap()),
        Route::Drop(reason) => Sent::Drop(reason),
        Route::Run(job) => {
            let outcome = job.run(message);
            for record in &outcome.records {
                let line = format!("{record:?}");
                assert!(!line.contains("CANARY"), "{line}");
                logged.push(format!("{} {}", record.tool, record.outcome.as_str()));
            }
            match outcome.action {
                Action::Original => on(text(message)),
                Action::Send(spool) => {
                    let text = text(&spool);
                    let valid = tamis::Program::compile(&tamis::Spec::new()).unwrap();
                    tamis::filter_slice(&valid, text.as_bytes())
                        .unwrap_or_else(|error| panic!("{}: {text}", error.error));
                    on(text)
                }
                Action::Answer(spool) => Sent::Client(text(&spool)),
                Action::Drop(reason) => Sent::Drop(reason),
            }
        }
    }
}

fn http(settings: &str) -> Exchange {
    let mut exchange = Exchange::http();
    for setting in settings.split_whitespace() {
        let (key, value) = setting.split_once('=').expect("key=value");
        exchange = match key {
            "session" => {
                exchange.with_session_id(true).with_scope(Scope::session(value.as_bytes()))
            }
            "events" => exchange.with_event_stream(value == "yes"),
            "method" => exchange.with_method_header(Some(value)),
            "name" => exchange.with_name_header(Some(value)),
            "version" => exchange.with_version_header(Some(value)),
            "scope" => exchange.with_scope(Scope::authorization(Some(value.as_bytes()))),
            key => panic!("unknown setting {key}"),
        };
    }
    exchange
}
