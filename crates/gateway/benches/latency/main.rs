//! The time that `tamis mcp` adds to a call of a tool, over standard input and output and over HTTP.
//!
//! ```sh
//! cargo bench -p tamis-gateway --bench latency                       # calls one after the other, then 32 at once
//! cargo bench -p tamis-gateway --bench latency -- memory             # memory of 1,000 sessions over HTTP (Linux)
//! cargo bench -p tamis-gateway --bench latency -- session            # the protocol alone, in this process
//! cargo bench -p tamis-gateway --bench latency -- --python PYTHON    # also a middleware of fastmcp that does the same
//! cargo bench -p tamis-gateway --bench latency -- --test             # everything once, to check the results
//! ```
//!
//! There are three processes: the client (this one), the real binary, and the upstream server (this program again, see
//! [`upstream`]). All variants run in turn, round by round. A ratio is the median of the ratios of the rounds, so a machine
//! whose speed drifts does not matter.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]
#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod client;
#[cfg(target_os = "linux")]
mod memory;
mod session;
mod upstream;
mod variant;

use std::path::PathBuf;
use std::time::Instant;

use client::Client;
use upstream::Tool;
use variant::{Place, Transport, Variant};

/// The most that a call through a select filter may take, as a multiple of one through the pass-through build.
const FLOOR: f64 = 1.3;

/// Calls that are open at once when the throughput is measured.
const AT_ONCE: usize = 32;

pub(crate) struct Options {
    words: Vec<String>,
    rounds: usize,
    /// The number of calls in a round, one after the other and at once.
    calls: (usize, usize),
    /// A Python with fastmcp.
    python: Option<PathBuf>,
    test: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options =
            Self { words: Vec::new(), rounds: 15, calls: (200, 640), python: None, test: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--test" => {
                    (options.test, options.rounds, options.calls) = (true, 1, (3, 2 * AT_ONCE));
                }
                // Cargo passes this to every bench.
                "--bench" => {}
                "--rounds" => {
                    let rounds = arguments.next().and_then(|text| text.parse().ok());
                    options.rounds = rounds.filter(|rounds| *rounds > 0).expect("--rounds N");
                }
                "--python" => options.python = Some(arguments.next().expect("a program").into()),
                word if !word.starts_with('-') => options.words.push(word.to_owned()),
                other => panic!(
                    "unknown option {other}: expected --rounds, --python, --test, or words of titles"
                ),
            }
        }
        options
    }

    /// Returns whether a part of the bench is wanted. Parts that take long run only on request.
    fn wants(&self, title: &str, on_request: bool) -> bool {
        match self.words.as_slice() {
            [] => self.test || !on_request,
            words => words.iter().any(|word| title.contains(word.as_str())),
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|argument| argument == "--serve").is_some() {
        return upstream::serve(&arguments.next().unwrap_or_default());
    }
    let options = Options::parse(arguments);
    let place = Place::new();
    let mut parts = 0;
    for transport in [Transport::Stdio, Transport::Http] {
        for tool in [Tool::Long, Tool::Short] {
            let title = format!("latency {} {}", transport.name(), tool.name());
            if options.wants(&title, false) {
                parts += 1;
                latency(&title, transport, tool, &place, &options);
            }
        }
        let title = format!("throughput {}", transport.name());
        if options.wants(&title, false) {
            parts += 1;
            throughput(&title, transport, &place, &options);
        }
    }
    if options.wants("session", true) {
        parts += 1;
        session::measure(&options);
    }
    #[cfg(target_os = "linux")]
    if options.wants("memory", true) {
        parts += 1;
        memory::measure(&place, options.test);
    }
    assert!(parts > 0, "no part of the bench has one of these words in its title");
}

/// Starts all variants and checks that each returns what it should.
fn connect(transport: Transport, tool: Tool, place: &Place, options: &Options) -> Vec<Client> {
    let variants = Variant::all(options.python.as_deref());
    let mut clients: Vec<Client> = Vec::new();
    for variant in variants {
        let mut client = Client::start(variant, transport, place);
        let response = client.call(tool).to_vec();
        client.variant.check(tool, &response);
        clients.push(client);
    }
    clients
}

/// Measures calls that are made one after the other.
fn latency(title: &str, transport: Transport, tool: Tool, place: &Place, options: &Options) {
    let mut clients = connect(transport, tool, place, options);
    let mut seconds = vec![Vec::new(); clients.len()];
    let mut medians = vec![Vec::new(); clients.len()];
    let mut ran = vec![Vec::new(); clients.len()];
    let mut bytes = vec![0; clients.len()];
    // The first round warms up.
    for round in 0..=options.rounds {
        for (row, client) in clients.iter_mut().enumerate() {
            let before = client.ran();
            let mut times = Vec::with_capacity(options.calls.0);
            for _ in 0..client.variant.share_of(options.calls.0) {
                let started = Instant::now();
                bytes[row] = client.call(tool).len();
                times.push(started.elapsed().as_secs_f64());
            }
            if round > 0 {
                let each = |after: f64, before: f64| (after - before) / times.len() as f64;
                ran[row]
                    .extend(client.ran().zip(before).map(|(after, before)| each(after, before)));
                medians[row].push(share(&times, 0.5));
                seconds[row].extend(times);
            }
        }
    }
    if options.test {
        return;
    }
    println!("\n{title}, {} rounds of {} calls\n", options.rounds, options.calls.0);
    println!(
        "| | bytes | p50 | p99 | added | × pass-through | CPU of the proxy | floor |\n|---|---|---|---|---|---|---|---|"
    );
    let base = clients.iter().position(|client| client.variant == Variant::PassThrough).unwrap();
    for (row, client) in clients.iter().enumerate() {
        let added = ratio(&medians[row], &medians[0], |own, direct| own - direct);
        let times = ratio(&medians[row], &medians[base], |own, other| own / other);
        let floor = match (client.variant == Variant::Select, tool) {
            (true, Tool::Long) if times <= FLOOR => format!("≤ {FLOOR}"),
            (true, Tool::Long) => format!("≤ {FLOOR}: **missed**"),
            _ => String::new(),
        };
        println!(
            "| {} | {} | {} | {} | {} | {times:.2} | {} | {floor} |",
            client.variant.name(),
            bytes[row],
            duration(share(&seconds[row], 0.5)),
            duration(share(&seconds[row], 0.99)),
            duration(added),
            if ran[row].is_empty() { "–".to_owned() } else { duration(share(&ran[row], 0.5)) },
        );
    }
}

/// Measures how many calls are done in a second with [`AT_ONCE`] of them open.
fn throughput(title: &str, transport: Transport, place: &Place, options: &Options) {
    let mut clients = connect(transport, Tool::Long, place, options);
    for client in &mut clients {
        client.widen(AT_ONCE);
    }
    let mut rates = vec![Vec::new(); clients.len()];
    for round in 0..=options.rounds {
        for (row, client) in clients.iter_mut().enumerate() {
            let calls = client.variant.share_of(options.calls.1);
            let started = Instant::now();
            client.at_once(Tool::Long, calls, AT_ONCE);
            let seconds = started.elapsed().as_secs_f64();
            if round > 0 {
                rates[row].push(calls as f64 / seconds);
            }
        }
    }
    if options.test {
        return;
    }
    println!(
        "\n{title}, {} rounds of {} calls, {AT_ONCE} at once\n",
        options.rounds, options.calls.1
    );
    println!("| | calls/s | × pass-through |\n|---|---|---|");
    let base = clients.iter().position(|client| client.variant == Variant::PassThrough).unwrap();
    for (row, client) in clients.iter().enumerate() {
        let times = ratio(&rates[row], &rates[base], |own, other| own / other);
        println!("| {} | {:.0} | {times:.2} |", client.variant.name(), share(&rates[row], 0.5));
    }
}

/// Returns the median of `of` over all rounds.
fn ratio(own: &[f64], other: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    let all: Vec<f64> = own.iter().zip(other).map(|(own, other)| of(*own, *other)).collect();
    share(&all, 0.5)
}

/// Returns the quantile of the values at this share.
pub(crate) fn share(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() as f64 * share) as usize).min(values.len() - 1)]
}

pub(crate) fn duration(seconds: f64) -> String {
    match seconds.abs() {
        less if less < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}
