//! Processes and connections for the tests. Everything that is started ends with its value.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// No test waits longer for anything. It is a safeguard: tests wait for events.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn script(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/transport", name].iter().collect()
}

/// The proxy as a process, with its standard streams.
pub(crate) struct Proxy {
    pub(crate) process: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
    pub(crate) errors: BufReader<ChildStderr>,
    /// Its results are kept there, unless the test says otherwise.
    _state: tempfile::TempDir,
}

impl Proxy {
    /// Starts `tamis-gateway mcp` with arguments.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, |_| {})
    }

    pub(crate) fn start_with(args: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis-gateway"));
        command.arg("mcp").args(args);
        // The files of whoever runs the tests do not count.
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        let state = tempfile::tempdir().unwrap();
        command.env("TAMIS_STATE_DIR", state.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let mut process = command.spawn().unwrap();
        Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            errors: BufReader::new(process.stderr.take().unwrap()),
            process,
            _state: state,
        }
    }

    /// Starts a proxy for `server.py`.
    pub(crate) fn of_server(flags: &[&str], server_flags: &[&str]) -> Self {
        Self::of_server_with(flags, server_flags, |_| {})
    }

    pub(crate) fn of_server_with(
        flags: &[&str],
        server_flags: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let script = script("server.py");
        let mut args = flags.to_vec();
        args.extend(["--", "python3", script.to_str().unwrap()]);
        args.extend(server_flags);
        Self::start_with(&args, change)
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.send_raw(line.as_bytes());
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Reads a message.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{line:?}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn call(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&request(id, method, params));
        let response = self.receive();
        assert_eq!(response["id"], id, "{response}");
        response["result"].clone()
    }

    /// Closes the input, reads the rest of the output and waits for the end.
    pub(crate) fn close(mut self) -> (Option<i32>, String, String) {
        drop(self.input.take());
        self.rest()
    }

    /// Reads the rest of the output and waits for the end.
    pub(crate) fn rest(mut self) -> (Option<i32>, String, String) {
        let mut errors = self.errors;
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).map(|_| text)
        });
        let mut output = String::new();
        self.output.read_to_string(&mut output).unwrap();
        let status: ExitStatus = self.process.wait().unwrap();
        (status.code(), output, errors.join().unwrap().unwrap())
    }

    /// Returns the address that the proxy printed.
    pub(crate) fn address(&mut self, before: &str) -> SocketAddr {
        loop {
            let mut line = String::new();
            assert!(self.errors.read_line(&mut line).unwrap() > 0, "no line with {before:?}");
            if let Some(rest) = line.trim().strip_prefix(before) {
                let end = rest.find('/').unwrap_or(rest.len());
                return rest[..end].parse().unwrap();
            }
        }
    }

    /// Returns the largest memory that the process has had, in MiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, signal).unwrap();
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// `http_server.py`.
pub(crate) struct HttpServer {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl HttpServer {
    pub(crate) fn start() -> Self {
        let mut process = Command::new("python3")
            .arg(script("http_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { process, address: format!("127.0.0.1:{}", line.trim()).parse().unwrap() }
    }

    /// Starts a proxy for this server and returns it with its address.
    pub(crate) fn proxy(&self, flags: &[&str]) -> (Proxy, SocketAddr) {
        let url = format!("http://{}/server/mcp?key=1", self.address);
        let mut args = vec!["--upstream", &url, "--listen", "127.0.0.1:0"];
        args.extend(flags);
        let mut proxy = Proxy::start(&args);
        let address = proxy.address("tamis: listening at http://");
        (proxy, address)
    }

    fn control(&self, request: &Value) -> Value {
        let body = request.to_string();
        let mut response = send(self.address, "POST", "/control", &[], body.as_bytes());
        serde_json::from_slice(&response.body()).unwrap()
    }

    /// Lets the server send its next event.
    pub(crate) fn step(&self) {
        self.control(&json!({"step": true}));
    }

    /// Waits until clients have disconnected during a response.
    pub(crate) fn wait_for_disconnects(&self, count: u64) {
        let reached = self.control(&json!({"wait": "disconnected", "count": count}));
        assert_eq!(reached["reached"], true);
    }

    /// Returns the methods and paths of the requests.
    pub(crate) fn seen(&self) -> Value {
        self.control(&json!({}))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Ends the proxy with the test, so that a failed test leaves nothing behind.
impl Drop for KillOnDrop {
    fn drop(&mut self) {
        _ = self.0.process.kill();
        _ = self.0.process.wait();
    }
}

/// A proxy that is killed at the end.
pub(crate) struct KillOnDrop(pub(crate) Proxy);

/// A response whose body is still to be read.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    input: BufReader<TcpStream>,
}

/// Sends a request on a new connection and reads the headers of the response.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> HttpResponse {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses the request may close the connection before all of it is sent.
    _ = stream.write_all(body);
    HttpResponse::read(stream)
}

impl HttpResponse {
    fn read(stream: TcpStream) -> Self {
        let mut input = BufReader::new(stream);
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), String::from(value.trim()));
        }
        Self { status, headers, input }
    }

    fn is_chunked(&self) -> bool {
        self.headers.get("transfer-encoding").is_some_and(|value| value == "chunked")
    }

    /// Reads the next piece of the body; `Err` if the connection broke in it, empty at the end.
    pub(crate) fn piece(&mut self) -> Result<Vec<u8>, std::io::Error> {
        assert!(self.is_chunked());
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)
            .map_err(|_| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
        let mut piece = vec![0; size + 2];
        self.input.read_exact(&mut piece)?;
        piece.truncate(size);
        Ok(piece)
    }

    /// Reads the whole body.
    pub(crate) fn try_body(&mut self) -> Result<Vec<u8>, std::io::Error> {
        let mut body = Vec::new();
        if let Some(length) = self.headers.get("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.input.read_exact(&mut body)?;
        } else if self.is_chunked() {
            loop {
                let piece = self.piece()?;
                if piece.is_empty() {
                    break;
                }
                body.extend_from_slice(&piece);
            }
        }
        Ok(body)
    }

    pub(crate) fn body(&mut self) -> Vec<u8> {
        self.try_body().unwrap()
    }

    pub(crate) fn json(&mut self) -> Value {
        serde_json::from_slice(&self.body()).unwrap()
    }

    pub(crate) fn text(&mut self) -> String {
        String::from_utf8(self.body()).unwrap()
    }

    /// Reads and counts the bytes of a body of known length.
    pub(crate) fn count(&mut self) -> u64 {
        let length: u64 = self.headers["content-length"].parse().unwrap();
        std::io::copy(&mut (&mut self.input).take(length), &mut std::io::sink()).unwrap()
    }
}

/// POSTs a message to the proxy.
pub(crate) fn post(address: SocketAddr, headers: &[(&str, &str)], message: &Value) -> HttpResponse {
    let body = message.to_string();
    let mut all = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    all.extend(headers);
    send(address, "POST", "/mcp", &all, body.as_bytes())
}
