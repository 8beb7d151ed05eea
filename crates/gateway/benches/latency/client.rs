//! The client: starts what it talks to, calls tools, and reads each response to its last byte.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::upstream::Tool;
use crate::variant::{Place, Transport, Variant};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Returns a request that calls a tool.
pub(crate) fn request(id: u64, tool: Tool) -> String {
    let name = tool.name();
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\"arguments\":{{}}}}}}"
    )
}

/// A process of the bench, which is killed when this value is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts the upstream server over HTTP. Returns it with its address.
    pub(crate) fn upstream(place: &Place) -> (Self, SocketAddr) {
        let mut command = place.command(std::env::current_exe().unwrap());
        command.args(["--serve", "http"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port = port.trim().parse::<u16>().expect("the server prints its port");
        (Self(child), SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Starts a proxy over HTTP. Returns it with its address.
    pub(crate) fn proxy(
        variant: &Variant,
        upstream: SocketAddr,
        place: &Place,
    ) -> (Self, SocketAddr) {
        let url = format!("http://{upstream}/mcp");
        let mut command = match variant {
            Variant::FastMcp(python) => {
                let mut command = place.command(python);
                command.args([MIDDLEWARE, "http", &url]);
                command
            }
            _ => {
                let mut command = place.command(env!("CARGO_BIN_EXE_tamis-gateway"));
                command.arg("mcp").args(variant.flags(place));
                command.args(["--log", "/dev/null", "--upstream", &url, "--listen", "127.0.0.1:0"]);
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the proxy ended");
            if let Some((_, address)) = line.split_once("listening at http://") {
                break address.trim().trim_end_matches("/mcp").parse().expect("an address");
            }
        };
        // Nothing may fill the pipe.
        thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        (Self(child), address)
    }

    /// Returns the CPU seconds of the threads, or `None` if the system does not report them.
    fn ran(&self) -> Option<f64> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).ok()?;
        let seconds = |thread: io::Result<std::fs::DirEntry>| {
            let times = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            Some(times.split(' ').next()?.parse::<f64>().ok()? / 1e9)
        };
        threads.map(seconds).sum()
    }

    /// Returns a field of `/proc/PID/status`, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// The script of the middleware, which takes a transport and the upstream.
const MIDDLEWARE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/fastmcp_select.py");

/// A client that is connected to the server, through a proxy or not.
pub(crate) struct Client {
    pub(crate) variant: Variant,
    connection: Connection,
    /// The proxy, or the server if there is no proxy.
    process: Process,
    _upstream: Option<Process>,
    id: u64,
}

enum Connection {
    Stdio { input: ChildStdin, output: BufReader<ChildStdout>, line: Vec<u8> },
    Http(Vec<HttpConnection>),
}

impl Client {
    /// Starts a server and what is before it, and begins a session.
    pub(crate) fn start(variant: Variant, transport: Transport, place: &Place) -> Self {
        match transport {
            Transport::Stdio => Self::over_stdio(variant, place),
            Transport::Http => {
                let (upstream, address) = Process::upstream(place);
                if variant == Variant::Direct {
                    let connection = Connection::Http(vec![HttpConnection::open(address)]);
                    return Self { variant, connection, process: upstream, _upstream: None, id: 0 };
                }
                let (process, address) = Process::proxy(&variant, address, place);
                let connection = Connection::Http(vec![HttpConnection::open(address)]);
                Self { variant, connection, process, _upstream: Some(upstream), id: 0 }
            }
        }
    }

    fn over_stdio(variant: Variant, place: &Place) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = match &variant {
            Variant::Direct => place.command(&own),
            Variant::FastMcp(python) => {
                let mut command = place.command(python);
                command.args([MIDDLEWARE, "stdio"]).arg(&own);
                command
            }
            _ => {
                let mut command = place.command(env!("CARGO_BIN_EXE_tamis-gateway"));
                command.arg("mcp").args(variant.flags(place));
                command.args(["--log", "/dev/null", "--"]).arg(&own);
                command
            }
        };
        command.args(["--serve", "stdio"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::with_capacity(64 << 10, child.stdout.take().unwrap());
        let connection = Connection::Stdio { input, output, line: Vec::new() };
        let mut client =
            Self { variant, connection, process: Process(child), _upstream: None, id: 0 };
        client.exchange(INITIALIZE);
        if let Connection::Stdio { input, .. } = &mut client.connection {
            input.write_all(format!("{INITIALIZED}\n").as_bytes()).unwrap();
        }
        client
    }

    /// Calls a tool. Returns the response.
    pub(crate) fn call(&mut self, tool: Tool) -> &[u8] {
        self.id += 1;
        self.exchange(&request(self.id, tool))
    }

    fn exchange(&mut self, message: &str) -> &[u8] {
        match &mut self.connection {
            Connection::Stdio { input, output, line } => {
                input.write_all(format!("{message}\n").as_bytes()).unwrap();
                line.clear();
                output.read_until(b'\n', line).unwrap();
                line
            }
            Connection::Http(connections) => connections[0].post(message),
        }
    }

    /// Opens connections until there are `count`, if the transport has connections.
    pub(crate) fn widen(&mut self, count: usize) {
        if let Connection::Http(connections) = &mut self.connection {
            while connections.len() < count {
                connections.push(HttpConnection::open(connections[0].address));
            }
        }
    }

    /// Calls a tool `calls` times, with at most `open` calls without a response.
    pub(crate) fn at_once(&mut self, tool: Tool, calls: usize, open: usize) {
        let first = self.id + 1;
        self.id += calls as u64;
        match &mut self.connection {
            Connection::Stdio { input, output, line } => {
                let (permit, permits) = sync_channel::<()>(open);
                thread::scope(|scope| {
                    scope.spawn(move || {
                        for id in first..first + calls as u64 {
                            permit.send(()).unwrap();
                            input.write_all(format!("{}\n", request(id, tool)).as_bytes()).unwrap();
                        }
                    });
                    for _ in 0..calls {
                        line.clear();
                        assert!(output.read_until(b'\n', line).unwrap() > 0, "a response");
                        permits.recv().unwrap();
                    }
                });
            }
            Connection::Http(connections) => thread::scope(|scope| {
                let each = calls / connections.len();
                for connection in connections {
                    scope.spawn(move || {
                        for id in 0..each as u64 {
                            connection.post(&request(first + id, tool));
                        }
                    });
                }
            }),
        }
    }

    /// Returns the CPU seconds that the proxy took so far.
    pub(crate) fn ran(&self) -> Option<f64> {
        self.process.ran()
    }
}

/// A persistent connection with a session.
pub(crate) struct HttpConnection {
    pub(crate) address: SocketAddr,
    stream: BufReader<TcpStream>,
    session: String,
    body: Vec<u8>,
}

impl HttpConnection {
    /// Connects and begins a session.
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let stream = BufReader::with_capacity(64 << 10, stream);
        let mut connection = Self { address, stream, session: String::new(), body: Vec::new() };
        connection.post(INITIALIZE);
        connection.post(INITIALIZED);
        connection
    }

    /// Sends a message. Returns the body of the response.
    pub(crate) fn post(&mut self, message: &str) -> &[u8] {
        let Self { address, session, .. } = self;
        let length = message.len();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n{session}content-length: {length}\r\n\r\n{message}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.read_response();
        &self.body
    }

    fn read_response(&mut self) {
        let (mut length, mut chunked, mut events) = (0, false, false);
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 20"), "{line}");
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "transfer-encoding" => chunked = value.contains("chunked"),
                "content-type" => events = value.contains("event-stream"),
                "mcp-session-id" => self.session = format!("{name}: {}\r\n", value.trim()),
                _ => {}
            }
        }
        self.body.clear();
        if chunked {
            loop {
                line.clear();
                self.stream.read_line(&mut line).unwrap();
                let size = u64::from_str_radix(line.trim(), 16).expect("the size of a chunk");
                (&mut self.stream).take(size).read_to_end(&mut self.body).unwrap();
                self.stream.read_line(&mut line).unwrap();
                if size == 0 {
                    break;
                }
            }
        } else {
            self.body.resize(length, 0);
            self.stream.read_exact(&mut self.body).unwrap();
        }
        if events {
            // The middleware sends its response as one event.
            let text = String::from_utf8_lossy(&self.body);
            let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            let last = data.rfind(|data| !data.is_empty()).unwrap_or_default();
            self.body = last.into();
        }
    }
}
