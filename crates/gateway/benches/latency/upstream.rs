//! The upstream server: an MCP server that returns prepared results, over standard input and output and over HTTP.
//!
//! It knows only the messages that the bench and the SDK of fastmcp send, and finds their members by their characters.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tamis_testkit::data::Shape;

/// The tools of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Returns repositories as JSON in a text block, about 100 KB.
    Long,
    /// Returns one short text.
    Short,
}

impl Tool {
    /// Returns the name of the tool.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Long => "repositories",
            Self::Short => "ping",
        }
    }

    /// Returns the text of the result.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Long => String::from_utf8(Shape::Repositories.document(100_000)).unwrap(),
            Self::Short => String::from("pong"),
        }
    }

    /// Returns the result with its text in a string.
    pub(crate) fn result(self) -> String {
        let text = serde_json::to_string(&self.text()).unwrap();
        format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":false}}")
    }
}

const TOOLS: &str = r#"{"tools":[{"name":"repositories","description":"Lists repositories.","inputSchema":{"type":"object"}},{"name":"ping","description":"Returns a short text.","inputSchema":{"type":"object"}}]}"#;

/// Prepared results.
struct Results {
    long: String,
    short: String,
}

impl Results {
    fn new() -> Self {
        Self { long: Tool::Long.result(), short: Tool::Short.result() }
    }

    /// Returns the response to a message, or `None` for a notification.
    fn respond(&self, message: &[u8]) -> Option<Vec<u8>> {
        let text = String::from_utf8_lossy(message);
        let id = id(&text)?;
        let result = match member(&text, "method").unwrap_or_default() {
            "tools/call" if text.contains("repositories") => &self.long,
            "tools/call" | "ping" => &self.short,
            "tools/list" => TOOLS,
            "initialize" => {
                let version = member(&text, "protocolVersion").unwrap_or("2025-06-18");
                &format!(
                    "{{\"protocolVersion\":\"{version}\",\"capabilities\":{{\"tools\":{{}}}},\"serverInfo\":{{\"name\":\"bench\",\"version\":\"1\"}}}}"
                )
            }
            _ => {
                let error = r#"{"code":-32601,"message":"unknown method"}"#;
                return Some(
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").into(),
                );
            }
        };
        Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into())
    }
}

/// Returns the text after `"name":`, without white space.
fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("\"{name}\"");
    let at = text.find(&key)?;
    Some(text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start())
}

/// Returns the characters of a string member.
fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    after(text, name)?.strip_prefix('"')?.split('"').next()
}

/// Returns the text of the id.
fn id(text: &str) -> Option<&str> {
    let text = after(text, "id")?;
    let end = match text.strip_prefix('"') {
        Some(content) => content.find('"')? + 2,
        None => text.find([',', '}'])?,
    };
    Some(&text[..end])
}

/// Serves until the input ends. Over HTTP, the port is printed first.
pub(crate) fn serve(transport: &str) {
    let results = Arc::new(Results::new());
    if transport == "stdio" {
        let mut input = BufReader::with_capacity(64 << 10, io::stdin());
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).unwrap() > 0 {
            if let Some(mut response) = results.respond(&line) {
                response.push(b'\n');
                if io::stdout().lock().write_all(&response).is_err() {
                    return;
                }
            }
            line.clear();
        }
        return;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let sessions = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let (results, sessions) = (Arc::clone(&results), Arc::clone(&sessions));
            // The end of a connection is of no interest.
            let serve = move || _ = connection(&stream, &results, &sessions);
            thread::Builder::new().stack_size(64 << 10).spawn(serve).unwrap();
        }
    });
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Responds to the requests of a connection.
fn connection(stream: &TcpStream, results: &Results, sessions: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut output) = (BufReader::new(stream), stream);
    while let Some(request) = read_request(&mut input)? {
        let response = match request.method.as_str() {
            "POST" => results.respond(&request.body),
            "DELETE" => None,
            _ => {
                output
                    .write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")?;
                continue;
            }
        };
        let Some(body) = response else {
            output.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        };
        let mut head = String::from("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
        if String::from_utf8_lossy(&request.body).contains("\"initialize\"") {
            let number = sessions.fetch_add(1, Ordering::Relaxed);
            head.push_str(&format!("mcp-session-id: session-{number}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        output.write_all(&[head.as_bytes(), &body].concat())?;
    }
    Ok(())
}

struct Request {
    method: String,
    body: Vec<u8>,
}

fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        input.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(Request { method, body }))
}
