//! The reverse proxy of the examples: the messages that it forwards, and those that it generates.

use std::io::Write;
use std::sync::{Arc, Mutex};

use hyper::{Method, Request, Response, StatusCode};
use tamis::{Program, Spec, filter_slice};
use tamis_manifest::Manifest;
use tokio::net::{TcpListener, TcpStream};

use crate::reverse_proxy::{Asked, Config, arguments, serve};
use crate::servers::{
    Body, Http, Peer, Place, SECRET, Threads, ask, both, full, get, json, of_type, request, seen,
    upstream,
};

pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// Returns the configuration of a proxy that filters responses below `/filtered`, and its log.
pub(crate) fn config(upstream: &TcpListener, spec: &Spec) -> (Config, Log) {
    let (config, log) = logged(upstream.local_addr().unwrap());
    (config.filter("/filtered", "kept", Program::compile(spec).unwrap()), log)
}

fn logged(upstream: std::net::SocketAddr) -> (Config, Log) {
    let mut config = Config::new(format!("http://{upstream}").parse().unwrap());
    let log = Log::default();
    let lines = Arc::clone(&log);
    config.log = Arc::new(move |line| lines.lock().unwrap().push(line.to_owned()));
    (config, log)
}

pub(crate) async fn start(threads: Threads, config: Config) -> Place {
    Place::run(threads, async move |listener, stop| {
        let stop = async {
            let _ = stop.await;
        };
        serve(listener, config, stop).await.unwrap();
    })
    .await
}

/// Responds with the request line and the headers of the request.
async fn echo(asked: Request<hyper::body::Incoming>) -> Response<Body> {
    let head = format!("{} {}\n{:#?}", asked.method(), asked.uri(), asked.headers());
    let mut answer = of_type("text/plain", full(head));
    for (name, value) in
        [("connection", "x-hop"), ("x-hop", "1"), ("keep-alive", "timeout=5"), ("via", "1.1 other")]
    {
        answer.headers_mut().append(name, value.parse().unwrap());
    }
    answer
}

#[test]
fn the_filters_of_the_catalog_are_those_of_the_library() {
    const DOCUMENT: &str = include_str!("../../../../corpus/github-list-repos.json");
    let program = Manifest::catalog().unwrap().program("github.list-repos").unwrap();
    let (kept, _) = filter_slice(&program, DOCUMENT.as_bytes()).unwrap();
    both(async |threads| {
        let upstream = upstream(async |_| json(DOCUMENT)).await;
        let (config, log) = logged(upstream);
        let config = config.filter("/repos", "github.list-repos", program.clone());
        let gateway = start(threads, config).await;
        for http in Http::ALL {
            for path in ["/repos", "/repos/", "/repos/a?b=c", "/repos?b"] {
                let seen = get(http, gateway.address, path).await;
                assert!(seen.body == kept && seen.error.is_none(), "{http:?} {path}");
            }
            for path in ["/", "/repositories", "/x/repos"] {
                assert!(
                    get(http, gateway.address, path).await.body == DOCUMENT.as_bytes(),
                    "{path}"
                );
            }
        }
        let log = log.lock().unwrap();
        let (read, written) = (DOCUMENT.trim_end().len(), kept.len());
        let line = format!("GET /repos: github.list-repos: {read} bytes in, {written} out");
        assert_eq!((log.len(), &log[0]), (8, &line));
    });
}

#[test]
fn fields_for_one_connection_do_not_pass() {
    both(async |threads| {
        let upstream = upstream(echo).await;
        let gateway = start(threads, logged(upstream).0).await;
        let mut client = Peer::connect(gateway.address).await;
        client
            .send(
                "GET /a?b=c HTTP/1.1\r\nhost: front\r\nx-forwarded-for: 192.0.2.1\r\nvia: 1.0 edge\r\n\
                 connection: close, x-secret\r\nx-secret: 1\r\nkeep-alive: 1\r\nupgrade: h2c\r\n\
                 proxy-connection: 1\r\nproxy-authorization: 1\r\nte: gzip\r\nrange: bytes=0-1\r\n\
                 x-kept: 1\r\n\r\n",
            )
            .await;
        let answer = String::from_utf8(client.rest().await).unwrap();
        for kept in [
            "\nGET /a?b=c\n",
            "\"x-forwarded-host\": \"front\"",
            "\"x-forwarded-for\": \"192.0.2.1\"",
            "\"x-forwarded-for\": \"127.0.0.1\"",
            "\"via\": \"1.0 edge\"",
            "\"via\": \"1.1 tamis\"",
            "\"range\": \"bytes=0-1\"",
            "\"x-kept\": \"1\"",
            &format!("\"host\": \"{upstream}\""),
            "\r\nvia: 1.1 other\r\n",
            "\r\nvia: 1.1 tamis\r\n",
        ] {
            assert!(answer.contains(kept), "{kept}:\n{answer}");
        }
        for gone in ["x-secret", "keep-alive", "h2c", "proxy-", "gzip", "x-hop"] {
            assert!(!answer.contains(gone), "{gone}:\n{answer}");
        }
    });
}

#[test]
fn a_filter_asks_for_the_whole_and_one_field_of_cookies() {
    both(async |threads| {
        // Plain text would be refused, so the echo is a JSON string.
        let upstream = upstream(async |asked: Request<_>| {
            let fields = asked.headers();
            let all = |name| -> Vec<_> {
                fields.get_all(name).iter().map(|it| it.to_str().unwrap()).collect()
            };
            let names = ["range", "if-range", "accept-encoding", "cookie", "te"];
            let members = names.map(|name| format!("\"{name}\": {:?}", all(name)));
            json(format!("{{{}}}", members.join(", ")))
        });
        let (config, _) = logged(upstream.await);
        let all = Program::compile(&Spec::new()).unwrap();
        let gateway = start(threads, config.filter("/", "all", all)).await;
        let mut asking = request(Method::GET, gateway.address, "/");
        let fields = asking.headers_mut();
        for (name, value) in [
            ("range", "bytes=0-1"),
            ("if-range", "\"a\""),
            ("accept-encoding", "deflate"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
        ] {
            fields.append(name, value.parse().unwrap());
        }
        let seen = ask(&Http::Two.client(), asking).await;
        let wanted = r#"{"range":[],"if-range":[],"accept-encoding":["gzip"],"cookie":["a=1; b=2"],"te":["trailers"]}"#;
        assert_eq!(seen.text(), wanted);
    });
}

#[test]
fn no_spelling_of_a_path_goes_around_a_filter() {
    both(async |threads| {
        let upstream =
            upstream(async |_| json(format!(r#"{{"id": 1, "token": "{SECRET}"}}"#))).await;
        let (config, _) = logged(upstream);
        let ids = Program::compile(&Spec::new().select("id")).unwrap();
        let gateway = start(threads, config.filter("/a/repos", "ids", ids)).await;
        for path in [
            "/a/../a/repos",
            "/a/./repos",
            "/a//repos",
            "//a/repos",
            "/a/%72epos",
            "/a%2Frepos",
            "/a%2frepos",
            "/%61/repos",
            "/a/repos;x",
            "/a/%2e/repos",
            "/a/b/%2E%2e/repos",
            "/a%5crepos",
            "/a/repos%00",
            "/a/repos%",
        ] {
            let mut client = Peer::connect(gateway.address).await;
            client
                .send(format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"))
                .await;
            let answer = String::from_utf8(client.rest().await).unwrap();
            assert!(
                answer.starts_with("HTTP/1.1 400") && !answer.contains(SECRET),
                "{path}: {answer}"
            );
        }
        let seen = get(Http::One, gateway.address, "/a/repos/x%20y/%C3%A9/").await;
        assert_eq!(seen.text(), r#"{"id":1}"#);
        let mut client = Peer::connect(gateway.address).await;
        client.send("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n").await;
        assert!(client.head().await.starts_with("HTTP/1.1 501"));
    });
}

#[test]
fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    both(async |threads| {
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (config, log) = config(&nobody, &Spec::new().select("id"));
        drop(nobody);
        let gateway = start(threads, config).await;
        for path in ["/filtered", "/else"] {
            let seen = get(Http::One, gateway.address, path).await;
            assert_eq!(seen.status, StatusCode::BAD_GATEWAY);
            assert_eq!(seen.text(), "The upstream cannot be reached.\n");
        }
        assert!(log.lock().unwrap()[0].starts_with("GET /filtered: "));
    });
}

#[test]
fn redirects_and_errors_keep_their_heads() {
    both(async |threads| {
        let upstream = upstream(async |asked: Request<_>| {
            let (status, media_type, text) = match asked.uri().path() {
                "/filtered/moved" => (302, "text/html", SECRET.to_owned()),
                "/filtered/page" => (200, "text/html", format!("<p>{SECRET}")),
                _ => (404, "application/json", format!(r#"{{"id": 1, "token": "{SECRET}"}}"#)),
            };
            let mut answer = of_type(media_type, full(text));
            *answer.status_mut() = status.try_into().unwrap();
            answer.headers_mut().insert("location", "/else".parse().unwrap());
            answer
        });
        let program = Program::compile(&Spec::new().select("id")).unwrap();
        let gateway =
            start(threads, logged(upstream.await).0.filter("/filtered", "ids", program)).await;
        for http in Http::ALL {
            for (path, status, text, location) in [
                ("/filtered/moved", 302, "", Some("/else")),
                ("/filtered/json", 404, r#"{"id":1}"#, Some("/else")),
            ] {
                let seen = get(http, gateway.address, path).await;
                assert_eq!((seen.status.as_u16(), seen.text()), (status, text), "{path}");
                assert_eq!(seen.field("location"), location, "{path}");
            }
            let seen = get(http, gateway.address, "/filtered/page").await;
            assert_eq!((seen.status.as_u16(), seen.field("location")), (502, None));
        }
    });
}

#[test]
fn request_bodies_pass() {
    both(async |threads| {
        let upstream = upstream(async |asked: Request<hyper::body::Incoming>| {
            let body = http_body_util::BodyExt::collect(asked.into_body()).await.unwrap();
            json(format!(r#"{{"id": {}, "token": 1}}"#, body.to_bytes().len()))
        });
        let program = Program::compile(&Spec::new().select("id")).unwrap();
        let gateway = start(threads, logged(upstream.await).0.filter("/", "ids", program)).await;
        for http in Http::ALL {
            let mut asking = request(Method::POST, gateway.address, "/");
            *asking.body_mut() = full(vec![b'x'; 1_000_000]);
            assert_eq!(ask(&http.client(), asking).await.text(), r#"{"id":1000000}"#);
        }
    });
}

#[test]
fn the_end_waits_for_answers_under_way() {
    both(async |threads| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = start(threads, config(&listener, &Spec::new().select("id")).0).await;
        let address = gateway.address;
        // An idle connection does not delay the end.
        let silent = Peer::connect(address).await;
        let client = Http::One.client();
        let asking = tokio::spawn(client.request(request(Method::GET, address, "/filtered")));
        let mut peer = Peer::accept(&listener).await;
        peer.head().await;
        let ended = gateway.end();
        // The proxy stops listening before the response arrives.
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        peer.send(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n",
        )
        .await;
        peer.send(r#"{"id":1, "token": 2}"#).await;
        assert_eq!(seen(asking.await.unwrap().unwrap()).await.text(), r#"{"id":1}"#);
        ended.await.unwrap();
        assert!(silent.rest().await.is_empty());
    });
}

#[test]
fn arguments_are_read() {
    let mut manifest = tempfile::NamedTempFile::new().unwrap();
    manifest.write_all(b"version: 1\nfilters: {mine: {select: [id]}}\n").unwrap();
    let manifest = manifest.path().to_str().unwrap();
    let read = |line: &str| {
        let line = line.replace("MANIFEST", manifest);
        arguments(line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter())
    };
    let asked = read(
        "--listen 127.0.0.1:8080 --upstream=http://a:9 --manifest MANIFEST --timeout 2 \
                      --filter=/=mine --filter /repos=github.list-repos",
    );
    let Ok(Asked::Serve { listen, config }) = asked else { panic!("{asked:?}") };
    assert_eq!((listen.port(), config.timeout.as_secs()), (8080, 2));
    assert!(read("--upstream x --help").is_err() && matches!(read("--help"), Ok(Asked::Help)));
    for (line, message) in [
        ("--upstream http://a", "--listen is missing"),
        ("--listen 127.0.0.1:1", "--upstream is missing"),
        ("--listen localhost", "localhost: no address and port"),
        ("--listen", "--listen needs a value"),
        ("--upstream https://a", "https://a: not of the form http://HOST:PORT"),
        ("--upstream http://a/b", "http://a/b: not of the form http://HOST:PORT"),
        ("--filter repos=mine", "repos=mine: a filter is /PREFIX=NAME"),
        ("--filter /repos", "/repos: a filter is /PREFIX=NAME"),
        ("--filter /re%70os=mine", "/re%70os=mine: a filter is /PREFIX=NAME"),
        ("--timeout 0", "0: no number of seconds"),
        ("--bogus", "unknown argument --bogus"),
    ] {
        assert_eq!(read(line).unwrap_err(), message, "{line}");
    }
    let error =
        read("--listen 127.0.0.1:1 --upstream http://a --filter /x=github.list-repo").unwrap_err();
    assert!(error.contains("github.list-repos"), "{error}");
    assert!(read("--manifest /nowhere/at-all").unwrap_err().contains("/nowhere/at-all"));
}
