//! Headers and bodies of responses that are filtered, untouched, or have no body.

use hyper::{Method, Response, StatusCode};
use tamis::Spec;

use crate::servers::{
    Http, Peer, Place, SECRET, Tap, ask, ask_in_vain, both, by, empty, full, get, ids, json,
    of_type, request,
};

const DOCUMENT: &str = r#"[{"id": 1, "token": "hunter2-9f3c51"}, {"id": 2}]"#;
const FILTERED: &str = r#"[{"id":1},{"id":2}]"#;

/// A response with headers that only describe the complete, unfiltered document.
fn with_fields(media_type: &str, document: &'static str) -> Response<crate::servers::Body> {
    let mut answer = of_type(media_type, full(document));
    for (name, value) in [
        ("etag", "\"v1\""),
        ("accept-ranges", "bytes"),
        ("content-digest", "sha-256=:AA==:"),
        ("repr-digest", "sha-256=:AA==:"),
        ("digest", "sha-256=AA=="),
        ("content-md5", "AA=="),
        ("cache-control", "max-age=60"),
    ] {
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}

#[test]
fn the_head_is_that_of_the_output() {
    both(async |threads| {
        let gateway =
            Place::layered(threads, ids(), async |_| with_fields("application/json", DOCUMENT));
        let gateway = gateway.await;
        for http in Http::ALL {
            let seen = get(http, gateway.address, "/").await;
            assert_eq!((seen.status, seen.text()), (StatusCode::OK, FILTERED), "{http:?}");
            assert_eq!(
                seen.field("content-length"),
                Some(&*FILTERED.len().to_string()),
                "{http:?}"
            );
            assert_eq!(seen.field("etag"), Some("W/\"v1\""));
            assert_eq!(seen.field("cache-control"), Some("max-age=60"));
            for gone in ["accept-ranges", "content-digest", "repr-digest", "digest", "content-md5"]
            {
                assert_eq!(seen.field(gone), None, "{gone}");
            }
        }
    });
}

#[test]
fn responses_without_a_filter_are_unchanged() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |_| with_fields("text/plain", DOCUMENT));
        let gateway = gateway.await;
        for http in Http::ALL {
            let seen = get(http, gateway.address, "/").await;
            assert_eq!((seen.status, seen.text()), (StatusCode::OK, DOCUMENT));
            assert_eq!(seen.field("content-length"), Some(&*DOCUMENT.len().to_string()));
            assert_eq!(seen.field("etag"), Some("\"v1\""));
            assert_eq!(seen.field("repr-digest"), Some("sha-256=:AA==:"));
        }
    });
}

#[test]
fn a_long_answer_says_no_length() {
    let items: Vec<String> =
        (0..100_000).map(|id| format!(r#"{{"id":{id},"token":"{SECRET}"}}"#)).collect();
    let document = format!("[{}]", items.join(","));
    let kept: Vec<String> = (0..100_000).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
    let kept = format!("[{}]", kept.join(","));
    both(async |threads| {
        let answered = document.clone();
        let gateway = Place::layered(threads, ids(), move |_| {
            let answered = answered.clone();
            async { json(answered) }
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            let seen = get(http, gateway.address, "/").await;
            assert!(seen.error.is_none() && seen.text() == kept, "{http:?}");
            assert_eq!(seen.field("content-length"), None);
            let chunked = (http == Http::One).then_some("chunked");
            assert_eq!(seen.field("transfer-encoding"), chunked);
        }
    });
}

#[test]
fn heads_without_bodies() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |asked| {
            let status = match asked.uri().path() {
                "/none" => 204,
                "/same" => 304,
                _ => 200,
            };
            let answer = Response::builder().status(status).header("etag", "\"v1\"");
            let answer = answer.header("content-type", "application/json");
            match asked.method() {
                &Method::HEAD => answer.header("content-length", DOCUMENT.len()).body(empty()),
                _ => answer.body(empty()),
            }
            .unwrap()
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for (method, path, status) in
                [(Method::HEAD, "/", 200), (Method::GET, "/none", 204), (Method::GET, "/same", 304)]
            {
                let seen = ask(&http.client(), request(method, gateway.address, path)).await;
                assert_eq!((seen.status.as_u16(), seen.text()), (status, ""), "{http:?} {path}");
                assert_eq!(seen.field("etag"), Some("W/\"v1\""), "{http:?} {path}");
                let length = seen.field("content-length");
                assert_eq!(length, None, "{http:?} {path}: what GET would say is not known");
            }
            let seen = get(http, gateway.address, "/").await;
            assert_eq!((seen.status, seen.text()), (StatusCode::OK, ""), "an empty body stays one");
        }
    });
}

#[test]
fn a_body_that_must_not_be_there_does_not_leave() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |asked| {
            let mut answer = json(DOCUMENT);
            *answer.status_mut() = asked.uri().path()[1..].parse().unwrap();
            answer
        });
        let gateway = gateway.await;
        let tap = Tap::before(gateway.address).await;
        for http in Http::ALL {
            for (method, path) in [
                (Method::HEAD, "/200"),
                (Method::GET, "/204"),
                (Method::GET, "/205"),
                (Method::GET, "/304"),
            ] {
                let asking = request(method.clone(), tap.address, path);
                let seen = ask_in_vain(&http.client(), asking).await.unwrap();
                assert_eq!((&path[1..], seen.text()), (seen.status.as_str(), ""), "{http:?}");
                let record = tap.take();
                let found = record.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes());
                assert!(!found, "{http:?} {method} {path}");
            }
        }
    });
}

#[test]
fn requests_follow_one_another_on_a_connection() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |_| json(DOCUMENT)).await;
        let mut client = Peer::connect(gateway.address).await;
        for _ in 0..3 {
            client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            assert!(client.head().await.starts_with("HTTP/1.1 200"));
            assert_eq!(client.until("}]").await, FILTERED);
        }
        client.send("GET / HTTP/1.0\r\n\r\n").await;
        let answer = String::from_utf8(client.rest().await).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with(FILTERED), "{answer}");
    });
}

#[test]
fn the_output_may_be_of_another_type() {
    let spec = Spec::new()
        .content(tamis::content::Content::new().format(tamis::content::ContentFormat::Markdown));
    let program = tamis::Program::compile(&spec).unwrap();
    both(async |threads| {
        let program = program.clone();
        let layer =
            tamis::http::FilterLayer::new(move |_, _| Some(tamis::http::Transform::json(&program)));
        const PAGE: &str = "<nav>Home</nav><h1>Tides</h1><p>High water is at <b>noon</b>.";
        let gateway = Place::layered(threads, layer, async |_| of_type("text/html", full(PAGE)));
        let seen = get(Http::One, gateway.await.address, "/").await;
        assert_eq!(seen.text(), "# Tides\n\nHigh water is at noon.");
        assert_eq!(seen.field("content-type"), Some("text/markdown; charset=utf-8"));
        assert_eq!(seen.field("content-length"), Some("31"));
    });
}

#[test]
fn many_requests_at_once_do_not_mix() {
    both(async |threads| {
        let gateway = Place::layered(threads, by(&Spec::new().exclude("token")), async |asked| {
            let path = asked.uri().path();
            json(format!(r#"{{"path": "{path}", "token": "{SECRET}"}}"#))
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            let client = http.client();
            let asked: Vec<_> = (0..50)
                .map(|number| {
                    let path = format!("/{number}");
                    let request = request(Method::GET, gateway.address, &path);
                    let client = client.clone();
                    (path, tokio::spawn(async move { ask(&client, request).await }))
                })
                .collect();
            for (path, seen) in asked {
                assert_eq!(seen.await.unwrap().text(), format!(r#"{{"path":"{path}"}}"#));
            }
        }
    });
}
