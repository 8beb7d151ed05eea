//! An S3 server on loopback, and stores in it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tamis_store::{CloudPlace, StoreConfig};

/// The program, which `tests/cloud/run` installs.
const PROGRAM: &str = "TAMIS_S3_SERVER";

/// A caller that may read every object. The server does not check the signature.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A server with one bucket. Dropping it ends it.
pub(crate) struct S3Server {
    child: Child,
    pub(crate) port: u16,
}

/// Returns a port that nobody uses.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl S3Server {
    pub(crate) fn start() -> Self {
        let server = Self::start_at(free_port());
        assert!(server.http("PUT", "/results").starts_with("HTTP/1.1 200"));
        server
    }

    /// Starts a server at a port, without a bucket.
    pub(crate) fn start_at(port: u16) -> Self {
        let program = std::env::var_os(PROGRAM).expect("crates/gateway/tests/cloud/run sets it");
        let child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, port }
    }

    /// Returns a store in the server's bucket.
    pub(crate) fn store(&self) -> StoreConfig {
        store_at(self.port)
    }

    /// Sends a request and returns the response, with its headers.
    pub(crate) fn http(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: {AUTHORIZATION}\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub(crate) fn settings(port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
    ]
}

pub(crate) fn store_at(port: u16) -> StoreConfig {
    let settings = settings(port);
    let settings = settings.iter().map(|(name, value)| (*name, value.as_str()));
    StoreConfig::cloud(CloudPlace::new("s3://results/tamis", settings).unwrap())
}
