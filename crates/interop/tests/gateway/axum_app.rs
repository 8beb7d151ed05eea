//! The axum application of the examples.

use std::sync::{Arc, Mutex};

use axum::response::sse::Event;
use hyper::Method;
use tamis::{Program, Spec, filter_slice};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::axum_layer::{app, serve};
use crate::servers::{Http, Place, SECRET, Threads, both, get, next, request};

/// Starts the application. Its events are those that the returned sender sends.
async fn start(threads: Threads) -> (Place, mpsc::Sender<Event>) {
    let (sender, receiver) = mpsc::channel(1);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let app = app(move || {
        // Only the first client receives them.
        let receiver = receiver.lock().unwrap().take();
        ReceiverStream::new(receiver.unwrap_or_else(|| mpsc::channel(1).1))
    });
    let app = app.unwrap();
    let place = Place::run(threads, async move |listener, stop| {
        let stop = async {
            let _ = stop.await;
        };
        serve(listener, app, stop).await.unwrap();
    });
    (place.await, sender)
}

#[test]
fn repositories_are_filtered() {
    let document = include_bytes!("../../../../corpus/github-list-repos.json");
    let spec = Spec::new().select("full_name").select("visibility").select("language");
    let (kept, _) = filter_slice(&Program::compile(&spec).unwrap(), document).unwrap();
    both(async |threads| {
        let (app, _) = start(threads).await;
        for http in Http::ALL {
            let seen = get(http, app.address, "/repos").await;
            assert!(seen.status == 200 && seen.body == kept, "{http:?}");
            assert_eq!(seen.field("content-type"), Some("application/json"));
            assert_eq!(get(http, app.address, "/none").await.status, 404);
        }
    });
}

#[test]
fn events_are_filtered_one_by_one() {
    both(async |threads| {
        for http in Http::ALL {
            let (app, events) = start(threads).await;
            let client = http.client();
            let asked = client.request(request(Method::GET, app.address, "/events")).await.unwrap();
            assert_eq!(asked.headers()["content-type"], "text/event-stream");
            let mut answer = asked.into_body();
            for name in ["a/b", "a/c"] {
                let data = format!(r#"{{"full_name": "{name}", "token": "{SECRET}"}}"#);
                events.send(Event::default().event("pushed").data(data)).await.unwrap();
                let wanted = format!("event: pushed\ndata: {{\"full_name\":\"{name}\"}}\n\n");
                let mut came = Vec::new();
                while came.len() < wanted.len() {
                    came.extend_from_slice(&next(&mut answer).await);
                }
                assert_eq!(String::from_utf8(came).unwrap(), wanted);
            }
            // The sender is notified that the client has disconnected.
            drop((answer, client));
            events.closed().await;
        }
    });
}
