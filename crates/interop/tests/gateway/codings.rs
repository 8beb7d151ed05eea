//! Responses that are encoded, and ranges.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tamis::Spec;
use tamis::http::DecodeOptions;
use tokio::net::TcpListener;
use tower::{ServiceBuilder, ServiceExt, service_fn};
use tower_http::compression::CompressionLayer;

use crate::servers::{Body, Http, Place, SECRET, ask, both, by, full, get, ids, json, request};

fn document() -> String {
    let items: Vec<String> =
        (0..2000).map(|id| format!(r#"{{"id":{id},"token":"{SECRET}-{}"}}"#, id * 7919)).collect();
    format!("[{}]", items.join(","))
}

fn kept() -> String {
    let items: Vec<String> = (0..2000).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
    format!("[{}]", items.join(","))
}

/// Returns the document as a server of tower-http encodes it for `accept`.
async fn encoded(accept: &str) -> Response<Body> {
    let answer = async |_: Request<()>| Ok::<_, std::convert::Infallible>(json(document()));
    let service = ServiceBuilder::new().layer(CompressionLayer::new()).service(service_fn(answer));
    let request = Request::builder().header("accept-encoding", accept).body(()).unwrap();
    let answer = service.oneshot(request).await.unwrap();
    answer.map(|body| body.map_err(std::io::Error::other).boxed())
}

#[test]
fn encoded_answers_are_decoded_when_asked() {
    both(async |threads| {
        let layer = ids().with_decoding(DecodeOptions::new());
        let gateway = Place::layered(threads, layer, async |asked: Request<_>| {
            encoded(asked.uri().path().trim_start_matches('/')).await
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for coding in ["gzip", "br", "zstd"] {
                let seen = get(http, gateway.address, &format!("/{coding}")).await;
                assert_eq!((seen.status, seen.text()), (StatusCode::OK, &*kept()), "{coding}");
                assert_eq!(seen.field("content-encoding"), None, "{coding}");
            }
        }
    });
}

#[test]
fn encoded_answers_are_refused_when_not() {
    both(async |threads| {
        let gateway = Place::layered(threads, ids(), async |asked: Request<_>| {
            encoded(asked.uri().path().trim_start_matches('/')).await
        });
        let gateway = gateway.await;
        for http in Http::ALL {
            for coding in ["gzip", "br", "zstd"] {
                let seen = get(http, gateway.address, &format!("/{coding}")).await;
                assert_eq!(seen.status, StatusCode::BAD_GATEWAY, "{coding}");
                assert_eq!(seen.field("content-encoding"), None);
                assert!(seen.text().contains("could not be filtered"), "{}", seen.text());
            }
        }
    });
}

#[test]
fn codings_that_nobody_knows_and_parts_are_refused() {
    let cases = [
        ("content-encoding", "deflate", 200),
        ("content-encoding", "gzip, gzip", 200),
        ("content-encoding", "gzip", 200),
        ("content-encoding", "zstd", 200),
        ("content-range", "bytes 0-9/100", 206),
    ];
    both(async |threads| {
        for (name, value, status) in cases {
            // The body is the unencoded document, whatever the header declares.
            let layer = ids().with_decoding(DecodeOptions::new());
            let gateway = Place::layered(threads, layer, move |_| {
                let mut answer = json(document());
                answer.headers_mut().insert(name, value.parse().unwrap());
                *answer.status_mut() = status.try_into().unwrap();
                async { answer }
            });
            let seen = get(Http::One, gateway.await.address, "/").await;
            assert_eq!(seen.status, StatusCode::BAD_GATEWAY, "{name}: {value}");
            assert!(!seen.text().contains(SECRET), "{name}: {value}");
        }
    });
}

fn gzip(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for piece in pieces {
        encoder.write_all(&piece).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn a_bomb_is_refused() {
    const MEGABYTE: usize = 1 << 20;
    // Before the first output the gateway sends an error response; later the body breaks off.
    let spaces = (0..64).map(|_| vec![b' '; MEGABYTE]);
    let before = gzip(spaces.chain([br#"{"id":1}"#.to_vec()]));
    let long = std::iter::repeat_n(vec![b'x'; MEGABYTE], 64);
    let within = gzip([br#"{"id":"#.to_vec(), b"\"".to_vec()].into_iter().chain(long));
    both(async |threads| {
        for (bomb, statuses) in [(before.clone(), &[502][..]), (within.clone(), &[502, 200])] {
            let layer = by(&Spec::new().select("id")).with_decoding(DecodeOptions::new());
            let gateway = Place::layered(threads, layer, move |_| {
                let mut answer = json(bomb.clone());
                answer.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
                async { answer }
            });
            let seen = get(Http::One, gateway.await.address, "/").await;
            assert!(statuses.contains(&seen.status.as_u16()), "{}", seen.status);
            assert!(seen.status == StatusCode::BAD_GATEWAY || seen.error.is_some());
            assert!(seen.body.len() < 8 * MEGABYTE, "{} bytes", seen.body.len());
        }
    });
}

#[test]
fn the_layer_of_tower_http_encodes_what_is_filtered() {
    both(async |threads| {
        let gateway = Place::run(threads, async |listener: TcpListener, stop| {
            let layers = ServiceBuilder::new().layer(CompressionLayer::new()).layer(ids());
            let service = layers.service(service_fn(async |_: Request<_>| {
                Ok::<_, std::convert::Infallible>(json(document()))
            }));
            let (stream, _) = listener.accept().await.unwrap();
            let server = auto::Builder::new(TokioExecutor::new());
            let service = TowerToHyperService::new(service);
            tokio::select! {
                _ = stop => {}
                _ = server.serve_connection(TokioIo::new(stream), service) => {}
            }
        });
        let gateway = gateway.await;
        let mut asking = request(hyper::Method::GET, gateway.address, "/");
        asking.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        let seen = ask(&Http::One.client(), asking).await;
        assert_eq!(seen.field("content-encoding"), Some("gzip"));
        let mut decoded = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&seen.body[..]);
        std::io::Read::read_to_string(&mut decoder, &mut decoded).unwrap();
        assert_eq!(decoded, kept());
    });
}

#[test]
fn an_upstream_that_encodes_an_empty_body() {
    both(async |threads| {
        let layer = ids().with_decoding(DecodeOptions::new());
        let gateway = Place::layered(threads, layer, async |_| {
            let mut answer = json("");
            answer.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            *answer.body_mut() = full("");
            answer
        });
        let seen = get(Http::One, gateway.await.address, "/").await;
        assert_eq!((seen.status, seen.text()), (StatusCode::OK, ""));
    });
}
