//! The servers of the bench: an upstream and the proxies before it, each a process with one thread.
//!
//! Proxies differ only in what they do with the response. The code does not depend on how it is measured.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::{Request, Response, Uri, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use serde_json::{Map, Value};
use tamis::http::{FilterLayer, Transform};
use tamis::spec::Validation;
use tamis::{Program, Spec};
use tokio::net::TcpListener;
use tower::{Layer, Service, ServiceBuilder, service_fn};

use crate::data::Shape;
use crate::data::specs::SELECT_REPOSITORIES;

type Failure = Box<dyn Error + Send + Sync>;

/// The role of a process of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Upstream,
    /// Forwards the response unchanged.
    PassThrough,
    /// Selects 11 of 80 members of each item with tamis, with full validation.
    Select,
    /// Selects the same members with structural validation of dropped values.
    Structure,
    /// Selects the same members with a usual middleware: collect, parse, pick, write.
    Value,
    /// Excludes 9 members of each item with tamis.
    Exclude,
}

impl Role {
    const ALL: [Self; 6] = [
        Self::Upstream,
        Self::PassThrough,
        Self::Select,
        Self::Structure,
        Self::Value,
        Self::Exclude,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Upstream => "direct",
            Self::PassThrough => "pass-through",
            Self::Select => "tamis",
            Self::Structure => "tamis structure",
            Self::Value => "serde_json Value",
            Self::Exclude => "tamis exclude",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Returns the spec for tamis.
    pub(crate) fn program(self) -> Option<Program> {
        let spec = match self {
            Self::Upstream | Self::PassThrough | Self::Value => return None,
            Self::Select => SELECT_REPOSITORIES.spec(),
            Self::Structure => SELECT_REPOSITORIES.spec().validation(Validation::Structure),
            Self::Exclude => DROPPED.into_iter().fold(Spec::new().root("object"), Spec::exclude),
        };
        Some(Program::compile(&spec).unwrap())
    }
}

const DROPPED: [&str; 9] = [
    "node_id",
    "owner",
    "forks_url",
    "keys_url",
    "teams_url",
    "hooks_url",
    "license",
    "topics",
    "permissions",
];

/// Serves until the process that started it ends. Prints its port on the first line of the output.
pub(crate) fn serve(role: Role, upstream: Option<SocketAddr>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (gone, left) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(gone);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        std::io::stdout().flush().unwrap();
        let answers = async {
            match upstream {
                None => accept(listener, service_fn(answer(Arc::default()))).await,
                Some(upstream) => proxy(role, upstream, listener).await,
            }
        };
        tokio::select! {
            () = answers => {}
            _ = left => {}
        }
    });
}

/// Spins until the process that started it ends.
pub(crate) fn spin() {
    let left = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    while !left.is_finished() {
        std::hint::spin_loop();
    }
}

async fn proxy(role: Role, upstream: SocketAddr, listener: TcpListener) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Empty<Bytes>> =
        Client::builder(TokioExecutor::new()).http1_max_buf_size(BUFFER).build(connector);
    let forward = service_fn(move |request: Request<Incoming>| {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri = format!("http://{upstream}{path}").parse().unwrap();
        let mut forwarded = Request::new(Empty::new());
        *forwarded.uri_mut() = uri;
        let answer = client.request(forwarded);
        async move { Ok::<_, Failure>(answer.await?) }
    });
    match (role, role.program()) {
        (_, Some(program)) => {
            let layer = FilterLayer::new(move |_, answer| {
                let media_type = answer.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
                Transform::for_media_type(media_type, &program)
            });
            accept(listener, layer.layer(forward)).await;
        }
        (Role::Value, None) => {
            let service = ServiceBuilder::new().and_then(picked).service(forward);
            accept(listener, service).await;
        }
        (_, None) => accept(listener, forward).await,
    }
}

/// The size of hyper's buffers of a connection, in each direction. The default of 400 KiB exceeds the limit per
/// connection.
const BUFFER: usize = 32 << 10;

async fn accept<S, B>(listener: TcpListener, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Failure> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Failure>,
{
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service = TowerToHyperService::new(service.clone());
        let connection = http1::Builder::new()
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that disconnects is not a failure.
            _ = connection.await;
        });
    }
}

/// The usual middleware: collects and parses the body, picks the wanted members and writes them.
async fn picked(answer: Response<Incoming>) -> Result<Response<Full<Bytes>>, Failure> {
    let (mut head, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    let value: Value = serde_json::from_slice(&body)?;
    let picked = match value {
        Value::Array(items) => Value::Array(items.into_iter().map(pick).collect()),
        other => pick(other),
    };
    let body = serde_json::to_vec(&picked)?;
    head.headers.insert(header::CONTENT_LENGTH, body.len().into());
    Ok(Response::from_parts(head, Full::from(body)))
}

/// Moves the wanted members out of the item.
fn pick(mut item: Value) -> Value {
    let fields = SELECT_REPOSITORIES.fields;
    let mut picked = Map::with_capacity(fields.len());
    for field in fields {
        let found = field.path.iter().try_fold(&mut item, |value, name| value.get_mut(*name));
        if let Some(found) = found {
            picked.insert(field.key.to_owned(), found.take());
        }
    }
    Value::Object(picked)
}

/// Documents by size, each generated once.
type Documents = Arc<Mutex<HashMap<usize, Bytes>>>;

type Answered = Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible>;

/// `/BYTES` is a document, with its length; `/BYTES/CHUNK/MILLISECONDS` is one in chunks, with a pause before each.
fn answer(documents: Documents) -> impl FnMut(Request<Incoming>) -> Ready<Answered> + Clone {
    move |request: Request<Incoming>| {
        let numbers =
            request.uri().path().split('/').skip(1).map(|number| number.parse::<usize>().unwrap());
        let numbers: Vec<usize> = numbers.collect();
        let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
        let document = documents
            .entry(numbers[0])
            .or_insert_with(|| Bytes::from(Shape::Repositories.document(numbers[0])))
            .clone();
        let body = match numbers[..] {
            [_, chunk, pause] => {
                slowly(document, chunk, Duration::from_millis(pause as u64)).boxed_unsync()
            }
            _ => Full::new(document).boxed_unsync(),
        };
        let answer = Response::builder().header(header::CONTENT_TYPE, "application/json");
        ready(Ok(answer.body(body).unwrap()))
    }
}

fn slowly(
    document: Bytes,
    chunk: usize,
    pause: Duration,
) -> impl Body<Data = Bytes, Error = Infallible> {
    let (chunks, body) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut left = document;
        while !left.is_empty() {
            tokio::time::sleep(pause).await;
            let next = left.split_to(left.len().min(chunk));
            if chunks.send(Ok(Frame::data(next))).await.is_err() {
                return;
            }
        }
    });
    StreamBody::new(tokio_stream::wrappers::ReceiverStream::new(body))
}
