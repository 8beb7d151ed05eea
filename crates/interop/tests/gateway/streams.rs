//! Responses in progress: each piece is delivered as soon as it is available, a client is sent no more than it reads,
//! and everything ends if the client, the gateway or the upstream disconnects.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{HeaderMap, Method};
use tamis::Spec;
use tamis::content::Content;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;

use crate::proxy::{config, start};
use crate::servers::{
    Body, Http, Peer, Place, SECRET, Threads, ask_in_vain, both, by, full, get, ids, next, of_type,
    request, seen,
};

/// Creates a body and the sender of its frames.
fn body() -> (mpsc::Sender<Result<Frame<Bytes>, io::Error>>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, BoxBody::new(StreamBody::new(ReceiverStream::new(receiver))))
}

fn data(text: &str) -> Result<Frame<Bytes>, io::Error> {
    Ok(Frame::data(Bytes::copy_from_slice(text.as_bytes())))
}

/// Starts a gateway that responds with the bodies that it receives.
async fn answering(threads: Threads, media_type: &'static str) -> (Place, mpsc::Sender<Body>) {
    let (sender, receiver) = mpsc::channel(1);
    let receiver = Arc::new(tokio::sync::Mutex::new(receiver));
    let gateway = Place::layered(threads, ids(), move |_| {
        let receiver = Arc::clone(&receiver);
        async move {
            let mut answer = of_type(media_type, receiver.lock().await.recv().await.unwrap());
            // Over HTTP/1.1, trailers are only sent if they are announced.
            let names = "x-sum, digest, repr-digest, content-digest, content-md5";
            answer.headers_mut().insert("trailer", names.parse().unwrap());
            answer
        }
    });
    (gateway.await, sender)
}

#[test]
fn items_leave_when_they_are_there() {
    both(async |threads| {
        let (gateway, bodies) = answering(threads, "application/json").await;
        for http in Http::ALL {
            let (frames, body) = body();
            bodies.send(body).await.unwrap();
            // The headers wait for the first output, which is the first item.
            let item = |id: u8| data(&format!(r#",{{"id": {id}, "token": "{SECRET}"}}"#));
            frames.send(data(r#"[{"id": 0}"#)).await.unwrap();
            let client = http.client();
            let asked = client.request(request(Method::GET, gateway.address, "/")).await.unwrap();
            let mut answer = asked.into_body();
            let mut came = Vec::new();
            for id in 0..3 {
                if id > 0 {
                    frames.send(item(id)).await.unwrap();
                }
                let wanted = format!(r#"{{"id":{id}}}"#);
                while !came.ends_with(wanted.as_bytes()) {
                    came.extend_from_slice(&next(&mut answer).await);
                }
            }
            frames.send(data("]")).await.unwrap();
            drop(frames);
            assert_eq!(answer.collect().await.unwrap().to_bytes(), "]");
        }
    });
}

#[test]
fn events_leave_when_they_are_there_and_the_head_before() {
    both(async |threads| {
        let (gateway, bodies) = answering(threads, "text/event-stream").await;
        for http in Http::ALL {
            let (frames, body) = body();
            bodies.send(body).await.unwrap();
            let client = http.client();
            let asked = client.request(request(Method::GET, gateway.address, "/")).await.unwrap();
            assert_eq!(asked.headers()["content-type"], "text/event-stream");
            assert!(asked.headers().get("content-length").is_none());
            let mut answer = asked.into_body();
            for id in 0..3 {
                let event =
                    format!("event: a\ndata: {{\"id\": {id}, \"token\": \"{SECRET}\"}}\n\n");
                frames.send(data(&event)).await.unwrap();
                let wanted = format!("event: a\ndata: {{\"id\":{id}}}\n\n");
                let mut came = Vec::new();
                while came.len() < wanted.len() {
                    came.extend_from_slice(&next(&mut answer).await);
                }
                assert_eq!(String::from_utf8(came).unwrap(), wanted);
            }
            drop(frames);
            assert!(answer.collect().await.unwrap().to_bytes().is_empty());
        }
    });
}

#[test]
fn trailers_are_kept_but_for_digests() {
    let short = r#"[{"id": 1, "token": 2}]"#.to_owned();
    let long = format!("[{}{{}}]", r#"{"id": 1, "token": 2},"#.repeat(20_000));
    both(async |threads| {
        let (gateway, bodies) = answering(threads, "application/json").await;
        for http in Http::ALL {
            for document in [&short, &long] {
                let (frames, body) = body();
                let mut fields = HeaderMap::new();
                for name in ["x-sum", "digest", "repr-digest", "content-digest", "content-md5"] {
                    fields.insert(name, "1".parse().unwrap());
                }
                let document = data(document);
                tokio::spawn(async move {
                    frames.send(document).await.unwrap();
                    frames.send(Ok(Frame::trailers(fields))).await.unwrap();
                });
                bodies.send(body).await.unwrap();
                let seen = get(http, gateway.address, "/").await;
                assert!(seen.error.is_none() && seen.text().starts_with(r#"[{"id":1}"#));
                let names: Vec<_> = seen.trailers.keys().map(|name| name.as_str()).collect();
                assert_eq!(names, ["x-sum"], "{http:?}, {} bytes", seen.body.len());
            }
        }
    });
}

#[test]
fn a_body_that_turns_out_to_be_none_passes() {
    both(async |threads| {
        let (gateway, bodies) = answering(threads, "application/json").await;
        for http in Http::ALL {
            for trailers in [false, true] {
                let (frames, body) = body();
                tokio::spawn(async move {
                    frames.send(data("")).await.unwrap();
                    if trailers {
                        let fields = HeaderMap::from_iter([(
                            "x-sum".parse().unwrap(),
                            "1".parse().unwrap(),
                        )]);
                        frames.send(Ok(Frame::trailers(fields))).await.unwrap();
                    }
                });
                bodies.send(body).await.unwrap();
                let seen = get(http, gateway.address, "/").await;
                assert!(seen.error.is_none(), "{http:?}");
                assert_eq!((seen.status.as_u16(), seen.text()), (200, ""), "{http:?}");
                assert_eq!(seen.trailers.len(), usize::from(trailers), "{http:?}");
            }
            // A body that breaks off before its first byte, or contains only white space, is not empty.
            for last in [Err(io::Error::other("gone")), data(" ")] {
                let (frames, body) = body();
                tokio::spawn(async move {
                    frames.send(data("")).await.unwrap();
                    frames.send(last).await.unwrap();
                });
                bodies.send(body).await.unwrap();
                assert_eq!(get(http, gateway.address, "/").await.status.as_u16(), 502, "{http:?}");
            }
        }
    });
}

#[test]
fn a_filter_that_lines_refuse_is_reported_by_the_status() {
    both(async |threads| {
        let layer = by(&Spec::new().content(Content::new()));
        let gateway = Place::layered(threads, layer, async |_| {
            of_type("application/x-ndjson", full(format!("{{\"text\": \"{SECRET}\"}}\n")))
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            let seen = get(http, gateway.address, "/").await;
            assert_eq!(seen.status.as_u16(), 500, "{http:?}");
            assert!(!seen.text().contains(SECRET), "{http:?}");
        }
    });
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

/// Creates the listener of a scripted upstream, with small send buffers.
async fn listen() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(64 << 10).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.listen(16).unwrap()
}

#[test]
fn a_client_that_does_not_read_stops_the_upstream() {
    const ITEMS: u64 = 64 << 10;
    let item = format!(r#"{{"id":"{}"}},"#, "x".repeat(1013));
    let size = ITEMS * item.len() as u64;
    both(async |threads| {
        let upstream = listen().await;
        let gateway = start(threads, config(&upstream, &Spec::new().select("id")).0).await;
        let written = Arc::new(AtomicU64::new(0));
        let (count, item) = (Arc::clone(&written), item.clone());
        tokio::spawn(async move {
            let mut peer = Peer::accept(&upstream).await;
            peer.head().await;
            peer.send(format!("{HEAD}connection: close\r\n\r\n[")).await;
            let items = item.repeat(64);
            for _ in 0..ITEMS / 64 {
                peer.send(&items).await;
                count.fetch_add(items.len() as u64, Ordering::Relaxed);
            }
            peer.send("{}]").await;
        });
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        let mut client = Peer { stream: socket.connect(gateway.address).await.unwrap() };
        client.send("GET /filtered HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        client.head().await;
        // The upstream stops once the buffers of the system and of the gateway are full.
        let mut before = 0;
        loop {
            sleep(Duration::from_millis(100)).await;
            let now = written.load(Ordering::Relaxed);
            if now == before {
                break;
            }
            before = now;
        }
        assert!(before < size / 3, "{before} of {size} bytes");
        let rest = client.rest().await;
        assert!(rest.len() as u64 > size && rest.ends_with(b"0\r\n\r\n"), "nothing is lost");
        assert_eq!(written.load(Ordering::Relaxed), size);
    });
}

#[test]
fn a_filter_that_has_enough_ends_the_upstream() {
    let spec = Spec::new().select("id").max_items(2).stop_early(true);
    both(async |threads| {
        let upstream = listen().await;
        let gateway = start(threads, config(&upstream, &spec).0).await;
        for http in Http::ALL {
            let asking = tokio::spawn(get(http, gateway.address, "/filtered"));
            let mut peer = Peer::accept(&upstream).await;
            peer.head().await;
            peer.send(format!("{HEAD}content-length: 1000000000\r\n\r\n[")).await;
            // Writes until the gateway closes the connection.
            while peer.stream.write_all(br#"{"id": 1, "token": 2},"#).await.is_ok() {}
            let seen = asking.await.unwrap();
            assert_eq!((seen.text(), seen.error.is_none()), (r#"[{"id":1},{"id":1}]"#, true));
        }
    });
}

/// The progress of a response when a client or an upstream disconnects.
const STATES: [(&str, &str); 4] = [
    ("no answer", ""),
    ("no body", "content-length: 1000\r\n\r\n"),
    ("nothing to say yet", "content-length: 1000\r\n\r\n  "),
    ("in the middle", "content-length: 1000\r\n\r\n[{\"id\": 1, \"token\": 2}, {\"id\""),
];

#[test]
fn a_client_that_goes_takes_all_with_it() {
    both(async |threads| {
        let upstream = listen().await;
        let gateway = start(threads, config(&upstream, &Spec::new().select("id")).0).await;
        for http in Http::ALL {
            for (state, sent) in STATES {
                let client = http.client();
                let asking = request(Method::GET, gateway.address, "/filtered");
                let asking = tokio::spawn(async move {
                    let answer = client.request(asking).await.unwrap();
                    let _ = answer.into_body().collect().await;
                });
                let mut peer = Peer::accept(&upstream).await;
                peer.head().await;
                if !sent.is_empty() {
                    peer.send(format!("{HEAD}{sent}")).await;
                }
                assert!(gateway.tasks() > 0, "{http:?}: {state}");
                asking.abort();
                let _ = asking.await;
                // The upstream connection is closed, and no task is left.
                peer.rest().await;
                gateway.quiet(0).await;
            }
        }
    });
}

#[test]
fn a_client_that_goes_while_much_waits_takes_all_with_it() {
    both(async |threads| {
        let upstream = listen().await;
        let gateway = start(threads, config(&upstream, &Spec::new().select("id")).0).await;
        let mut client = Peer::connect(gateway.address).await;
        client.send("GET /filtered HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let mut peer = Peer::accept(&upstream).await;
        peer.head().await;
        peer.send(format!("{HEAD}\r\n[")).await;
        let item = format!(r#"{{"id":"{}"}},"#, "x".repeat(1 << 20));
        let sending = tokio::spawn(async move {
            // Writes until the gateway closes the connection.
            while peer.stream.write_all(item.as_bytes()).await.is_ok() {}
        });
        client.head().await;
        drop(client);
        sending.await.unwrap();
        gateway.quiet(0).await;
    });
}

#[test]
fn an_upstream_that_goes_ends_the_answer() {
    both(async |threads| {
        let upstream = listen().await;
        let (config, log) = config(&upstream, &Spec::new().select("id"));
        let gateway = start(threads, config).await;
        for http in Http::ALL {
            for (state, sent) in STATES {
                let client = http.client();
                let asking = client.request(request(Method::GET, gateway.address, "/filtered"));
                let asking = tokio::spawn(asking);
                let mut peer = Peer::accept(&upstream).await;
                peer.head().await;
                if !sent.is_empty() {
                    peer.send(format!("{HEAD}{sent}")).await;
                }
                if state == "in the middle" {
                    let answer = asking.await.unwrap().unwrap();
                    drop(peer);
                    let seen = seen(answer).await;
                    assert!(seen.status == 200 && seen.error.is_some(), "{http:?}: {seen:?}");
                } else {
                    drop(peer);
                    let seen = seen(asking.await.unwrap().unwrap()).await;
                    assert_eq!(
                        (seen.status.as_u16(), seen.error.is_none()),
                        (502, true),
                        "{state}"
                    );
                }
            }
        }
        let log = log.lock().unwrap();
        assert_eq!(log.len(), 2 * STATES.len(), "{log:?}");
    });
}

#[test]
fn an_upstream_that_falls_silent_is_given_up() {
    both(async |threads| {
        let upstream = listen().await;
        let (mut config, _) = config(&upstream, &Spec::new().select("id"));
        config.timeout = Duration::from_millis(50);
        let gateway = start(threads, config).await;
        for http in Http::ALL {
            for (state, sent) in STATES {
                let asking = request(Method::GET, gateway.address, "/filtered");
                let asking = tokio::spawn(async move { ask_in_vain(&http.client(), asking).await });
                let mut peer = Peer::accept(&upstream).await;
                peer.head().await;
                if !sent.is_empty() {
                    peer.send(format!("{HEAD}{sent}")).await;
                }
                let seen = asking.await.unwrap();
                let seen = seen.as_ref().map(|it| (it.status.as_u16(), it.error.is_some()));
                match state {
                    "no answer" => assert_eq!(seen, Some((504, false))),
                    "in the middle" => assert!([None, Some((200, true))].contains(&seen)),
                    _ => assert_eq!(seen, Some((502, false)), "{state}"),
                }
                peer.rest().await;
            }
        }
        gateway.quiet(0).await;
    });
}
