//! Failures as a client sees them, before and after the first byte of output.

use std::io;

use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Frame};
use hyper::{Method, Response, StatusCode};
use tamis::http::{FilterLayer, Transform};
use tamis::spec::OnError;
use tamis::{CallOptions, Fault, Limits, Program, Spec};

use crate::servers::{
    Body, Http, Peer, Place, SECRET, ask, ask_in_vain, both, by, get, ids, json, of_type, request,
};

/// Creates a body of these pieces.
pub(crate) fn pieces(pieces: Vec<Result<Bytes, io::Error>>) -> Body {
    let frames = pieces.into_iter().map(|piece| piece.map(Frame::data));
    BoxBody::new(StreamBody::new(tokio_stream::iter(frames)))
}

/// A list of which a megabyte is kept, and its end.
pub(crate) fn long(end: &str) -> String {
    let item = format!(r#"{{"token":"{SECRET}","id":"{}"}},"#, "x".repeat(1000));
    format!("[{}{end}", item.repeat(1000))
}

#[test]
fn before_the_first_byte_it_is_another_answer() {
    let documents = [
        format!(r#"[{{"id": 1, "token": "{SECRET}"}}, {{"id": 1x}}]"#),
        format!(r#"{{"token": "{SECRET}", "id": 1"#),
        format!("<h1>{SECRET}</h1>"),
        format!(r#"{{"{SECRET}": "\x"}}"#),
        format!(r#"{{"{SECRET}": {{"{SECRET}": nul"#),
    ];
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), {
            let documents = documents.clone();
            move |asked| {
                let number: usize = asked.uri().path()[1..].parse().unwrap();
                let mut answer = json(documents[number].clone());
                answer.headers_mut().insert("etag", "\"v1\"".parse().unwrap());
                answer.headers_mut().insert("x-token", SECRET.parse().unwrap());
                async { answer }
            }
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for (number, document) in documents.iter().enumerate() {
                let seen = get(http, gateway.address, &format!("/{number}")).await;
                assert_eq!(seen.status, StatusCode::BAD_GATEWAY, "{document}");
                assert!(seen.error.is_none() && !seen.text().contains(SECRET), "{}", seen.text());
                assert_eq!(seen.field("content-type"), Some("application/json"));
                assert_eq!(seen.field("content-length"), Some(&*seen.body.len().to_string()));
                // The headers of the original response are dropped.
                assert_eq!((seen.field("etag"), seen.field("x-token")), (None, None));
            }
        }
    });
}

#[test]
fn after_the_first_byte_the_body_breaks_off() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |asked| match asked.uri().path() {
            "/bad" => json(long("nul]")),
            "/cut" => json(long(r#"{"id":1}"#)),
            "/lost" => {
                let lost = io::Error::other("gone");
                of_type("application/json", pieces(vec![Ok(long("").into()), Err(lost)]))
            }
            _ => json(r#"{"id": 1}"#),
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            let client = http.client();
            for path in ["/bad", "/cut", "/lost"] {
                let asking = request(Method::GET, gateway.address, path);
                if let Some(seen) = ask_in_vain(&client, asking).await {
                    assert_eq!(seen.status, StatusCode::OK, "{http:?} {path}");
                    assert!(seen.error.is_some(), "the client sees that it is not the end");
                    assert!(!seen.text().contains(SECRET));
                }
                let again = ask(&client, request(Method::GET, gateway.address, "/")).await;
                assert_eq!(again.text(), r#"{"id":1}"#, "{http:?}: the next request works");
            }
        }
    });
}

/// hyper drops what it has not flushed when a body fails, so the failure has to wait for what precedes it.
#[test]
fn a_bad_line_loses_neither_the_status_nor_the_other_lines() {
    let good = |id: u32| format!("{{\"id\":{id},\"token\":\"{SECRET}\"}}\n");
    let many: String = (0..2_000).map(good).collect();
    let (some, one) = (good(1) + &good(2), good(1));
    // The lines before the bad one, the media type, the bad line, and whether each line is a piece of its own.
    let bodies = [
        (some.clone(), "application/x-ndjson", "no JSON\n", false),
        (some.clone(), "application/x-ndjson", "no JSON\n", true),
        (some, "application/jsonl", "{\"id\":3", false),
        (one, "application/x-ndjson", "{\"id\":\"\\x\"}\n", false),
        (String::new(), "application/x-ndjson", "no JSON\n", false),
        (many, "application/x-ndjson", "]\n", false),
    ];
    both(async |threads| {
        let answers = bodies.clone();
        let gateway = Place::layered(threads, ids(), move |asked| {
            let number: usize = asked.uri().path()[1..].parse().unwrap();
            let (good, media_type, bad, is_split) = &answers[number];
            let text = format!("{good}{bad}{}", if bad.ends_with('\n') { good } else { "" });
            let cut = |text: &str| Ok(Bytes::copy_from_slice(text.as_bytes()));
            let body = match is_split {
                true => pieces(text.split_inclusive('\n').map(cut).collect()),
                false => pieces(vec![cut(&text)]),
            };
            let answer = of_type(media_type, body);
            async { answer }
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for (number, (good, _, bad, _)) in bodies.iter().enumerate() {
                // A bad line does not end the run: the lines after it are filtered, and the error is the last.
                let kept = good.replace(&format!(",\"token\":\"{SECRET}\""), "");
                let kept = if bad.ends_with('\n') { kept.repeat(2) } else { kept };
                let asking = request(Method::GET, gateway.address, &format!("/{number}"));
                let seen = ask_in_vain(&http.client(), asking).await;
                let seen =
                    seen.unwrap_or_else(|| panic!("no status: {http:?} {threads:?} {number}"));
                assert_eq!(seen.status, StatusCode::OK, "{http:?} {number}");
                assert_eq!(seen.text(), kept, "{http:?} {number}");
                assert!(seen.error.is_some(), "the client sees that it is not the end: {number}");
            }
        }
    });
}

#[test]
fn a_connection_whose_answer_broke_off_is_closed() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |_| json(long("nul]"))).await;
        let mut client = Peer::connect(gateway.address).await;
        client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let head = client.head().await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("chunked"), "{head}");
        let rest = String::from_utf8(client.rest().await).unwrap();
        assert!(!rest.ends_with("0\r\n\r\n") && !rest.contains("HTTP/1.1"), "no clean end");
    });
}

#[test]
fn the_user_makes_the_answer() {
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    both(async |threads| {
        let program = program.clone();
        let layer = FilterLayer::new(move |_, _| {
            let limits = Limits::new().with_depth(4);
            Some(Transform::json(program.with_options(&CallOptions::new().with_limits(limits))))
        });
        let layer = layer.with_on_error(|asked, error| {
            let path = asked.uri.path();
            let text = format!("{path}: {:?} {}", error.fault(), error.kind().as_str());
            let answer = Response::builder().status(error.fault().status());
            let answer = answer.header("x-fault", "1").body(text.into()).unwrap();
            Some(answer).filter(|_| path != "/usual")
        });
        let gateway = Place::layered(threads, layer, async |asked| match asked.uri().path() {
            "/deep" => json("[".repeat(5) + &"]".repeat(5)),
            _ => json("{\"id\" 1}"),
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for (path, text) in [("/deep", "/deep: Limit limit"), ("/bad", "/bad: Input syntax")] {
                let seen = get(http, gateway.address, path).await;
                assert_eq!((seen.status, seen.text()), (StatusCode::BAD_GATEWAY, text));
                assert_eq!(seen.field("x-fault"), Some("1"));
            }
            let usual = get(http, gateway.address, "/usual").await;
            assert_eq!((usual.status, usual.field("x-fault")), (StatusCode::BAD_GATEWAY, None));
            assert!(usual.text().contains(r#""kind":"syntax""#), "{}", usual.text());
        }
    });
    assert_eq!(Fault::Sink.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[test]
fn a_filter_that_is_closed_leaks_nothing() {
    let closed = |spec: Spec| spec.on_error(OnError::Closed);
    let specs = [
        closed(Spec::new().select("nothing")),
        closed(Spec::new().root("nothing").select("id")),
        closed(Spec::new().extract("nothing")),
        Spec::new()
            .when(tamis::spec::Condition::new("/kind", "\"other\""), Spec::new().select("id"))
            .otherwise(tamis::spec::WhenFallback::Error),
    ];
    both(async |threads| {
        for (number, spec) in specs.iter().enumerate() {
            let gateway = Place::layered(threads, by(spec), async |_| {
                json(format!(r#"{{"kind": "{SECRET}", "{SECRET}": [{{"token": "{SECRET}"}}]}}"#))
            });
            let gateway = gateway.await;
            for http in Http::ALL {
                let seen = get(http, gateway.address, "/").await;
                assert!(seen.status.is_server_error(), "{number}: {} {}", seen.status, seen.text());
                assert!(!seen.text().contains(SECRET), "{number}: {}", seen.text());
            }
        }
    });
}

#[test]
fn a_body_that_fails_at_once_is_another_answer() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |_| {
            of_type("application/json", pieces(vec![Err(io::Error::other(SECRET))]))
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            let seen = get(http, gateway.address, "/").await;
            assert_eq!(seen.status, StatusCode::BAD_GATEWAY);
            assert!(!seen.text().contains(SECRET), "{}", seen.text());
        }
    });
}
