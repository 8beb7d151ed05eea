//! A secret in the upstream's response never reaches the client, whatever goes wrong.

use std::io::Write;

use hyper::Method;
use tamis::Spec;
use tamis::spec::OnError;
use tokio::net::TcpListener;

use crate::proxy::{config, start};
use crate::servers::{Http, Peer, SECRET, Tap, ask_in_vain, both, get, request};

const JSON: &str = "content-type: application/json\r\n";

/// The names of responses that appear to be valid, so that they are filtered.
const GOOD: [&str; 4] = ["filtered", "encoded", "no type", "JSON of another type"];

/// Raw responses, after which the upstream closes the connection.
fn answers() -> Vec<(&'static str, Vec<u8>)> {
    let whole = format!(r#"{{"id": 1, "token": "{SECRET}", "{SECRET}": "{SECRET}"}}"#);
    let length = whole.len();
    // A megabyte of it is kept.
    let long =
        |end: &str| format!(r#"{{"token": "{SECRET}", "id": "{}", {end}"#, "x".repeat(1 << 20));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(whole.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let answer = |fields: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\n{JSON}{fields}\r\n{body}").into_bytes()
    };
    let coded = |name: &str, body: &[u8]| {
        let mut bytes = answer(&format!("content-encoding: {name}\r\n"), "");
        bytes.extend_from_slice(body);
        bytes
    };
    let status = |status: &str, media_type: &str| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\n");
        format!("{head}content-length: {length}\r\n\r\n{whole}").into_bytes()
    };
    vec![
        ("filtered", answer(&format!("content-length: {length}\r\n"), &whole)),
        ("malformed", answer("", &format!(r#"{{"{SECRET}": "{SECRET}" "#))),
        ("malformed in a key", answer("", &format!(r#"{{"token": "{SECRET}", "{SECRET}\x": 1}}"#))),
        ("malformed in a secret", answer("", &format!(r#"{{"token": "{SECRET}\x"}}"#))),
        ("malformed late", answer("", &long(&format!(r#"{{"{SECRET}": nul"#)))),
        ("cut", answer("", &long(""))),
        ("shorter than announced", answer("content-length: 5000000\r\n", &long(""))),
        (
            "chunks that break off",
            answer("transfer-encoding: chunked\r\n", &format!("400\r\n{whole}")),
        ),
        (
            "chunks that are none",
            answer("transfer-encoding: chunked\r\n", &format!("{SECRET}\r\n{whole}")),
        ),
        ("two documents", answer("", &format!("{whole} {whole}"))),
        ("nothing that is selected", answer("", &format!(r#"{{"token": "{SECRET}"}}"#))),
        ("JSON of another type", status("200 OK", "text/html")),
        (
            "no type",
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{whole}").into_bytes(),
        ),
        ("a part", status("206 Partial Content", "application/json")),
        ("a page of an error", status("500 Internal Server Error", "text/html")),
        ("an error", status("500 Internal Server Error", "application/json")),
        ("a redirect", status("302 Found", "text/html")),
        ("not encoded", coded("gzip", whole.as_bytes())),
        ("encoded", coded("gzip", &gzip)),
        ("encoded and cut", coded("gzip", &gzip[..gzip.len() - 9])),
        ("encoded as nobody can tell", coded("deflate", whole.as_bytes())),
        ("twice encoded", coded("gzip, br", &gzip)),
        ("no head", whole.clone().into_bytes()),
        ("a head that breaks off", format!("HTTP/1.1 200 OK\r\nx: {SECRET}").into_bytes()),
        ("two lengths", answer("content-length: 1\r\ncontent-length: 2\r\n", &whole)),
    ]
}

#[test]
fn no_failure_shows_what_is_kept_back() {
    let answers = answers();
    let spec = Spec::new().root("object").select("id").on_error(OnError::Closed);
    both(async |threads| {
        let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = start(threads, config(&upstream, &spec).0).await;
        let tap = Tap::before(gateway.address).await;
        let given = answers.clone();
        tokio::spawn(async move {
            loop {
                let mut peer = Peer::accept(&upstream).await;
                let head = peer.head().await;
                let path = head.split(' ').nth(1).unwrap().rsplit('/').next().unwrap();
                let (_, bytes) = &given[path.parse::<usize>().unwrap()];
                let _ = tokio::io::AsyncWriteExt::write_all(&mut peer.stream, bytes).await;
            }
        });
        for http in Http::ALL {
            for (number, (case, _)) in answers.iter().enumerate() {
                let path = format!("/filtered/{number}");
                let seen =
                    ask_in_vain(&http.client(), request(Method::GET, tap.address, &path)).await;
                let good = seen.as_ref().is_some_and(|it| it.status == 200 && it.error.is_none());
                assert_eq!(good, GOOD.contains(case), "{case}: {seen:?}");
                let record = tap.record();
                let found = record.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes());
                assert!(!found, "{http:?} {case}: {}", String::from_utf8_lossy(&record));
            }
            // The tap records forwarded bytes.
            assert!(get(http, tap.address, "/open/0").await.text().contains(SECRET));
            assert!(tap.take().windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()));
        }
    });
}
