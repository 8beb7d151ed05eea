//! Only the protocol, in this process: a request and its response through a [`Session`], without any transport.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tamis::{Filter, Program};
use tamis_manifest::Manifest;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{Action, Exchange, Proxy, ProxyOptions, Route, Session};
use tamis_store::{Store, StoreConfig, StoreLimits};
use tamis_testkit::data::specs::SELECT_REPOSITORIES;

use crate::client::request;
use crate::upstream::Tool;
use crate::{Options, duration, share, variant};

pub(crate) fn measure(options: &Options) {
    let text = Tool::Long.text();
    let program = Program::compile(&SELECT_REPOSITORIES.spec()).unwrap();
    let mut output = Vec::new();
    let mut engine = || {
        output.clear();
        let mut filter = Filter::new(&program, &mut output);
        filter.write(text.as_bytes()).unwrap();
        filter.end().unwrap();
        output.len()
    };
    let mut select = Driver::new(Profile::Off, true, Tool::Long);
    let mut standard = Driver::new(Profile::Standard, false, Tool::Long);
    let mut off = Driver::new(Profile::Off, false, Tool::Long);
    let mut short = Driver::new(Profile::Off, false, Tool::Short);
    let mut rows: [Row<'_>; 5] = [
        ("the engine alone, select", &mut engine, Vec::new()),
        ("session, select", &mut || select.call(), Vec::new()),
        ("session, profile standard", &mut || standard.call(), Vec::new()),
        ("session, profile off", &mut || off.call(), Vec::new()),
        ("session, profile off, short result", &mut || short.call(), Vec::new()),
    ];
    for round in 0..=options.rounds {
        for (_, run, times) in &mut rows {
            let calls = options.calls.0;
            let mut own = Vec::with_capacity(calls);
            for _ in 0..calls {
                let started = Instant::now();
                black_box(run());
                own.push(started.elapsed().as_secs_f64());
            }
            if round > 0 {
                times.push(share(&own, 0.5));
            }
        }
    }
    if options.test {
        return;
    }
    println!("\nsession: a text of {} bytes\n\n| | p50 |\n|---|---|", text.len());
    for (name, _, times) in rows {
        println!("| {name} | {} |", duration(share(&times, 0.5)));
    }
}

/// A measured function: its name, the function, and the median of each round.
type Row<'a> = (&'a str, &'a mut dyn FnMut() -> usize, Vec<f64>);

/// A session, and the messages of a call.
struct Driver {
    session: Session,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Driver {
    fn new(profile: Profile, selects: bool, tool: Tool) -> Self {
        let mut rules = Rules::new(profile).unwrap();
        if selects {
            let manifest = Manifest::parse("select.yaml", &variant::manifest().to_string());
            rules = rules.with_manifest(manifest.unwrap());
        }
        let limits = StoreLimits::memory().with_total(16 << 30);
        let store = Store::open(StoreConfig::memory().with_limits(limits));
        let proxy: Arc<Proxy> = Proxy::new(ProxyOptions::new(rules).with_store(Some(store)));
        let response = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}", tool.result());
        let request = request(1, tool).into_bytes();
        Self { session: Session::new(&proxy), request, response: response.into_bytes() }
    }

    /// Returns the length of the response that the client gets.
    fn call(&mut self) -> usize {
        let request = Spool::from_vec(self.request.clone());
        let route = self.session.from_client(&request, &mut Exchange::stdio());
        assert!(matches!(route, Route::Forward));
        let mut response = Spool::new(SpoolLimits::default());
        response.push(&self.response).unwrap();
        match self.session.from_server(&response, &Exchange::stdio()) {
            Route::Forward => response.len() as usize,
            Route::Run(job) => match job.run(&response).action {
                Action::Send(message) => message.len() as usize,
                Action::Original => response.len() as usize,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}
