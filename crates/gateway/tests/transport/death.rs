//! The end of the client, the server and the proxy, in the middle of anything. Nothing may hang and nothing may stay.
//!
//! The processes inherit standard error, so the end of that stream means that all of them have ended.

use std::io::{BufRead, Read};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tamis_gateway::transport::child;

use crate::support::{PATIENCE, Proxy, request};

fn pid(value: &Value) -> Pid {
    Pid::from_raw(i32::try_from(value.as_i64().unwrap()).unwrap()).unwrap()
}

/// A sequence of numbers that is the same in every run.
fn sequence(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Waits until every process that has the standard error of the proxy has ended.
fn all_ended(mut proxy: Proxy) {
    let begin = Instant::now();
    drop(proxy.output);
    let mut errors = Vec::new();
    proxy.errors.read_to_end(&mut errors).unwrap();
    proxy.process.wait().unwrap();
    assert!(begin.elapsed() < PATIENCE);
}

#[test]
fn the_server_has_a_group_and_the_proxy_as_its_parent() {
    let mut proxy = Proxy::of_server(&[], &[]);
    let ids = proxy.call(1, "pids", Value::Null);
    assert_eq!(ids["pid"], ids["group"]);
    assert_eq!(ids["parent"], proxy.process.id());
}

#[test]
fn the_exit_code_is_that_of_the_server() {
    for code in [0, 7, 255] {
        let mut proxy = Proxy::of_server(&[], &[]);
        proxy.send(&json!({"method": "exit", "params": {"code": code}}));
        assert_eq!(proxy.rest().0, Some(code));
    }
}

#[test]
fn open_requests_are_responded_to_when_the_server_ends() {
    for (method, params, code, status) in
        [("exit", json!({"code": 7}), 7, "status 7"), ("kill", Value::Null, 137, "signal 9")]
    {
        let mut proxy = Proxy::of_server(&[], &[]);
        for id in 0..5 {
            proxy.send(&request(id, "never", Value::Null));
        }
        proxy.call(5, "echo", Value::Null);
        proxy.send(&json!({"method": method, "params": params}));
        for id in 0..5 {
            let response = proxy.receive();
            assert_eq!(response["id"], id);
            assert_eq!(response["error"]["code"], -32603);
            assert!(response["error"]["message"].as_str().unwrap().contains(status), "{response}");
        }
        let (exit, rest, _) = proxy.rest();
        assert_eq!((exit, rest.as_str()), (Some(code), ""));
    }
}

#[test]
fn a_server_that_ignores_everything_is_killed() {
    let mut proxy = Proxy::of_server(&[], &["--ignore-term", "--ignore-end"]);
    proxy.call(1, "echo", Value::Null);
    // Without the signal that kills it, the server would never end.
    let (code, ..) = proxy.close();
    assert_eq!(code, Some(0));
    // Clients wait for two seconds. The clock is not asked: it measures the machine, too.
    let given = child::CLOSE_GRACE + child::TERM_GRACE;
    assert!(given < Duration::from_secs(2), "{given:?}");
}

#[test]
fn signals_end_the_proxy_and_the_server() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut proxy = Proxy::of_server(&[], &["--ignore-term", "--ignore-end"]);
        proxy.call(1, "echo", Value::Null);
        proxy.signal(signal);
        // The input is open, so the signal is what ends it.
        let input = proxy.input.take();
        assert_eq!(proxy.rest().0, Some(code));
        drop(input);
    }
}

#[test]
fn a_killed_proxy_takes_the_server_with_it() {
    // The server ignores the end of its input: only the signal of the kernel ends it.
    let mut proxy = Proxy::of_server(&[], &["--ignore-end"]);
    proxy.call(1, "echo", Value::Null);
    proxy.signal(Signal::KILL);
    all_ended(proxy);
}

#[test]
fn a_process_that_keeps_the_output_open_is_ended_too() {
    let mut proxy = Proxy::of_server(&[], &[]);
    proxy.call(1, "child", Value::Null);
    proxy.send(&json!({"method": "exit", "params": {"code": 3}}));
    let (code, ..) = proxy.rest();
    assert_eq!(code, Some(3));
}

#[test]
fn a_client_that_closes_only_its_output_is_gone() {
    let mut proxy = Proxy::of_server(&[], &["--ignore-end"]);
    proxy.call(1, "echo", Value::Null);
    let input = proxy.input.take();
    let Proxy { output, mut errors, mut process, .. } = proxy;
    drop(output);
    // The next message does not reach anyone.
    let mut input = input.unwrap();
    let line = format!("{}\n", request(2, "big", json!({"bytes": 1_000_000})));
    std::io::Write::write_all(&mut input, line.as_bytes()).unwrap();
    errors.read_to_end(&mut Vec::new()).unwrap();
    assert!(process.wait().unwrap().code().is_some());
}

#[test]
fn a_server_that_is_killed_at_any_point_leaves_whole_messages() {
    for seed in 1..=12 {
        let mut random = sequence(seed);
        let mut proxy = Proxy::of_server(&[], &[]);
        let server = pid(&proxy.call(1, "pids", Value::Null)["pid"]);
        for id in 2..30 {
            proxy.send(&request(id, "big", json!({"bytes": random(400_000)})));
        }
        let mut part = vec![0; 1 + random(3_000_000) as usize];
        let count = read_up_to(&mut proxy.output, &mut part);
        kill_process(server, Signal::KILL).unwrap();
        let (code, rest, _) = proxy.rest();
        assert_eq!(code, Some(137), "{seed}");
        let mut output = String::from_utf8(part[..count].to_vec()).unwrap();
        output.push_str(&rest);
        // The message that the server had begun is missing, and every request has a response.
        let mut ids = Vec::new();
        for line in output.lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            ids.push(message["id"].as_u64().unwrap());
        }
        assert!(ids.into_iter().eq(2..30), "{seed}");
    }
}

fn read_up_to(input: &mut impl Read, into: &mut [u8]) -> usize {
    let mut count = 0;
    while count < into.len() {
        match input.read(&mut into[count..]).unwrap() {
            0 => break,
            more => count += more,
        }
    }
    count
}

#[test]
fn a_proxy_that_is_killed_at_any_point_leaves_no_server_and_no_part_that_parses() {
    for seed in 1..=12 {
        let mut random = sequence(seed);
        let mut proxy = Proxy::of_server(&[], &["--ignore-end"]);
        for id in 2..30 {
            proxy.send(&request(id, "big", json!({"bytes": random(400_000)})));
        }
        let mut part = vec![0; 1 + random(2_000_000) as usize];
        let count = read_up_to(&mut proxy.output, &mut part);
        proxy.signal(Signal::KILL);
        let mut output = part[..count].to_vec();
        proxy.output.read_to_end(&mut output).unwrap();
        let mut lines = output.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let parsed = serde_json::from_slice::<Value>(line);
            assert!(lines.peek().is_none() || parsed.is_ok());
        }
        all_ended(proxy);
    }
}

#[test]
fn a_client_that_is_killed_at_any_point_leaves_no_process() {
    for seed in 1..=12 {
        let mut random = sequence(seed);
        let mut proxy = Proxy::of_server(&[], &["--ignore-end", "--ignore-term"]);
        for id in 2..20 {
            proxy.send(&request(id, "big", json!({"bytes": random(200_000)})));
        }
        // The last message is cut off.
        let line = request(20, "echo", json!("x".repeat(1_000))).to_string();
        proxy.send_raw(&line.as_bytes()[..random(1_000) as usize]);
        let mut part = vec![0; 1 + random(1_000_000) as usize];
        read_up_to(&mut proxy.output, &mut part);
        // The system closes the pipes of a process that is killed.
        drop(proxy.input.take());
        all_ended(proxy);
    }
}

#[test]
fn a_client_that_does_not_read_does_not_keep_the_proxy() {
    let mut proxy = Proxy::of_server(&["--pass-through"], &[]);
    proxy.send(&request(1, "big", json!({"bytes": 20_000_000})));
    let mut first = String::new();
    // The message is on its way, and fills the pipe.
    assert_eq!(proxy.output.fill_buf().unwrap().first(), Some(&b'{'));
    proxy.signal(Signal::TERM);
    let input = proxy.input.take();
    let Proxy { output, mut errors, mut process, .. } = proxy;
    errors.read_to_string(&mut first).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(143));
    drop((input, output));
}
