//! A reverse proxy for one upstream that filters responses as they pass, with hyper on both sides. No body is
//! collected.
//!
//! ```sh
//! cargo run --release -p tamis-interop --example reverse_proxy -- --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000 \
//!     --filter /repos=github.list-repos
//! ```
//!
//! A response below a path with a filter is filtered or not delivered: a response that is not JSON, or cannot be
//! decoded, is refused, and a redirect or an error that is not JSON loses its body. All other paths are forwarded
//! unchanged.
//!
//! If a filter's `on_error` is `raw`, which is the catalog's default, JSON without any selected path passes. An
//! upstream that treats `/REPOS` or `/repos.json` as `/repos` must be configured not to. Clients may use HTTP/1.1 or
//! HTTP/2 (prior knowledge); the upstream is called with HTTP/1.1. There is no TLS and there are no upgrades.

mod signals;

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::{request, response};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tamis::Program;
use tamis::http::{DecodeOptions, FilterLayer, Transform};
use tamis_manifest::Manifest;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tower::{ServiceBuilder, service_fn};

const USAGE: &str = "\
Usage: reverse_proxy --listen ADDRESS --upstream URL [--filter PREFIX=NAME]... [--manifest FILE]

  --listen ADDRESS      where to listen, as in 127.0.0.1:8080
  --upstream URL        where requests go, as in http://127.0.0.1:9000
  --filter PREFIX=NAME  filters what is at the path PREFIX and below: NAME is a filter of the manifest, or else of the
                        built-in catalog (`tamis tools`); may be given again, the longest prefix counts
  --manifest FILE       more filters
  --timeout SECONDS     how long the upstream may take to answer, and between two pieces of an answer (60)
  --quiet               only logs failures, and no line for each filtered response
  --help                this text
";

/// hyper's buffers grow to 408 KiB per connection for reading and writing. A slow client could then hold most of a
/// megabyte, because a piece waits in up to four places: when it was read, in transit, in the filter, and before it is
/// written. Pieces of 32 KiB cost a few more system calls.
const BUFFER: usize = 32 << 10;
/// The time limit for the headers of a request, including its first byte, and for the next request on a kept
/// connection.
const HEAD_TIME: Duration = Duration::from_secs(30);
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The time limit for responses in progress when the proxy ends.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum number of idle connections to the upstream.
const IDLE: usize = 64;

#[tokio::main]
async fn main() -> ExitCode {
    let (listen, config) = match arguments(std::env::args().skip(1)) {
        Ok(Asked::Serve { listen, config }) => (listen, config),
        Ok(Asked::Help) => {
            let _ = io::stdout().write_all(USAGE.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            let _ = writeln!(io::stderr(), "reverse_proxy: {message} (--help tells more)");
            return ExitCode::from(2);
        }
    };
    let served = match TcpListener::bind(listen).await {
        Ok(listener) => serve(listener, config, signals::stop()).await,
        Err(error) => Err(error),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "reverse_proxy: cannot listen at {listen}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The parsed arguments.
#[derive(Debug)]
pub(crate) enum Asked {
    Help,
    Serve { listen: SocketAddr, config: Config },
}

/// Reads the arguments and the manifest that they name.
pub(crate) fn arguments(given: impl Iterator<Item = String>) -> Result<Asked, String> {
    let (mut listen, mut upstream, mut manifest, mut filters) = (None, None, None, Vec::new());
    let (mut seconds, mut quiet) = (60, false);
    let mut given = given;
    while let Some(name) = given.next() {
        if name == "--help" || name == "-h" {
            return Ok(Asked::Help);
        }
        if name == "--quiet" {
            quiet = true;
            continue;
        }
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (name, None),
        };
        if !["--listen", "--upstream", "--filter", "--manifest", "--timeout"].contains(&&*name) {
            return Err(format!("unknown argument {name}"));
        }
        let value = value.or_else(|| given.next()).ok_or(format!("{name} needs a value"))?;
        match &*name {
            "--listen" => {
                let address = value.parse().ok();
                listen = Some(address.ok_or(format!("{value}: no address and port"))?);
            }
            "--upstream" => upstream = Some(origin(&value)?),
            "--manifest" => {
                manifest = Some(Manifest::load(&value).map_err(|error| error.to_string())?);
            }
            "--timeout" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                seconds = number.ok_or(format!("{value}: no number of seconds"))?;
            }
            _ => match value.split_once('=') {
                Some((prefix, name)) if is_prefix(prefix) => {
                    filters.push((prefix.to_owned(), name.to_owned()));
                }
                _ => return Err(format!("{value}: a filter is /PREFIX=NAME")),
            },
        }
    }
    let mut config = Config::new(upstream.ok_or("--upstream is missing")?);
    config.timeout = Duration::from_secs(seconds);
    config.quiet = quiet;
    let catalog = Manifest::catalog().map_err(|error| error.to_string())?;
    for (prefix, name) in filters {
        let from = manifest.as_ref().filter(|manifest| manifest.has(&name)).unwrap_or(&catalog);
        let program = from.program(&name).map_err(|error| error.to_string())?;
        config = config.filter(&prefix, &name, program);
    }
    Ok(Asked::Serve { listen: listen.ok_or("--listen is missing")?, config })
}

/// Parses the URL of a server: a scheme, a host and an optional port.
fn origin(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
    let http = uri.scheme_str() == Some("http") && uri.authority().is_some();
    let whole = uri.path() == "/" && uri.query().is_none();
    if http && whole { Ok(uri) } else { Err(format!("{url}: not of the form http://HOST:PORT")) }
}

fn is_prefix(prefix: &str) -> bool {
    let is_path = prefix.starts_with('/') && (prefix == "/" || !prefix.ends_with('/'));
    // An escape has two spellings, but a prefix has only one of them.
    is_path && !prefix.contains('%') && is_plain(prefix)
}

/// The configuration of the proxy.
#[derive(Clone)]
pub(crate) struct Config {
    upstream: Uri,
    /// The filters, longest prefix first.
    routes: Vec<Route>,
    pub(crate) timeout: Duration,
    /// Whether only failures are logged.
    quiet: bool,
    /// Receives a line for each filtered response and each failure.
    pub(crate) log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A path, and the filter for this path and those below it.
#[derive(Clone, Debug)]
struct Route {
    prefix: String,
    name: String,
    program: Program,
}

impl Config {
    /// Creates a proxy in front of a server, `http://HOST:PORT`, that filters nothing.
    pub(crate) fn new(upstream: Uri) -> Self {
        let log = Arc::new(|line: &str| {
            let _ = writeln!(io::stderr(), "{line}");
        });
        Self { upstream, routes: Vec::new(), timeout: Duration::from_secs(60), quiet: false, log }
    }

    /// Filters the responses of `prefix` and of the paths below it.
    pub(crate) fn filter(mut self, prefix: &str, name: &str, program: Program) -> Self {
        self.routes.push(Route { prefix: prefix.to_owned(), name: name.to_owned(), program });
        self.routes.sort_by_key(|route| std::cmp::Reverse(route.prefix.len()));
        self
    }

    fn route(&self, path: &str) -> Option<&Route> {
        self.routes.iter().find(|route| match path.strip_prefix(route.prefix.as_str()) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || route.prefix == "/",
            None => false,
        })
    }
}

impl Route {
    /// Returns the filter, if the headers show that it applies to the body.
    fn by_type(&self, fields: &HeaderMap) -> Option<Transform> {
        let media_type = fields.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Transform::for_media_type(media_type, &self.program)
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("upstream", &self.upstream)
            .field("routes", &self.routes)
            .finish()
    }
}

/// Serves until `end`, then gives responses in progress some time to finish. No task runs after it returns.
pub(crate) async fn serve(
    listener: TcpListener,
    config: Config,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let config = Arc::new(config);
    let client = client();
    let filter = filter(Arc::clone(&config));
    let server = server();
    let (graceful, mut connections) = (GracefulShutdown::new(), JoinSet::new());
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            // No descriptor is left, or the client has disconnected. Wait until other connections have ended.
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (config, client) = (Arc::clone(&config), client.clone());
        let service = ServiceBuilder::new().layer(filter.clone()).service(service_fn(
            move |request| {
                let (config, client) = (Arc::clone(&config), client.clone());
                async move { Ok::<_, Infallible>(forward(&config, &client, peer.ip(), request).await) }
            },
        ));
        let (server, watcher) = (server.clone(), graceful.watcher());
        connections.spawn(async move {
            if is_speaking(&stream).await {
                let service = TowerToHyperService::new(service);
                let connection = server.serve_connection(TokioIo::new(stream), service);
                // Either the client disconnected, or a response failed, which was logged.
                let _ = watcher.watch(connection.into_owned()).await;
            }
        });
    }
    drop(listener);
    let _ = timeout(GRACE, graceful.shutdown()).await;
    connections.shutdown().await;
    Ok(())
}

/// Waits until the client sends the first byte or its time is over. hyper's own limit starts at the first byte.
async fn is_speaking(stream: &TcpStream) -> bool {
    let _ = stream.set_nodelay(true);
    matches!(timeout(HEAD_TIME, stream.readable()).await, Ok(Ok(())))
}

fn server() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER);
    // A stream may buffer as much as an HTTP/1.1 connection; a connection buffers that much for the requests of all
    // streams.
    server
        .http2()
        .timer(TokioTimer::new())
        .max_send_buf_size(BUFFER)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(256 << 10)
        .keep_alive_interval(HEAD_TIME);
    server
}

fn client() -> Client<HttpConnector, Incoming> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIME));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(HEAD_TIME)
        .pool_max_idle_per_host(IDLE)
        .http1_max_buf_size(BUFFER)
        .build(connector)
}

/// Filters the responses of paths that have a filter.
fn filter(
    config: Arc<Config>,
) -> FilterLayer<impl Fn(&request::Parts, &response::Parts) -> Option<Transform>> {
    let choose = move |asked: &request::Parts, answer: &response::Parts| {
        if answer.extensions.get::<Own>().is_some() {
            return None;
        }
        let route = config.route(asked.uri.path())?;
        // A response must not avoid the filter by declaring another type: it is read as JSON, and refused.
        let transform =
            route.by_type(&answer.headers).unwrap_or_else(|| Transform::json(&route.program));
        let (log, name) = (Arc::clone(&config.log), route.name.clone());
        let quiet = config.quiet;
        let request = format!("{} {}", asked.method, asked.uri.path());
        Some(transform.with_on_end(move |outcome, result| {
            let (read, written) = outcome
                .report()
                .map_or((0, 0), |report| (report.original_bytes, report.result_bytes));
            match result {
                Ok(()) if quiet => {}
                Ok(()) => log(&format!("{request}: {name}: {read} bytes in, {written} out")),
                Err(error) => log(&format!("{request}: {name}: {read} bytes in, failed: {error}")),
            }
        }))
    };
    FilterLayer::new(choose).with_decoding(DecodeOptions::new())
}

/// The body of a response: from the upstream, or a line from the proxy.
type Answer = Either<Patient, Full<Bytes>>;

/// Marks responses that the proxy generated, which no filter applies to.
#[derive(Clone)]
struct Own;

fn own(status: StatusCode, text: &'static str) -> Response<Answer> {
    let mut answer = Response::new(Either::Right(Full::from(text)));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, plain);
    answer.extensions_mut().insert(Own);
    answer
}

/// Sends a request to the upstream.
async fn forward(
    config: &Config,
    client: &Client<HttpConnector, Incoming>,
    peer: IpAddr,
    mut request: Request<Incoming>,
) -> Response<Answer> {
    let path = request.uri().path().to_owned();
    if request.method() == Method::CONNECT {
        return own(StatusCode::NOT_IMPLEMENTED, "This proxy makes no tunnels.\n");
    }
    if !is_plain(&path) {
        return own(StatusCode::BAD_REQUEST, "The path is not in its normal form.\n");
    }
    let called = format!("{} {path}", request.method());
    let is_filtered = config.route(&path).is_some();
    let Some(uri) = upstream_uri(&config.upstream, request.uri()) else {
        return own(StatusCode::BAD_REQUEST, "The target of the request is none.\n");
    };
    *request.uri_mut() = uri;
    ask(&mut request, peer, is_filtered);
    match timeout(config.timeout, client.request(request)).await {
        Ok(Ok(answer)) => {
            let version = answer.version();
            let mut answer = answer.map(|body| Either::Left(Patient::new(body, config.timeout)));
            without_hops(answer.headers_mut());
            add(answer.headers_mut(), header::VIA, via(version));
            match config.route(&path) {
                Some(route) if !answer.status().is_success() => head_at_least(route, answer),
                _ => answer,
            }
        }
        Ok(Err(error)) => {
            let cause = std::error::Error::source(&error).map(|it| format!(": {it}"));
            (config.log)(&format!("{called}: {error}{}", cause.unwrap_or_default()));
            own(StatusCode::BAD_GATEWAY, "The upstream cannot be reached.\n")
        }
        Err(_) => {
            (config.log)(&format!("{called}: no answer in time"));
            own(StatusCode::GATEWAY_TIMEOUT, "The upstream does not answer.\n")
        }
    }
}

/// Handles a redirect or an error that cannot be filtered: the client still needs its status and headers.
fn head_at_least(route: &Route, mut answer: Response<Answer>) -> Response<Answer> {
    if answer.body().is_end_stream() || route.by_type(answer.headers()).is_some() {
        return answer;
    }
    *answer.body_mut() = Either::Right(Full::default());
    for name in
        [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING, header::ETAG]
    {
        answer.headers_mut().remove(name);
    }
    answer.extensions_mut().insert(Own);
    answer
}

/// Returns the request target with the upstream's scheme and host.
fn upstream_uri(upstream: &Uri, target: &Uri) -> Option<Uri> {
    let path = target.path_and_query().map_or("/", |path| path.as_str());
    let authority = upstream.authority()?.clone();
    Uri::builder().scheme("http").authority(authority).path_and_query(path).build().ok()
}

/// Returns whether no server can take the path for another one: `/a/../repos`, `//repos`, `/repos;a` and `/%72epos`
/// would bypass a filter for `/repos`.
fn is_plain(path: &str) -> bool {
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if segment == "." || segment == ".." || (segment.is_empty() && !is_last) {
            return false;
        }
    }
    let escaped = path.split('%').skip(1).map(|rest| rest.get(..2));
    let mut escaped = escaped.map(|hex| hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()));
    !path.contains(['\\', ';'])
        && escaped.all(|byte| match byte {
            Some(b'/' | b'\\' | b';' | b'-' | b'.' | b'_' | b'~') | None => false,
            Some(byte) => !byte.is_ascii_alphanumeric() && !byte.is_ascii_control(),
        })
}

/// Turns the client's request into the proxy's request to the upstream.
fn ask(request: &mut Request<Incoming>, peer: IpAddr, is_filtered: bool) {
    let version = std::mem::replace(request.version_mut(), Version::HTTP_11);
    let fields = request.headers_mut();
    let tokens = fields.get_all(header::TE).iter().filter_map(|value| value.to_str().ok());
    let mut tokens = tokens.flat_map(|value| value.split(','));
    let trailers = tokens.any(|token| token.trim().eq_ignore_ascii_case("trailers"));
    without_hops(fields);
    if trailers || version == Version::HTTP_2 {
        fields.insert(header::TE, HeaderValue::from_static("trailers"));
        fields.insert(header::CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some(host) = fields.remove(header::HOST) {
        fields.insert(HeaderName::from_static("x-forwarded-host"), host);
    }
    add(fields, HeaderName::from_static("x-forwarded-for"), peer.to_string());
    add(fields, header::VIA, via(version));
    if fields.get_all(header::COOKIE).iter().nth(1).is_some() {
        // HTTP/2 may send each cookie in its own field; HTTP/1.1 has a single field (RFC 9113, section 8.2.3).
        let cookies: Vec<_> =
            fields.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(cookies) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
            fields.insert(header::COOKIE, cookies);
        }
    }
    if is_filtered {
        // A range cannot be filtered. The proxy decodes the body, not the client, so it asks for the coding that needs
        // the least memory; see `DecodeOptions` for the others, which are decoded as well.
        fields.remove(header::RANGE);
        fields.remove(header::IF_RANGE);
        fields.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    }
}

/// Removes headers that only apply to this connection (RFC 9110, section 7.6.1).
fn without_hops(fields: &mut HeaderMap) {
    let named = fields.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    for name in named {
        fields.remove(name);
    }
    for name in [
        header::CONNECTION,
        HeaderName::from_static("proxy-connection"),
        HeaderName::from_static("keep-alive"),
        header::TE,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
    ] {
        fields.remove(name);
    }
}

/// Appends a value to a list header.
fn add(fields: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
        fields.append(name, value);
    }
}

fn via(version: Version) -> String {
    let version = match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    };
    format!("{version} tamis")
}

/// The upstream's body, with a time limit for each piece.
struct Patient {
    body: Incoming,
    time: Duration,
    /// Created at the first wait and reused.
    alarm: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

impl Patient {
    fn new(body: Incoming, time: Duration) -> Self {
        Self { body, time, alarm: None, is_waiting: false }
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let over = Instant::now() + this.time;
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep_until(over)));
        if !std::mem::replace(&mut this.is_waiting, true) {
            alarm.as_mut().reset(over);
        }
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
