//! Compares pruning a chat history with the same changes made to serde_json's `Value`, alternating in one run.
//!
//! ```sh
//! cargo bench --bench history                       # 10 MB
//! cargo bench --bench history -- --size 200m --rounds 5
//! cargo bench --bench history -- --test             # once, on a small history, to check the results
//! ```
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]
#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use serde_json::{Value, json};
use tamis::{FailedRun, WriteSink};
use tamis_chat::{PruneFilter, PruneProgram, PruneSpec, prune_file, prune_slice};

const NOW: u64 = 1_700_000_000_000;
const PLACEHOLDER: &str = "<tool-output-compacted />";
/// The minimum speed of the slice, as a multiple of the speed of `Value`.
const FLOOR: f64 = 3.0;

/// Lines of tool results: code and logs with characters that must be escaped.
const LINES: [&str; 6] = [
    r"    let harbour = lantern.quartz(&meadow)?;\n",
    r#"src/signal.rs:118:    println!(\"{copper} {willow}\");\n"#,
    r"drwxr-xr-x 2 ember ember 4096 Nov 21 18:21 drift\n",
    r#"{\"summit\": 12, \"cobalt\": [1, 2, 3]}\n"#,
    r"error[E0308]: mismatched types\n  --> orchid/falcon.rs:7:3\n",
    r"\u001b[32mok\u001b[0m prairie tundra – velvet …\n",
];

/// Makes a request in the format of Chat Completions. Each turn has six calls with results of 1 to 8 KB.
fn history(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + (64 << 10));
    text += r#"{"model":"m","messages":[{"role":"system","content":"You are careful."}"#;
    let mut calls = 0_usize;
    while text.len() < bytes {
        text += r#",{"role":"user","content":"What about the next file, then?"}"#;
        for _ in 0..6 {
            let name = ["read_file", "grep", "bash", "skill"][calls % 4];
            write!(
                text,
                r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{calls}","type":"function","function":{{"name":"{name}","arguments":"{{\"path\":\"src/{calls}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{calls}","content":""#
            )
            .unwrap();
            let end = text.len() + 1024 + calls.wrapping_mul(2_654_435_761) % (7 << 10);
            for line in (calls..).map(|number| LINES[number % LINES.len()]) {
                text += line;
                if text.len() > end {
                    break;
                }
            }
            text += "\"}";
            calls += 1;
        }
    }
    text += r#",{"role":"user","content":"And now?"},{"role":"user","content":"Well?"}],"temperature":0}"#;
    text
}

/// Makes the same changes with `Value`, for this shape.
fn with_value(history: &[u8]) -> Vec<u8> {
    let mut request: Value = serde_json::from_slice(history).unwrap();
    let messages = request["messages"].as_array_mut().unwrap();
    let is_user = |message: &Value| message["role"] == "user";
    let turns = messages.iter().enumerate().rev().filter(|(_, message)| is_user(message));
    let boundary = turns.map(|(at, _)| at).nth(1).unwrap_or(0);
    let mut names = HashMap::new();
    for message in &mut messages[..boundary] {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            names.insert(id, call["function"]["name"].as_str().unwrap().to_owned());
        }
        if message["role"] == "tool"
            && names.get(message["tool_call_id"].as_str().unwrap()).map(String::as_str)
                != Some("skill")
        {
            message["content"] = json!(PLACEHOLDER);
        }
    }
    serde_json::to_vec(&request).unwrap()
}

fn main() {
    let (mut size, mut rounds, mut test) = (10_000_000, 11, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--test" => test = true,
            "--size" => {
                size = match arguments.next().as_deref() {
                    Some("10m") => 10_000_000,
                    Some("200m") => 200_000_000,
                    other => panic!("--size is 10m or 200m, not {other:?}"),
                }
            }
            "--rounds" => rounds = arguments.next().unwrap().parse().unwrap(),
            other => panic!("{other}? --size, --rounds, --test"),
        }
    }
    if test {
        (size, rounds) = (124_000, 1);
    }
    let text = history(size);
    let history = text.as_bytes();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(history).unwrap();
    let program = PruneProgram::compile(&PruneSpec::new().now(NOW)).unwrap();

    let (pruned, report) = prune_slice(&program, history).unwrap();
    assert!(report.results_pruned > 10 && pruned.len() < history.len() / 2);
    let values = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
    assert!(values(&with_value(history)) == values(&pruned), "both change the same values");

    let from_file = || {
        use std::io::Seek;
        let mut file = file.try_clone().unwrap();
        file.rewind().unwrap();
        let (report, result) = FailedRun::split(prune_file(&program, file, std::io::sink()));
        result.unwrap();
        assert_eq!(report.bytes - u64::try_from(report.bytes_saved).unwrap(), pruned.len() as u64);
    };
    let from_pipe = || {
        let mut run = PruneFilter::new(&program, WriteSink::new(std::io::sink()));
        history.chunks(64 << 10).for_each(|chunk| run.write(chunk).unwrap());
        black_box(run.end().unwrap());
    };
    let jobs: [(&str, &dyn Fn()); 4] = [
        ("tamis, slice", &|| drop(black_box(prune_slice(&program, history).unwrap()))),
        ("tamis, file", &from_file),
        ("tamis, pipe, 64 KiB", &from_pipe),
        ("serde_json Value", &|| drop(black_box(with_value(history)))),
    ];
    let mut times = vec![Vec::new(); jobs.len()];
    for _ in 0..rounds {
        for ((_, job), times) in jobs.iter().zip(&mut times) {
            let begin = Instant::now();
            job();
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    println!("{} bytes in, {} out, {rounds} rounds", history.len(), pruned.len());
    println!("| job | GB/s | × Value | MiB on the heap |\n|---|---|---|---|");
    for ((name, job), own) in jobs.iter().zip(&times) {
        let ratios: Vec<f64> =
            own.iter().zip(&times[jobs.len() - 1]).map(|(own, value)| value / own).collect();
        let heap = allocation_counter::measure(job).bytes_max as f64 / f64::from(1 << 20);
        let rate = history.len() as f64 / median(own) / 1e9;
        println!("| {name} | {rate:.2} | {:.1} | {heap:.1} |", median(&ratios));
    }
    let ratios: Vec<f64> = times[0].iter().zip(&times[3]).map(|(own, value)| value / own).collect();
    let reached = if median(&ratios) >= FLOOR { "reached" } else { "missed" };
    println!("floor of {FLOOR} × Value, slice: {reached}");
    // The memory for a file does not depend on its size.
    let heap = allocation_counter::measure(from_file).bytes_max;
    assert!(heap < 6 << 20, "{heap} bytes on the heap");
}
