//! Two replicas of `tamis serve` with one object store: a handle of one is read through the other.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use tonic::transport::{Channel, Endpoint};

use super::server::{S3Server, free_port, settings};
use crate::envoy::Exchange;

const RULES: &str = "version: 1\nlisten: 127.0.0.1:0\ndefault: refuse\nstore: s3://results/tamis\nroutes:\n- when: {path: /mcp}\n  mcp: {profile: standard}\n- when: {path: /own}\n  mcp: {manifests: [own.yaml]}\n";
const OWN: &str = "version: 1\nfilters:\n  list: {select: [id], root: array, max_items: 2}\n";

/// A replica. Dropping it ends it.
struct Replica {
    child: Child,
    channel: Channel,
    _folder: tempfile::TempDir,
}

impl Replica {
    async fn start(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("gateway.yaml"), RULES).unwrap();
        std::fs::write(folder.path().join("own.yaml"), OWN).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tamis-gateway"))
            .args(["serve", "--config", "gateway.yaml"])
            .current_dir(folder.path())
            .envs(settings(port))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        // The rest is read, so that the process does not wait.
        std::thread::spawn(move || stderr.read_to_string(&mut String::new()));
        let endpoint = Endpoint::from_shared(format!("http://{address}"));
        let channel = endpoint.unwrap_or_else(|_| panic!("{line}")).connect().await.unwrap();
        Self { child, channel, _folder: folder }
    }

    /// Sends a call of a tool through the replica. `result` is the server's.
    async fn call(&self, path: &str, caller: &str, call: &str, result: &str) -> String {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json"),
            ("authorization", caller),
        ];
        let mut exchange = Exchange::begin(&self.channel, "POST", path, &headers, false).await;
        let id = r#"{"jsonrpc":"2.0","id":7,"#;
        let call = format!(r#"{id}"method":"tools/call","params":{call}}}"#);
        exchange.request_body(&call, true).await;
        if !result.is_empty() {
            exchange.request_headers().await;
            exchange.sent_body().await;
            let json = [(":status", "200"), ("content-type", "application/json")];
            exchange.response(&json, false).await;
            exchange.body(format!(r#"{id}"result":{result}}}"#), true).await;
        }
        exchange.received().await.unwrap().body
    }

    async fn retrieve(&self, caller: &str, handle: &str) -> String {
        let call = format!(
            r#"{{"name":"tamis_retrieve","arguments":{{"handle":"{handle}","items":"1990-1999"}}}}"#
        );
        self.call("/mcp", caller, &call, "").await
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A result of 2,000 items, far over the budget of the profile.
fn long_result() -> String {
    let items: Vec<_> = (0..2000)
        .map(|at| serde_json::json!({"id": at, "title": format!("item {at} of many")}))
        .collect();
    let text = serde_json::to_string(&items).unwrap();
    serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()
}

fn handle_in(body: &str) -> Option<&str> {
    let at = body.find("tm_")?;
    body.get(at..at + 29)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
async fn a_handle_of_one_replica_is_read_through_the_other() {
    let server = S3Server::start();
    let one = Replica::start(server.port).await;
    let other = Replica::start(server.port).await;
    let body = one.call("/mcp", "Bearer a", r#"{"name":"list"}"#, &long_result()).await;
    assert!(!body.contains("item 1999"), "{body}");
    let handle = handle_in(&body).unwrap_or_else(|| panic!("{body}"));
    for replica in [&other, &one] {
        let read = replica.retrieve("Bearer a", handle).await;
        assert!(read.contains("item 1999") && read.contains("item 1990"), "{read}");
        let foreign = replica.retrieve("Bearer b", handle).await;
        assert!(foreign.contains("unknown or expired"), "{foreign}");
    }
    // The replica that made it may be gone.
    drop(one);
    assert!(other.retrieve("Bearer a", handle).await.contains("item 1999"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_a_response_costs_a_notice() {
    let replica = Replica::start(free_port()).await;
    for _ in 0..3 {
        // A profile removes nothing that cannot be fetched.
        let body = replica.call("/mcp", "Bearer a", r#"{"name":"list"}"#, &long_result()).await;
        assert!(body.contains("item 0 of") && body.contains("item 1999 of"), "{body}");
        assert!(handle_in(&body).is_none(), "{body}");
        // A filter of the user's own applies, and says that the rest is lost.
        let body = replica.call("/own", "Bearer a", r#"{"name":"list"}"#, &long_result()).await;
        assert!(body.contains("the store cannot be reached"), "{body}");
        assert!(!body.contains("item 1999"), "{body}");
    }
    let read = replica.retrieve("Bearer a", "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa").await;
    assert!(read.contains("cannot be read"), "{read}");
}
