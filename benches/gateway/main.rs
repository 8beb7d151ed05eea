//! A gateway over loopback: compares a proxy that filters responses with one that forwards them and one that parses them
//! with serde_json, alternating in one run.
//!
//! ```sh
//! cargo bench --bench gateway                      # latency and responses per second
//! cargo bench --bench gateway -- --awake           # with cores kept awake between responses
//! cargo bench --bench gateway -- memory            # memory for 1,000 slow connections
//! cargo bench --bench gateway -- --test            # everything once, on small documents, to check the results
//! ```
//!
//! There are three processes with one thread each: the client (this one), the proxy and the upstream.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]
#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod ask;
#[cfg(target_os = "linux")]
mod memory;
mod serve;

use ask::{Connection, Server};
use serde_json::Value;
use serve::Role;
use tamis_testkit::data;

/// Length and hash of the selected 124 KB, recorded also in the other benches.
const KNOWN: (usize, u64) = (8_407, 0xC9EC_164E_E35C_946E);

/// A response, and how often it is requested in one round: one after the other, and over [`CONNECTIONS`].
struct Case {
    name: &'static str,
    bytes: usize,
    in_turn: usize,
    at_once: usize,
    /// Floor: the p50 may be at most this multiple of pass-through's.
    latency: Option<f64>,
    /// Floor: the responses per second must be at least this multiple of serde_json's.
    rate: Option<f64>,
}

const CASES: [Case; 3] = [
    Case { name: "one item", bytes: 2, in_turn: 300, at_once: 2000, latency: None, rate: None },
    Case {
        name: "100 KB",
        bytes: data::SMALL,
        in_turn: 200,
        at_once: 800,
        latency: Some(1.3),
        rate: Some(3.0),
    },
    Case {
        name: "10 MB",
        bytes: data::MEDIUM,
        in_turn: 6,
        at_once: 24,
        latency: None,
        rate: Some(3.0),
    },
];

/// Direct requests first, then the proxy that the others are compared with.
const ROLES: [Role; 5] =
    [Role::Upstream, Role::PassThrough, Role::Select, Role::Structure, Role::Value];
const PASS_THROUGH: usize = 1;
const VALUE: usize = 4;

/// The number of concurrent connections.
const CONNECTIONS: usize = 8;

struct Options {
    words: Vec<String>,
    rounds: usize,
    /// Keep all cores awake. A sleeping core delays the wake-up of a process, which distorts latencies.
    awake: bool,
    test: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self { words: Vec::new(), rounds: 15, awake: false, test: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--awake" => options.awake = true,
                "--test" => (options.test, options.rounds) = (true, 1),
                // Cargo passes this to every bench.
                "--bench" => {}
                "--rounds" => {
                    let rounds = arguments.next().and_then(|text| text.parse().ok());
                    options.rounds = rounds.filter(|rounds| *rounds > 0).expect("--rounds N");
                }
                word if !word.starts_with('-') => options.words.push(word.to_owned()),
                other => panic!(
                    "unknown option {other}: expected --rounds, --awake, --test, memory or words of titles"
                ),
            }
        }
        options
    }

    fn wants(&self, title: &str) -> bool {
        self.words.iter().all(|word| title.contains(word.as_str()))
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|argument| argument == "--serve").is_some() {
        let role = arguments.next().and_then(|name| Role::named(&name)).expect("a role");
        let upstream = arguments.next().map(|upstream| upstream.parse().expect("an address"));
        return serve::serve(role, upstream);
    }
    if arguments.next_if(|argument| argument == "--spin").is_some() {
        return serve::spin();
    }
    let options = Options::parse(arguments);
    let _awake = options.awake.then(ask::awake);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut tables = 0;
        let upstream = Server::start(Role::Upstream, None);
        let proxies = ROLES[1..].iter().map(|role| Server::start(*role, Some(&upstream)));
        let proxies: Vec<Server> = proxies.collect();
        let servers: Vec<&Server> = std::iter::once(&upstream).chain(&proxies).collect();
        for case in CASES.iter().filter(|case| options.wants(case.name)) {
            tables += 1;
            let lengths = check(case, &servers).await;
            measure(case, &servers, &lengths, &options).await;
        }
        drop(proxies);
        // Only on request, because it takes long.
        #[cfg(target_os = "linux")]
        if options.test || options.words.iter().any(|word| word == "memory") {
            tables += 1;
            memory::measure(&upstream, options.test).await;
        }
        assert!(tables > 0, "no table has all of these words in its title");
    });
}

/// Requests each response once and checks it. Returns the lengths of the responses.
async fn check(case: &Case, servers: &[&Server]) -> Vec<usize> {
    let path = format!("/{}", case.bytes);
    let mut answers = Vec::new();
    for server in servers {
        answers.push(Connection::open(server.address).await.answer(&path).await);
    }
    let values = |answer: &[u8]| serde_json::from_slice::<Value>(answer).unwrap();
    let selected = ROLES.iter().position(|role| *role == Role::Select).unwrap();
    assert!(answers[0] == answers[PASS_THROUGH], "{}: unchanged", case.name);
    assert!(answers[selected] == answers[selected + 1], "{}: equal bytes", case.name);
    assert!(values(&answers[selected]) == values(&answers[VALUE]), "{}: equal values", case.name);
    assert!(answers[selected].len() < answers[0].len() / 8, "{}: most of it is dropped", case.name);
    if case.bytes == data::SMALL {
        let made = (answers[selected].len(), data::hash(&answers[selected]));
        assert!(made == KNOWN, "made ({}, 0x{:016X})", made.0, made.1);
    }
    answers.iter().map(|answer| answer.len()).collect()
}

async fn measure(case: &Case, servers: &[&Server], lengths: &[usize], options: &Options) {
    let path = format!("/{}", case.bytes);
    let counts = if options.test { (2, 16) } else { (case.in_turn, case.at_once) };
    let mut connections = Vec::new();
    for server in servers {
        let mut own = Vec::new();
        for _ in 0..CONNECTIONS {
            own.push(Connection::open(server.address).await);
        }
        connections.push(own);
    }
    // Seconds of each response; for each round, the two medians (in turn, concurrent) and the responses per second.
    let mut seconds = vec![Vec::new(); servers.len()];
    let mut medians = vec![Vec::new(); servers.len()];
    let mut crowded = vec![Vec::new(); servers.len()];
    let mut rates = vec![Vec::new(); servers.len()];
    let mut ran = vec![Vec::new(); servers.len()];
    // The first round warms up.
    for round in 0..=options.rounds {
        for (row, own) in connections.iter_mut().enumerate() {
            let times = ask::in_turn(&mut own[0], &path, lengths[row], counts.0).await;
            if round > 0 {
                medians[row].push(share(times.clone(), 0.5));
                seconds[row].extend(times);
            }
        }
        for (row, own) in connections.iter_mut().enumerate() {
            let before = servers[row].ran();
            let (rate, times) = ask::at_once(own, &path, lengths[row], counts.1).await;
            if round > 0 {
                rates[row].push(rate);
                crowded[row].push(share(times, 0.5));
                let after = servers[row].ran();
                let each = |after: f64, before: f64| (after - before) / counts.1 as f64;
                ran[row].extend(after.zip(before).map(|(after, before)| each(after, before)));
            }
        }
    }
    if options.test {
        return;
    }
    println!(
        "\n{} ({} bytes, {} rounds of {} responses in turn, {} over {CONNECTIONS} connections)\n",
        case.name, lengths[0], options.rounds, counts.0, counts.1
    );
    println!(
        "| | p50 | p99 | added | × pass-through | p50 of {CONNECTIONS} | × pass-through | responses/s | × serde_json | CPU each | floor |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for (row, server) in servers.iter().enumerate() {
        let (p50, p99) = (share(seconds[row].clone(), 0.5), share(seconds[row].clone(), 0.99));
        let added = ratio(&medians[row], &medians[0], |own, direct| own - direct);
        let quotient = |own, other| own / other;
        let times = ratio(&medians[row], &medians[PASS_THROUGH], quotient);
        let crowd = ratio(&crowded[row], &crowded[PASS_THROUGH], quotient);
        let rate = ratio(&rates[row], &rates[VALUE], quotient);
        let mut floors = Vec::new();
        if server.role == Role::Select {
            for (times, of) in [(times, "p50".to_owned()), (crowd, format!("p50 of {CONNECTIONS}"))]
            {
                let floor = |most| judged(times <= most, &format!("≤ {most} × {of}"));
                floors.extend(case.latency.map(floor));
            }
            floors.extend(
                case.rate.map(|least| judged(rate >= least, &format!("≥ {least} × responses/s"))),
            );
        }
        println!(
            "| {} | {} | {} | {} | {times:.2} | {} | {crowd:.2} | {:.0} | {rate:.2} | {} | {} |",
            server.role.name(),
            duration(p50),
            duration(p99),
            duration(added),
            duration(share(crowded[row].clone(), 0.5)),
            share(rates[row].clone(), 0.5),
            if ran[row].is_empty() {
                "–".to_owned()
            } else {
                duration(share(ran[row].clone(), 0.5))
            },
            floors.join(", ")
        );
    }
}

/// Returns the median of `of` over all rounds.
fn ratio(own: &[f64], other: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    share(own.iter().zip(other).map(|(own, other)| of(*own, *other)).collect(), 0.5)
}

/// Returns the quantile of the values at this share.
fn share(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() as f64 * share) as usize).min(values.len() - 1)]
}

fn judged(reached: bool, floor: &str) -> String {
    if reached { floor.to_owned() } else { format!("{floor}: **missed**") }
}

fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}
