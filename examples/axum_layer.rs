//! An axum application with a layer that filters its responses. The handlers are unchanged; clients receive what the
//! spec keeps.
//!
//! ```sh
//! cargo run --release -p tamis-interop --example axum_layer -- 127.0.0.1:8080
//! ```

mod signals;

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Write};
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use tamis::http::{FilterLayer, Transform};
use tamis::{Error, Program, Spec};
use tokio::net::TcpListener;
use tokio_stream::{Stream, StreamExt};

/// A response of the API.
const REPOSITORIES: &str = include_str!("../corpus/github-list-repos.json");

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| String::from("127.0.0.1:8080"));
    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen at {address}: {error}"))?;
    let address = listener.local_addr()?;
    let mut output = io::stdout();
    writeln!(
        output,
        "curl -i http://{address}/repos      name, visibility and language of each repository"
    )?;
    writeln!(
        output,
        "curl -iN http://{address}/events    the same of a repository a second, as events"
    )?;
    serve(listener, app(events(Duration::from_secs(1)))?, signals::stop()).await?;
    Ok(())
}

/// Serves until `end` and until the responses in progress are complete.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, app).with_graceful_shutdown(end).await
}

/// Builds the router with two routes and the layer over both.
pub(crate) fn app<S>(
    events: impl Fn() -> S + Clone + Send + Sync + 'static,
) -> Result<Router, Error>
where
    S: Stream<Item = Event> + Send + 'static,
{
    let spec = Spec::new().select("full_name").select("visibility").select("language");
    let program = Program::compile(&spec)?;
    let layer = FilterLayer::new(move |_, answer| {
        let media_type = answer.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        // The content type decides: JSON, newline-delimited JSON or an event stream. Other types pass.
        Transform::for_media_type(media_type, &program)
    });
    let repositories = || async { ([(CONTENT_TYPE, "application/json")], REPOSITORIES) };
    let stream = move || {
        let events = events().map(Ok::<_, Infallible>);
        async { Sse::new(events).keep_alive(KeepAlive::default()) }
    };
    Ok(Router::new().route("/repos", get(repositories)).route("/events", get(stream)).layer(layer))
}

/// Sends one repository at a time for as long as the client is connected.
fn events(
    pause: Duration,
) -> impl Fn() -> std::pin::Pin<Box<dyn Stream<Item = Event> + Send>> + Clone {
    move || {
        let names = ["kiln/loom", "kiln/anvil", "kiln/shuttle"].into_iter().cycle();
        let events = tokio_stream::iter(names).map(|name| {
            let data = format!(
                r#"{{"full_name":"{name}","visibility":"public","node_id":"R_1","forks":7}}"#
            );
            Event::default().event("pushed").data(data)
        });
        Box::pin(events.throttle(pause))
    }
}
