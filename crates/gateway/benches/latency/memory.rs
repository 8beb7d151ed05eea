//! Measures how much memory the proxy needs for 1,000 sessions over HTTP that stay open.
//!
//! Uses Linux' `/proc`. Assumes that a session takes two open files in the proxy.

use crate::client::{HttpConnection, Process, request};
use crate::upstream::Tool;
use crate::variant::{Place, Variant};

pub(crate) fn measure(place: &Place, test: bool) {
    let sessions: usize = if test { 20 } else { 1000 };
    open_files(sessions as u64 * 2 + 200);
    if !test {
        println!("\nmemory, {sessions} open sessions\n");
        println!(
            "| | calls of each | MiB before | MiB after | KiB per session | MiB at most |\n|---|---|---|---|---|---|"
        );
    }
    for variant in [Variant::PassThrough, Variant::Off, Variant::Select, Variant::Standard] {
        for tool in [Tool::Short, Tool::Long] {
            let (_upstream, address) = Process::upstream(place);
            let (proxy, address) = Process::proxy(&variant, address, place);
            let before = proxy.memory("VmRSS");
            let mut open = Vec::new();
            for id in 0..sessions {
                let mut connection = HttpConnection::open(address);
                connection.post(&request(id as u64, tool));
                open.push(connection);
            }
            let (after, most) = (proxy.memory("VmRSS"), proxy.memory("VmHWM"));
            if !test {
                println!(
                    "| {} | {} | {} | {} | {:.1} | {} |",
                    variant.name(),
                    tool.name(),
                    before >> 10,
                    after >> 10,
                    after.saturating_sub(before) as f64 / sessions as f64,
                    most >> 10
                );
            }
        }
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
