//! The HTTP client for the object store: the one of the proxy, so that no second one is compiled.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// Makes clients for the object store.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    client: ObjectClient,
}

/// Certificates are loaded only if the URL needs them, since that takes time.
#[derive(Clone, Debug)]
enum ObjectClient {
    Plain(Client<TcpConnector, HttpRequestBody>),
    Tls(Client<HttpsConnector<TcpConnector>, HttpRequestBody>),
}

impl Connector {
    /// Creates a client. `plain` is for addresses that begin with `http:`.
    ///
    /// # Errors
    /// The certificates of the system cannot be read.
    pub(super) fn new(plain: bool) -> io::Result<Self> {
        let mut tcp = TcpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        if plain {
            return Ok(Self { client: ObjectClient::Plain(builder.build(tcp)) });
        }
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_native_roots()?;
        // Credentials of instances come from an address without TLS.
        let tls = tls.https_or_http().enable_http1().wrap_connector(tcp);
        Ok(Self { client: ObjectClient::Tls(builder.build(tls)) })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.client.clone()))
    }
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for ObjectClient {
    fn call<'service, 'call>(&'service self, request: HttpRequest) -> Calling<'call>
    where
        'service: 'call,
        Self: 'call,
    {
        Box::pin(async move {
            let response = match self {
                Self::Plain(client) => client.request(request).await,
                Self::Tls(client) => client.request(request).await,
            };
            let response = response.map_err(|error| {
                let kind = if error.is_connect() {
                    HttpErrorKind::Connect
                } else {
                    HttpErrorKind::Request
                };
                HttpError::new(kind, error)
            })?;
            Ok(response.map(|body| {
                HttpResponseBody::new(
                    body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)),
                )
            }))
        })
    }
}
