//! Measures how much memory a proxy process needs per connection, with many slow connections.
//!
//! Uses Linux' `/proc`. Assumes that a response takes two open files in a proxy.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::ask::{Connection, Server};
use crate::judged;
use crate::serve::Role;

/// Size of a response, in bytes.
const BYTES: usize = 2_000_000;
/// Maximum memory of a connection, in KiB.
const FLOOR: f64 = 200.0;
/// The slow side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slow {
    Client,
    Upstream,
}

/// The number of concurrent responses, the sizes of the portions that a slow client reads and a slow upstream sends, and the
/// pause before each portion.
struct Load {
    connections: usize,
    portions: usize,
    pause: Duration,
}

pub(crate) async fn measure(upstream: &Server, test: bool) {
    let load = match test {
        true => Load { connections: 20, portions: 20, pause: Duration::from_millis(2) },
        false => Load { connections: 1000, portions: 200, pause: Duration::from_millis(100) },
    };
    // Two files per response in a proxy, one here.
    open_files(load.connections as u64 * 2 + 100);
    let document = Connection::open(upstream.address).await.answer(&format!("/{BYTES}")).await;
    if !test {
        println!("\nmemory ({} connections, {} bytes each)\n", load.connections, document.len());
        println!(
            "| | slow | bytes out | MiB before | MiB maximum | KiB per connection | floor |\n|---|---|---|---|---|---|---|"
        );
    }
    for slow in [Slow::Client, Slow::Upstream] {
        for role in [Role::PassThrough, Role::Select, Role::Exclude] {
            let expected = match role.program() {
                None => document.clone(),
                Some(program) => Bytes::from(tamis::filter_slice(&program, &document).unwrap().0),
            };
            let proxy = Server::start(role, Some(upstream));
            let before = proxy.memory("VmRSS");
            all(&proxy, &load, slow, &expected).await;
            let most = proxy.memory("VmHWM");
            let each = (most - before) as f64 / load.connections as f64;
            if test {
                continue;
            }
            let slow = if slow == Slow::Client { "client" } else { "upstream" };
            let floor = if role == Role::PassThrough {
                String::new()
            } else {
                judged(each <= FLOOR, &format!("≤ {FLOOR}"))
            };
            println!(
                "| {} | {slow} | {} | {:.1} | {:.1} | {each:.1} | {floor} |",
                role.name(),
                expected.len(),
                before as f64 / 1024.0,
                most as f64 / 1024.0,
            );
        }
    }
}

/// Requests all responses at once.
async fn all(proxy: &Server, load: &Load, slow: Slow, expected: &Bytes) {
    let begun = Arc::new(Barrier::new(load.connections));
    let mut clients = JoinSet::new();
    for _ in 0..load.connections {
        let (expected, begun) = (expected.clone(), Arc::clone(&begun));
        let (address, portions, pause) = (proxy.address, load.portions, load.pause);
        clients.spawn(async move {
            match slow {
                Slow::Client => {
                    let mut connection = Connection::narrow(address).await;
                    let path = format!("/{BYTES}");
                    connection.slowly(&path, &expected, portions, pause, &begun).await;
                }
                Slow::Upstream => {
                    let path = format!("/{BYTES}/{}/{}", BYTES / portions, pause.as_millis());
                    let mut connection = Connection::open(address).await;
                    connection.slowly(&path, &expected, 1, Duration::ZERO, &begun).await;
                }
            }
        });
    }
    // A failure ends the bench, because the other tasks would wait for it.
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
}

/// Raises the limit of open files, which the processes of the bench inherit.
fn open_files(wanted: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    limit.current = Some(wanted);
    let raised = setrlimit(Resource::Nofile, limit);
    assert!(raised.is_ok(), "{wanted} open files are needed: raise the hard limit (ulimit -Hn)");
}
