//! Facts about a message that only the transport knows, such as its headers.

use tamis_store::Scope;

/// The exchange that a message belongs to.
///
/// On standard input and output there is one for the whole connection. Over HTTP there is one for each request of the
/// client, which is kept until its response has ended: [`Session::from_client`](crate::Session::from_client) notes in
/// it which request the body carried.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(crate) scope: Scope,
    pub(crate) is_http: bool,
    pub(crate) has_session_id: bool,
    pub(crate) is_event_stream: bool,
    pub(crate) method_header: Option<String>,
    pub(crate) name_header: Option<String>,
    pub(crate) version_header: Option<String>,
    /// The raw ids of the requests that the body carried.
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) is_modern: bool,
    /// The id of the request whose job may respond to it instead of sending it.
    pub(crate) checked: Option<Vec<u8>>,
}

impl Exchange {
    /// Returns the exchange of a connection over standard input and output.
    #[must_use]
    pub fn stdio() -> Self {
        Self {
            scope: Scope::process(),
            is_http: false,
            has_session_id: false,
            is_event_stream: false,
            method_header: None,
            name_header: None,
            version_header: None,
            requests: Vec::new(),
            is_modern: false,
            checked: None,
        }
    }

    /// Returns the exchange of one HTTP request without credentials.
    #[must_use]
    pub fn http() -> Self {
        Self { is_http: true, scope: Scope::authorization(None), ..Self::stdio() }
    }

    /// Sets the scope in which results are stored and read.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets whether the HTTP request names a session (`Mcp-Session-Id`), as legacy clients do.
    #[must_use]
    pub fn with_session_id(mut self, yes: bool) -> Self {
        self.has_session_id = yes;
        self
    }

    /// Sets the unchanged value of the header `Mcp-Method`.
    #[must_use]
    pub fn with_method_header(mut self, value: Option<&str>) -> Self {
        self.method_header = value.map(str::to_owned);
        self
    }

    /// Sets the unchanged value of the header `Mcp-Name`.
    #[must_use]
    pub fn with_name_header(mut self, value: Option<&str>) -> Self {
        self.name_header = value.map(str::to_owned);
        self
    }

    /// Sets the unchanged value of the header `MCP-Protocol-Version`.
    #[must_use]
    pub fn with_version_header(mut self, value: Option<&str>) -> Self {
        self.version_header = value.map(str::to_owned);
        self
    }

    /// Sets whether the messages of the server are events of a stream, which clients limit in size, rather than one
    /// JSON body.
    #[must_use]
    pub fn with_event_stream(mut self, yes: bool) -> Self {
        self.is_event_stream = yes;
        self
    }

    /// Returns whether the request that the exchange carried is one of 2026-07-28 or later.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Returns the JSON text of the id of the request that the exchange carried, the first one of a batch.
    #[must_use]
    pub fn request_id(&self) -> Option<&[u8]> {
        self.requests.first().map(Vec::as_slice)
    }

    /// Returns whether clients limit the size of one message from the server.
    pub(crate) fn limits_output(&self) -> bool {
        !self.is_http || self.is_event_stream
    }
}
