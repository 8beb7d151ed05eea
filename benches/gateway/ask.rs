//! The client: starts processes, keeps connections open, and reads responses to the last byte.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::serve::Role;

/// A process of the bench, which is killed when this value is dropped.
pub(crate) struct Server {
    pub(crate) role: Role,
    pub(crate) address: SocketAddr,
    process: Process,
}

impl Server {
    pub(crate) fn start(role: Role, upstream: Option<&Self>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--serve", role.name()]);
        command.args(upstream.map(|upstream| upstream.address.to_string()));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse::<u16>().expect("the server prints its port");
        Self {
            role,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            process: Process(process),
        }
    }

    /// Returns the CPU seconds of its threads, or `None` if the system does not report them.
    pub(crate) fn ran(&self) -> Option<f64> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.0.id())).ok()?;
        threads
            .map(|thread| {
                let times = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
                times.split(' ').next()?.parse::<f64>().ok()
            })
            .sum::<Option<f64>>()
            .map(|nanoseconds| nanoseconds / 1e9)
    }

    /// Returns a field of `/proc/PID/status`, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// Processes of the lowest priority, one per core, that keep the cores from sleeping. Killed when this value is dropped.
pub(crate) fn awake() -> Vec<Process> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = |_| {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(std::env::current_exe().unwrap()).arg("--spin");
        Process(command.stdin(Stdio::piped()).spawn().expect("nice, of POSIX"))
    };
    (0..cores).map(one).collect()
}

/// Killed when this value is dropped.
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A persistent connection.
pub(crate) struct Connection(SendRequest<Empty<Bytes>>);

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self::over(stream, &http1::Builder::new()).await
    }

    /// Opens a connection whose kernel and client buffer little.
    pub(crate) async fn narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        let stream = socket.connect(address).await.unwrap();
        Self::over(stream, http1::Builder::new().max_buf_size(8 << 10)).await
    }

    async fn over(stream: TcpStream, builder: &http1::Builder) -> Self {
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    async fn ask(&mut self, path: &str) -> Response<Incoming> {
        self.0.ready().await.unwrap();
        let request = Request::get(path).header(header::HOST, "localhost").body(Empty::new());
        let answer = self.0.send_request(request.unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer
    }

    /// Returns the whole response.
    pub(crate) async fn answer(&mut self, path: &str) -> Bytes {
        self.ask(path).await.into_body().collect().await.unwrap().to_bytes()
    }

    /// Reads the response and returns its length.
    pub(crate) async fn length(&mut self, path: &str) -> usize {
        let mut body = self.ask(path).await.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame.unwrap().data_ref().map_or(0, Bytes::len);
        }
        length
    }

    /// Reads a response in `portions`, with a pause before each, and compares it. After the beginning it waits for the others.
    pub(crate) async fn slowly(
        &mut self,
        path: &str,
        expected: &[u8],
        portions: usize,
        pause: Duration,
        begun: &Barrier,
    ) {
        let mut body = self.ask(path).await.into_body();
        let portion = expected.len().div_ceil(portions);
        let (mut at, mut wanted) = (0, portion);
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            let same = expected.get(at..at + data.len()) == Some(&data[..]);
            assert!(same, "{path}: the bytes differ from {at}");
            if at == 0 {
                begun.wait().await;
            }
            at += data.len();
            while at >= wanted {
                wanted += portion;
                tokio::time::sleep(pause).await;
            }
        }
        assert_eq!(at, expected.len(), "{path}");
    }
}

/// Returns the seconds for each of `count` consecutive responses of `length` bytes.
pub(crate) async fn in_turn(
    connection: &mut Connection,
    path: &str,
    length: usize,
    count: usize,
) -> Vec<f64> {
    let mut seconds = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = Instant::now();
        assert_eq!(connection.length(path).await, length);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds
}

/// Returns the responses per second over several connections at once, and the seconds for each response.
pub(crate) async fn at_once(
    connections: &mut Vec<Connection>,
    path: &str,
    length: usize,
    count: usize,
) -> (f64, Vec<f64>) {
    let left = Arc::new(AtomicUsize::new(count));
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for mut connection in connections.drain(..) {
        let (left, path) = (Arc::clone(&left), path.to_owned());
        tasks.spawn(async move {
            let next = || {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            };
            let mut seconds = Vec::new();
            while next().is_ok() {
                seconds.extend(in_turn(&mut connection, &path, length, 1).await);
            }
            (connection, seconds)
        });
    }
    let ended = tasks.join_all().await;
    let rate = count as f64 / begin.elapsed().as_secs_f64();
    let mut all = Vec::with_capacity(count);
    for (connection, seconds) in ended {
        connections.push(connection);
        all.extend(seconds);
    }
    (rate, all)
}
