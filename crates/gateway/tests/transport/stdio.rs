//! A client and a server on standard input and output.

use std::io::Write;

use serde_json::{Value, json};

use tamis_store::{Scope, Store, StoreConfig, Window};

use crate::support::{Proxy, request};

const OFF: [&str; 4] = ["--profile", "off", "--store", "off"];

#[test]
fn messages_are_forwarded_in_order() {
    let mut proxy = Proxy::of_server(&OFF, &[]);
    let mut input = proxy.input.take().unwrap();
    let sender = std::thread::spawn(move || {
        for id in 0..2_000_u64 {
            let text = "é".repeat((id as usize * 37) % 3_000);
            let mut line = request(id, "echo", json!({"text": text})).to_string();
            line.push('\n');
            input.write_all(line.as_bytes()).unwrap();
        }
        input
    });
    for id in 0..2_000_u64 {
        let response = proxy.receive();
        assert_eq!(response["id"], id);
        let text = response["result"]["text"].as_str().unwrap();
        assert_eq!(text.chars().count(), (id as usize * 37) % 3_000);
    }
    drop(sender.join().unwrap());
    let (code, rest, _) = proxy.close();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
}

#[test]
fn bytes_of_messages_are_unchanged() {
    let cases = [
        r#"{"result":{"n":1.10,"big":12345678901234567890,"e":1e400},"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"x": "\u00e9 \ud83d\ude00"}}"#,
        "{ \"jsonrpc\" : \"2.0\" , \"method\":\"n\" }\r",
    ];
    let mut proxy = Proxy::of_server(&OFF, &[]);
    for case in cases {
        proxy.send(&json!({"method": "raw", "params": {"text": format!("{case}\n")}}));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut proxy.output, &mut line).unwrap();
        assert_eq!(line, format!("{case}\n"));
    }
}

#[test]
fn large_messages_take_little_memory() {
    let mut proxy =
        Proxy::of_server(&["--profile", "off", "--store", "off", "--pass-through"], &[]);
    // The first messages fill the buffers. Later ones need no more, however large they are.
    let peaks = [10 << 20, 60 << 20].map(|bytes: usize| {
        let result = proxy.call(1, "big", json!({"bytes": bytes}));
        assert_eq!(result["text"].as_str().unwrap().len(), bytes);
        let text = "y".repeat(bytes);
        let mut input = proxy.input.take().unwrap();
        let line = request(2, "echo", json!({"text": text})).to_string();
        let sender = std::thread::spawn(move || {
            input.write_all(line.as_bytes()).unwrap();
            input.write_all(b"\n").unwrap();
            input
        });
        let response = proxy.receive();
        assert_eq!(response["result"]["text"].as_str().unwrap().len(), bytes);
        proxy.input = Some(sender.join().unwrap());
        proxy.peak_memory()
    });
    assert!(peaks[1] < peaks[0] + 16, "{peaks:?} MiB");
}

#[test]
fn lines_beyond_the_limit_are_refused_and_the_session_goes_on() {
    let limits = ["--held", "1k", "--spill", "3k", "--pass-through"];
    let mut proxy = Proxy::of_server(&limits, &[]);
    let fits = proxy.call(1, "echo", json!("x".repeat(3_900)));
    assert_eq!(fits.as_str().unwrap().len(), 3_900);
    proxy.send(&request(2, "echo", json!("x".repeat(5_000))));
    assert!(proxy.receive()["error"]["code"].is_i64());
    // A long line of the server does not reach the client.
    proxy.send(&request(3, "big", json!({"bytes": 5_000})));
    assert_eq!(proxy.call(4, "echo", json!("next")), "next");
}

#[test]
fn the_last_line_may_lack_its_end() {
    let mut proxy = Proxy::of_server(&OFF, &[]);
    proxy.send_raw(request(1, "echo", json!(1)).to_string().as_bytes());
    let (code, output, _) = proxy.close();
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap()["result"], 1);
}

#[test]
fn a_command_that_cannot_start_is_reported_in_a_line() {
    let cases = [
        (["--", "/nonexistent/server"], 127, "tamis: /nonexistent/server: command not found\n"),
        (["--", "tamis-no-such-server"], 127, "tamis: tamis-no-such-server: command not found\n"),
        (["--", "/etc/passwd"], 126, "tamis: /etc/passwd: cannot be executed: permission denied\n"),
    ];
    for (args, code, message) in cases {
        let (exit, output, errors) = Proxy::start(&args).close();
        assert_eq!((exit, output.as_str(), errors.as_str()), (Some(code), "", message));
    }
}

#[test]
fn a_script_without_an_interpreter_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server");
    std::fs::write(&script, "cat\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut proxy = Proxy::start(&["--pass-through", "--", script.to_str().unwrap()]);
    proxy.send(&json!({"jsonrpc": "2.0", "method": "x"}));
    assert_eq!(proxy.receive()["method"], "x");
}

#[test]
fn lines_that_are_not_messages_are_reported() {
    let mut proxy = Proxy::of_server(&[], &[]);
    assert_eq!(proxy.call(1, "noise", json!({})), json!({}));
    let (code, rest, errors) = proxy.close();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    let expected = "\
tamis: from the server: Server started on  [1mport [0m 1
tamis: dropped a line of the server that is not valid JSON: 9 bytes
";
    assert_eq!(errors, expected);
}

#[test]
fn lines_that_are_not_messages_are_not_quoted_if_a_filter_removes_for_safety() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("tamis.yaml");
    std::fs::write(&manifest, "version: 1\nfilters:\n  a: {exclude: [ssn]}\n").unwrap();
    let mut proxy = Proxy::of_server(&["--manifest", manifest.to_str().unwrap()], &[]);
    assert_eq!(proxy.call(1, "noise", json!({})), json!({}));
    let (code, _, errors) = proxy.close();
    assert_eq!(code, Some(0));
    assert!(errors.contains(" bytes\n") && !errors.contains("Server started"), "{errors}");
}

#[test]
fn a_result_in_a_folder_is_read_by_other_commands_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store");
    let mut proxy = Proxy::of_server(&["--store", place.to_str().unwrap()], &[]);
    let items: Vec<_> = (0..5_000).map(|id| json!({"id": id, "text": "some text"})).collect();
    let result = json!({"content": [{"type": "text", "text": json!(items).to_string()}]});
    let call = json!({"name": "search", "arguments": {"result": result}});
    let filtered = proxy.call(1, "tools/call", call).to_string();
    let (code, _, log) = proxy.close();
    assert_eq!(code, Some(0));
    let at = filtered.find("tm_").unwrap_or_else(|| panic!("{} bytes; {log}", filtered.len()));
    let store = Store::open(StoreConfig::folder(&place));
    let window = Window::new().with_pointer("/4999/id").unwrap();
    let mut read = Vec::new();
    store.read(&Scope::user(), &filtered[at..at + 29], &window, &mut read).unwrap();
    assert_eq!(String::from_utf8(read).unwrap().trim(), "4999");
}

/// On standard input and output, handles outlive the proxy where the user's folder can be written.
#[test]
fn results_are_kept_in_the_folder_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let items: Vec<_> = (0..5_000).map(|id| json!({"id": id, "text": "some text"})).collect();
    let result = json!({"content": [{"type": "text", "text": json!(items).to_string()}]});
    let call = json!({"name": "search", "arguments": {"result": result}});
    let handle = |text: &str| text.find("tm_").map(|at| text[at..at + 29].to_owned());
    let start = |flags: &[&str], state: &std::path::Path| {
        Proxy::of_server_with(flags, &[], |command| {
            command.env("TAMIS_STATE_DIR", state);
        })
    };
    let mut off = start(&["--profile", "off"], &state);
    assert_eq!(handle(&off.call(1, "tools/call", call.clone()).to_string()), None);
    drop(off);
    assert!(!state.exists());
    let mut first = start(&[], &state);
    let found = handle(&first.call(1, "tools/call", call.clone()).to_string()).unwrap();
    assert_eq!(first.close().0, Some(0));
    let read = |proxy: &mut Proxy, handle: &str| {
        let arguments = json!({"handle": handle, "pointer": "/4999/id"});
        let call = json!({"name": "tamis_retrieve", "arguments": arguments});
        proxy.call(2, "tools/call", call)["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let mut second = start(&[], &state);
    assert_eq!(read(&mut second, &found).trim(), "4999");
    drop(second);
    // A file is in the way.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut third = start(&[], &file);
    let found = handle(&third.call(1, "tools/call", call.clone()).to_string()).unwrap();
    assert_eq!(read(&mut third, &found).trim(), "4999");
    let (code, _, errors) = third.close();
    assert!(code == Some(0) && !errors.contains("not shortened"), "{errors}");
    assert!(errors.contains("results are kept in memory, until the proxy ends: "), "{errors}");
    // Other programs keep outputs in that folder, so limits of a proxy do not apply to it.
    let limited = folder.path().join("limited");
    for limit in ["max_total: 64M", "max_age: 7d"] {
        let manifest = folder.path().join("tamis.yaml");
        std::fs::write(&manifest, format!("version: 1\nstore: {{{limit}}}\nfilters: {{}}\n"))
            .unwrap();
        let mut proxy = start(&["--manifest", manifest.to_str().unwrap()], &limited);
        let found = handle(&proxy.call(1, "tools/call", call.clone()).to_string()).unwrap();
        assert_eq!(read(&mut proxy, &found).trim(), "4999", "{limit}");
        assert!(!limited.exists(), "{limit}");
    }
}

#[test]
fn a_store_that_cannot_be_used_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let proxy = Proxy::of_server(&["--store", file.to_str().unwrap()], &[]);
    let (code, _, errors) = proxy.close();
    assert_eq!(code, Some(0));
    assert!(errors.starts_with("tamis: results are not shortened, because "), "{errors}");
}

#[test]
fn a_client_message_that_is_not_json_gets_an_error() {
    let mut proxy = Proxy::of_server(&[], &[]);
    proxy.send_raw(b"nonsense\n");
    assert_eq!(proxy.receive()["error"]["code"], -32700);
    assert_eq!(proxy.call(1, "echo", json!(1)), 1);
}

#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_an_error() {
    for (command, output) in [
        ("mcp -- cat", ">&-"),
        ("mcp -- cat", "1</dev/null"),
        ("mcp --upstream http://127.0.0.1:9/mcp --listen 127.0.0.1:0", ">&-"),
        ("serve --config nowhere.yaml", ">&-"),
    ] {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("\"$GATEWAY\" {command} {output}")]);
        shell.env("GATEWAY", env!("CARGO_BIN_EXE_tamis-gateway")).env("XDG_CONFIG_HOME", "/none");
        shell.env("TAMIS_STATE_DIR", "/dev/null/tamis");
        let ran = shell.stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{command} {output}: {said}");
        assert!(said.starts_with("tamis: standard output: cannot write"), "{command}: {said}");
    }
}
