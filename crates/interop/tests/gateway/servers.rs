//! Servers, clients and taps between them. Uses sockets and runtimes, but no filters.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Body as HttpBody, Bytes, Incoming};
use hyper::http::{request, response};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tamis::http::{FilterLayer, Transform};
use tamis::{Program, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tower::{Layer, service_fn};

pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// A value that no client may see.
pub(crate) const SECRET: &str = "hunter2-9f3c51";

/// A time limit longer than any test takes.
const HANGS: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Threads {
    One,
    Several,
}

impl Threads {
    fn runtime(self) -> Runtime {
        let mut builder = match self {
            Self::One => Builder::new_current_thread(),
            Self::Several => Builder::new_multi_thread(),
        };
        builder.worker_threads(2).enable_all().build().unwrap()
    }
}

/// Runs a test on both kinds of runtimes.
pub(crate) fn both<F: Future<Output = ()>>(test: impl Fn(Threads) -> F) {
    for threads in [Threads::One, Threads::Several] {
        let runtime = threads.runtime();
        let ended = runtime.block_on(async { timeout(HANGS, test(threads)).await });
        assert!(ended.is_ok(), "hangs ({threads:?})");
        runtime.shutdown_background();
    }
}

/// A server with its own runtime, so that its tasks can be counted.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    runtime: Handle,
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Place {
    /// Runs `serve` until the server is ended.
    pub(crate) async fn run<F: Future<Output = ()>>(
        threads: Threads,
        serve: impl FnOnce(TcpListener, oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> Self {
        let (begin, begun) = oneshot::channel();
        let (end, stop) = oneshot::channel();
        let (over, ended) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = threads.runtime();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                begin.send((listener.local_addr().unwrap(), Handle::current())).unwrap();
                serve(listener, stop).await;
            });
            runtime.shutdown_background();
            let _ = over.send(());
        });
        let (address, runtime) = begun.await.unwrap();
        Self { address, runtime, end, ended }
    }

    /// Starts a server whose responses pass through a layer.
    pub(crate) async fn layered<F, H, A>(
        threads: Threads,
        layer: FilterLayer<F>,
        handler: H,
    ) -> Self
    where
        F: Fn(&request::Parts, &response::Parts) -> Option<Transform> + Send + Sync + 'static,
        H: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::run(threads, async move |listener, stop| {
            tokio::select! {
                _ = stop => {}
                () = accept(listener, layer, handler) => {}
            }
        })
        .await
    }

    /// Waits until only the given number of tasks is left on the server's runtime.
    pub(crate) async fn quiet(&self, tasks: usize) {
        while self.runtime.metrics().num_alive_tasks() != tasks {
            sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Asks the server to end.
    pub(crate) fn end(self) -> oneshot::Receiver<()> {
        let _ = self.end.send(());
        self.ended
    }
}

async fn accept<F, H, A>(listener: TcpListener, layer: FilterLayer<F>, handler: H)
where
    F: Fn(&request::Parts, &response::Parts) -> Option<Transform> + Send + Sync + 'static,
    H: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Body>> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let handler = handler.clone();
        let service = layer.layer(service_fn(move |request| {
            let answer = handler(request);
            async { Ok::<_, Infallible>(answer.await) }
        }));
        tokio::spawn(async move {
            let service = TowerToHyperService::new(service);
            let server = auto::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Starts an upstream on the runtime of the test.
pub(crate) async fn upstream<H, A>(handler: H) -> SocketAddr
where
    H: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Body>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(accept(listener, FilterLayer::new(|_, _| None), handler));
    address
}

/// Creates a body of known bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never: Infallible| match never {}).boxed()
}

/// Creates a response with a media type.
pub(crate) fn of_type(media_type: &str, body: Body) -> Response<Body> {
    Response::builder().header("content-type", media_type).body(body).unwrap()
}

pub(crate) fn json(bytes: impl Into<Bytes>) -> Response<Body> {
    of_type("application/json", full(bytes))
}

/// Creates a layer that selects `id` from every response whose media type is JSON.
pub(crate) fn ids() -> FilterLayer<impl Fn(&request::Parts, &response::Parts) -> Option<Transform>>
{
    by(&Spec::new().select("id"))
}

/// Creates a layer that applies a spec to responses by their media type.
pub(crate) fn by(
    spec: &Spec,
) -> FilterLayer<impl Fn(&request::Parts, &response::Parts) -> Option<Transform> + use<>> {
    let program = Program::compile(spec).unwrap();
    FilterLayer::new(move |_, answer| {
        let media_type = answer.headers.get("content-type")?.to_str().unwrap();
        Transform::for_media_type(media_type, program.with_options(&tamis::CallOptions::new()))
    })
}

/// The HTTP version of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Http {
    One,
    Two,
}

impl Http {
    pub(crate) const ALL: [Self; 2] = [Self::One, Self::Two];

    pub(crate) fn client(self) -> Client<HttpConnector, Body> {
        Client::builder(TokioExecutor::new()).http2_only(self == Self::Two).build_http()
    }
}

/// A response as a client received it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) head: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
    /// The error that ended the body early.
    pub(crate) error: Option<hyper::Error>,
}

impl Seen {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) fn request(method: Method, address: SocketAddr, path: &str) -> Request<Body> {
    // Servers only send trailers over HTTP/1.1 if the client accepts them on this connection.
    let request = Request::builder().method(method).header("te", "trailers");
    request.uri(format!("http://{address}{path}")).body(empty()).unwrap()
}

/// Sends one request with a new client.
pub(crate) async fn get(http: Http, address: SocketAddr, path: &str) -> Seen {
    ask(&http.client(), request(Method::GET, address, path)).await
}

pub(crate) async fn ask(client: &Client<HttpConnector, Body>, request: Request<Body>) -> Seen {
    seen(client.request(request).await.unwrap()).await
}

/// Sends a request whose response breaks off. Returns `None` if the client only sees an error: hyper also drops the
/// headers if they were not sent yet.
pub(crate) async fn ask_in_vain(
    client: &Client<HttpConnector, Body>,
    request: Request<Body>,
) -> Option<Seen> {
    Some(seen(client.request(request).await.ok()?).await)
}

pub(crate) async fn seen(answer: Response<Incoming>) -> Seen {
    let (head, mut frames) = answer.into_parts();
    let (status, head) = (head.status, head.headers);
    let (body, trailers) = (Vec::new(), HeaderMap::new());
    let mut seen = Seen { status, head, body, trailers, error: None };
    while let Some(frame) = frames.frame().await {
        match frame.map(|frame| frame.into_data()) {
            Ok(Ok(data)) => seen.body.extend_from_slice(&data),
            Ok(Err(frame)) => seen.trailers = frame.into_trailers().unwrap(),
            Err(error) => {
                seen.error = Some(error);
                break;
            }
        }
    }
    seen
}

/// Returns the next data of a body.
pub(crate) async fn next<B: HttpBody<Data = Bytes> + Unpin>(body: &mut B) -> Bytes
where
    B::Error: std::fmt::Debug,
{
    body.frame().await.unwrap().unwrap().into_data().unwrap()
}

/// One end of a connection, read and written byte by byte. The other end is under test.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

impl Peer {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap() }
    }

    pub(crate) async fn accept(listener: &TcpListener) -> Self {
        Self { stream: listener.accept().await.unwrap().0 }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads until the bytes end with `end`.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            bytes.push(self.stream.read_u8().await.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    }

    /// Reads the headers of a request or a response.
    pub(crate) async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    /// Reads until the other end closes or breaks the connection.
    pub(crate) async fn rest(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = self.stream.read_to_end(&mut bytes).await;
        bytes
    }
}

/// Records the bytes that a server sends to its clients.
#[derive(Clone)]
pub(crate) struct Tap {
    pub(crate) address: SocketAddr,
    record: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tap = Self { address, record: Arc::default() };
        let record = Arc::clone(&tap.record);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&record)));
            }
        });
        tap
    }

    /// Returns all bytes recorded so far.
    pub(crate) fn record(&self) -> Vec<u8> {
        self.record.lock().unwrap().clone()
    }

    /// Returns the recorded bytes and clears the record.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.record.lock().unwrap())
    }
}

async fn relay(client: TcpStream, server: TcpStream, record: Arc<Mutex<Vec<u8>>>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let asking = async {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        let _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    let answering = async {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
            record.lock().unwrap().extend_from_slice(&buffer[..count]);
            if to_client.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = asking => {}
        () = answering => {}
    }
}
