//! Results that are long, many or deep.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use std::sync::Arc;

use serde_json::{Value, json};
use tamis_mcp::record::CallOutcome;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::Spool;
use tamis_mcp::{
    Action, ClientReads, Exchange, MessageLimits, Outcome, OverflowScan, Proxy, ProxyOptions,
    Route, Session,
};
use tamis_store::{Store, StoreConfig, StoreLimits};

fn proxy(profile: Profile) -> Arc<Proxy> {
    let store = Store::open(StoreConfig::memory());
    Proxy::new(ProxyOptions::new(Rules::new(profile).unwrap()).with_store(Some(store)))
}

fn call(session: &mut Session, tool: &str, arguments: &str) -> Option<Outcome> {
    let request = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}"
    );
    let request = Spool::from_vec(request.into_bytes());
    match session.from_client(&request, &mut Exchange::stdio()) {
        Route::Forward => None,
        Route::Run(job) => Some(job.run(&request)),
        route => panic!("{route:?}"),
    }
}

/// Returns what the client gets for a result, and the outcome of the call.
fn answer(session: &mut Session, result: &str) -> (Value, CallOutcome, usize) {
    answer_of(session, "a", result)
}

fn answer_of(session: &mut Session, tool: &str, result: &str) -> (Value, CallOutcome, usize) {
    assert!(call(session, tool, "{}").is_none());
    let response = format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":1}}");
    let response = Spool::from_vec(response.into_bytes());
    let Route::Run(job) = session.from_server(&response, &Exchange::stdio()) else { panic!() };
    let outcome = job.run(&response);
    let bytes = match outcome.action {
        Action::Original => response.into_vec().unwrap(),
        Action::Send(spool) => spool.into_vec().unwrap(),
        action => panic!("{action:?}"),
    };
    let message: Value = serde_json::from_slice(&bytes).unwrap();
    (message["result"].clone(), outcome.records[0].outcome, bytes.len())
}

fn retrieve(session: &mut Session, arguments: &str) -> String {
    let outcome = call(session, "tamis_retrieve", arguments).unwrap();
    let Action::Answer(spool) = outcome.action else { panic!() };
    let message: Value = serde_json::from_slice(&spool.into_vec().unwrap()).unwrap();
    message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Returns the handle in a notice.
fn handle(notice: &str) -> &str {
    let at = notice.find("tm_").unwrap();
    &notice[at..at + 29]
}

fn text(result: &Value, block: usize) -> &str {
    result["content"][block]["text"].as_str().unwrap()
}

#[test]
fn a_long_list_is_cut_and_read_back() {
    let items: Vec<String> = (0..5_000)
        .map(|id| format!("{{\"id\":{id},\"empty\":null,\"text\":\"some text of item {id}\"}}"))
        .collect();
    let list = format!("[{}]", items.join(","));
    for (profile, limit) in [(Profile::Standard, 32_000), (Profile::Tight, 8_000)] {
        let proxy = proxy(profile);
        let mut session = Session::new(&proxy);
        let quoted = serde_json::to_string(&list).unwrap();
        let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}");
        let (result, outcome, _) = answer(&mut session, &result);
        assert_eq!(outcome, CallOutcome::Filtered);
        assert!(text(&result, 0).len() <= limit && text(&result, 0).len() > limit / 2);
        let ids = spread_ids(text(&result, 0), 5_000);
        assert!(ids.last() > Some(&4_900) && ids.len() > 100, "{ids:?}");
        let notice = text(&result, 1);
        let expected = format!("{} of 5,000 items left out (", grouped(5_000 - ids.len()));
        assert!(notice.contains(&expected), "{notice}");
        // The call in the notice begins with the first item that is left out.
        let first = (0..5_000).find(|id| !ids.contains(id)).unwrap();
        let next = format!("{first}-{}", first + 49);
        assert!(notice.contains(&format!("items=\"{next}\"")), "{notice}");
        let arguments = format!("{{\"handle\":\"{}\",\"items\":\"{next}\"}}", handle(notice));
        let next: Vec<Value> = serde_json::from_str(&retrieve(&mut session, &arguments)).unwrap();
        assert_eq!(next.len(), 50);
        assert_eq!(next[0]["id"], first);
    }
}

/// Returns the ids of the items of a list that was cut, after they were compared with its mark.
fn spread_ids(list: &str, of: u64) -> Vec<u64> {
    let mut items: Vec<Value> = serde_json::from_str(list).unwrap();
    let mark = items.pop().unwrap()["_omitted"].clone();
    assert_eq!((&mark["items"], &mark["of"]), (&(of - items.len() as u64).into(), &of.into()));
    let ids: Vec<u64> = items.iter().map(|item| item["id"].as_u64().unwrap()).collect();
    let ranges = mark["kept"].as_str().unwrap().split(',');
    let kept = ranges.flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse().unwrap()..=last.parse().unwrap()
    });
    assert_eq!(kept.collect::<Vec<u64>>(), ids);
    ids
}

fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

/// Returns a result of which `structuredContent` wraps the text.
fn wrapped(name: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{{\"{name}\":{text}}}}}"
    )
}

#[test]
fn a_wrapped_text_is_cut_once_and_read_back() {
    let lines: String = (1..=20_000).map(|line| format!("line {line} of \"é\"\n")).collect();
    // The lines of a JSON file are lines as well.
    let json = format!("[\n{}0\n]\n", "1,\n".repeat(20_000));
    let limits = [(Profile::Standard, 32_000), (Profile::Tight, 8_000)];
    let clients = [ClientReads::Structured, ClientReads::Both];
    for (profile, limit) in [limits[0], limits[1], (Profile::Lossless, usize::MAX)] {
        for reads in clients {
            for (name, lines) in [("content", &lines), ("result", &lines), ("content", &json)] {
                let options = ProxyOptions::new(Rules::new(profile).unwrap())
                    .with_store(Some(Store::open(StoreConfig::memory())))
                    .with_client_reads(Some(reads));
                let proxy = Proxy::new(options);
                let mut session = Session::new(&proxy);
                let (result, _, _) = answer(&mut session, &wrapped(name, lines));
                let structured = &result["structuredContent"];
                let shown = structured[name].as_str().unwrap();
                let blocks = result["content"].as_array().unwrap().len();
                if profile == Profile::Lossless {
                    assert_eq!((shown, structured.get("_tamis")), (lines.as_str(), None));
                    assert_eq!(blocks, usize::from(reads == ClientReads::Both));
                    continue;
                }
                // Digits and punctuation are tokens of their own.
                assert!(shown.len() < limit + 100 && shown.len() > limit / 4, "{limit}");
                let (head, _) = shown.split_once("... ").unwrap();
                assert!(lines.starts_with(head) && head.len() > limit / 40);
                let (_, tail) = shown.rsplit_once(" left out\n").unwrap();
                assert!(lines.ends_with(tail));
                match reads {
                    ClientReads::Both => assert_eq!((blocks, text(&result, 0)), (2, shown)),
                    _ => assert_eq!(blocks, 0),
                }
                // The call in the notice names the lines between, and returns as many as fit.
                let call = structured["_tamis"]["retrieve"].as_str().unwrap();
                let first = head.lines().count() + 1;
                let last = lines.lines().count() - tail.lines().count();
                assert!(call.ends_with(&format!("lines=\"{first}-{last}\")")), "{call}");
                let arguments =
                    format!("{{\"handle\":\"{}\",\"lines\":\"{first}-{last}\"}}", handle(call));
                let next: Vec<&str> = lines.lines().skip(first - 1).take(50).collect();
                let read = retrieve(&mut session, &arguments);
                assert!(read.starts_with(&next.join("\n")), "{read}");
                let arguments = format!("{{\"handle\":\"{}\",\"limit\":100}}", handle(call));
                assert!(retrieve(&mut session, &arguments).starts_with(&lines[..90]));
            }
        }
    }
}

#[test]
fn a_wrapped_json_text_of_one_line_is_cut_between_items() {
    let items: Vec<String> = (0..2_000).map(|id| format!("{{\"id\":{id},\"n\":null}}")).collect();
    let list = format!("[{}]", items.join(","));
    let proxy = proxy(Profile::Tight);
    let mut session = Session::new(&proxy);
    let (result, _, _) = answer(&mut session, &wrapped("result", &list));
    let shown = result["structuredContent"]["result"].as_str().unwrap();
    assert_eq!(text(&result, 0), shown);
    let ids = spread_ids(shown, 2_000);
    let call = result["structuredContent"]["_tamis"]["retrieve"].as_str().unwrap();
    let first = (0..2_000).find(|id| !ids.contains(id)).unwrap();
    let next = format!("{first}-{}", first + 49);
    assert!(call.ends_with(&format!("items=\"{next}\")")), "{call}");
    let arguments = format!("{{\"handle\":\"{}\",\"items\":\"{next}\"}}", handle(call));
    let next: Vec<Value> = serde_json::from_str(&retrieve(&mut session, &arguments)).unwrap();
    assert_eq!((next.len(), &next[0]["id"]), (50, &Value::from(first)));
    // A text that fits keeps its items, and the content of a file is not changed.
    let list = format!("[{}]", items[..100].join(", "));
    let shorter = list.replace(",\"n\":null", "").replace(", ", ",");
    for (name, expected) in [("result", &shorter), ("content", &list)] {
        let (result, _, _) = answer(&mut session, &wrapped(name, &list));
        assert_eq!(result["structuredContent"][name], Value::from(expected.as_str()));
        assert_eq!(text(&result, 0), expected);
    }
}

/// A filter of the catalog keeps the first items. One that is longer than the limit does not hide those after it.
#[test]
fn a_long_item_leaves_room_for_others() {
    let file = |name: String| format!("{{\"name\":\"{name}\",\"type\":\"file\"}}");
    let folder = |name: &str, files: Vec<String>| {
        let files = files.join(",");
        format!("{{\"name\":\"{name}\",\"type\":\"directory\",\"children\":[{files}]}}")
    };
    let objects = (0..3_000).map(|object| file(format!("{object:040x}"))).collect();
    let sources = |name: &str| folder(name, (0..5).map(|it| file(format!("{it}.rs"))).collect());
    let mut entries = vec![file(".gitignore".into()), folder("objects", objects)];
    entries.extend((0..28).map(|number| sources(&format!("part{number}"))));
    let tree = format!("[{}]", entries.join(","));
    for (profile, limit) in [(Profile::Standard, 32_000), (Profile::Tight, 8_000)] {
        let rules = Rules::new(profile).unwrap().with_service(Some("filesystem"));
        let store = Store::open(StoreConfig::memory());
        let proxy = Proxy::new(ProxyOptions::new(rules).with_store(Some(store)));
        let mut session = Session::new(&proxy);
        let (result, _, _) = answer_of(&mut session, "directory_tree", &wrapped("content", &tree));
        let shown = text(&result, 0);
        assert!(shown.len() <= limit && shown.len() > limit / 2, "{}", shown.len());
        assert!(shown.contains("\"_omitted\"") && !shown.contains("\"type\""), "{shown:.300}");
        // The smaller limit has room for one folder.
        assert!(shown.contains("part") || profile == Profile::Tight, "{shown}");
        let call = result["structuredContent"]["_tamis"]["retrieve"].as_str().unwrap();
        let arguments = format!("{{\"handle\":\"{}\",\"pointer\":\"/29/name\"}}", handle(call));
        assert_eq!(retrieve(&mut session, &arguments), "part27");
    }
}

#[test]
fn a_long_text_is_cut_and_read_back() {
    let lines: String = (1..=20_000).map(|line| format!("line {line} of the log\n")).collect();
    let proxy = proxy(Profile::Standard);
    let mut session = Session::new(&proxy);
    let quoted = serde_json::to_string(&lines).unwrap();
    let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}");
    let (result, _, _) = answer(&mut session, &result);
    let shown = text(&result, 0);
    assert!(shown.starts_with("line 1 of") && shown.ends_with("line 20000 of the log\n"));
    assert!(shown.len() < 32_200);
    let notice = text(&result, 1);
    assert!(notice.contains("lines left out"), "{notice}");
    let arguments = format!("{{\"handle\":\"{}\",\"lines\":\"10000-10001\"}}", handle(notice));
    let lines = retrieve(&mut session, &arguments);
    assert!(lines.starts_with("line 10000 of the log\nline 10001 of the log"), "{lines}");
    let arguments = format!("{{\"handle\":\"{}\",\"grep\":\"line 1234 \"}}", handle(notice));
    assert!(retrieve(&mut session, &arguments).contains("line 1234 of the log"));
    // The call in the notice reads exactly what is left out.
    let range = between(notice, "lines=\"", "\"");
    let (before, after) =
        (shown.split_once("... ").unwrap().0, shown.rsplit_once(" left out\n").unwrap().1);
    let (first, last) = range.split_once('-').unwrap();
    assert!(before.ends_with(&format!("line {} of the log\n", first.parse::<u64>().unwrap() - 1)));
    assert!(after.starts_with(&format!("line {} of the log\n", last.parse::<u64>().unwrap() + 1)));
}

#[test]
fn the_notice_of_one_long_line_names_where_it_goes_on() {
    let line: String = (0..60_000).map(|word| format!("{word} ")).collect();
    let proxy = proxy(Profile::Standard);
    let mut session = Session::new(&proxy);
    let (result, _, _) = answer(
        &mut session,
        &format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{line}\"}}]}}"),
    );
    let shown = text(&result, 0);
    let (before, _) = shown.split_once("\n[... ").unwrap();
    let (_, after) = shown.rsplit_once(" bytes left out]\n").unwrap();
    let notice = text(&result, 1);
    let gaps = shown.lines().filter_map(|line| line.strip_prefix("[... ")?.split(' ').next());
    let left: usize = gaps.map(|bytes| bytes.parse::<usize>().unwrap()).sum();
    let expected = format!("{},{:03} of 348,890 bytes left out", left / 1000, left % 1000);
    assert!(notice.contains(&expected), "{notice}");
    let offset: usize = between(notice, "offset=", ")").parse().unwrap();
    assert_eq!(offset, before.len());
    let between = line.len() - before.len() - after.len();
    let arguments =
        format!("{{\"handle\":\"{}\",\"offset\":{offset},\"limit\":{between}}}", handle(notice));
    let rest = retrieve(&mut session, &arguments);
    let (rest, _) = rest.split_once("\n[tamis: ").unwrap();
    assert_eq!([before, rest, after].concat(), line);
}

#[test]
fn a_log_in_json_keeps_its_failures_and_its_ends() {
    let line = |at| match at {
        2_000 => "2026-01-01 ERROR disk full\n".to_owned(),
        _ => format!("2026-01-01 INFO step {at} of harbour_{at}\n"),
    };
    let log: String = (0..5_000).map(line).collect();
    let object = serde_json::json!({"log": log, "exit_code": 1}).to_string();
    for (profile, limit) in [(Profile::Standard, 32_000), (Profile::Tight, 8_000)] {
        let proxy = proxy(profile);
        let mut session = Session::new(&proxy);
        let quoted = serde_json::to_string(&object).unwrap();
        let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}");
        let (result, _, _) = answer(&mut session, &result);
        let shown: Value = serde_json::from_str(text(&result, 0)).unwrap();
        assert_eq!(shown["exit_code"], 1);
        let shown = shown["log"].as_str().unwrap();
        assert!(shown.len() <= limit && shown.contains("ERROR disk full"), "{shown}");
        assert!(shown.ends_with("step 4999 of harbour_4999\n"), "{shown}");
        // The call in the notice goes on after the beginning.
        let notice = text(&result, 1);
        assert!(
            notice.contains(" bytes left out") && notice.contains("pointer=\"/log\""),
            "{notice}"
        );
        let offset: usize = between(notice, "offset=", ")").parse().unwrap();
        let (head, _) = shown.split_once("...").unwrap();
        assert_eq!((head, head.len()), (&log[..offset], offset));
        let arguments = format!(
            "{{\"handle\":\"{}\",\"pointer\":\"/log\",\"offset\":{offset}}}",
            handle(notice)
        );
        let read = retrieve(&mut session, &arguments);
        assert_eq!(&read[..1_000], &log[offset..offset + 1_000]);
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split_once(before).unwrap().1.split_once(after).unwrap().0
}

#[test]
fn many_blocks_share_one_limit() {
    let proxy = proxy(Profile::Tight);
    let mut session = Session::new(&proxy);
    let block = |id| {
        format!(
            "{{\"type\":\"text\",\"text\":\"{{\\\"id\\\":{id},\\\"text\\\":\\\"{}\\\"}}\"}}",
            "x".repeat(500)
        )
    };
    let blocks: Vec<String> = (0..100).map(block).collect();
    let (result, _, length) =
        answer(&mut session, &format!("{{\"content\":[{}]}}", blocks.join(",")));
    assert!(length < 12_000, "{length}");
    let content = result["content"].as_array().unwrap();
    let notice = content.last().unwrap()["text"].as_str().unwrap();
    let arguments = format!("{{\"handle\":\"{}\",\"pointer\":\"/blocks/70/id\"}}", handle(notice));
    assert_eq!(retrieve(&mut session, &arguments), "70");
}

#[test]
fn structured_results_have_the_notice_in_them() {
    let items: Vec<String> = (0..5_000).map(|id| format!("{{\"id\":{id},\"x\":\"y\"}}")).collect();
    let object = format!("{{\"total\":1,\"items\":[{}]}}", items.join(","));
    let quoted = serde_json::to_string(&object).unwrap();
    let result = format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}],\"structuredContent\":{object}}}"
    );
    let proxy = proxy(Profile::Tight);
    let (result, _, length) = answer(&mut Session::new(&proxy), &result);
    assert!(length < 22_000);
    let mark = &result["structuredContent"]["_tamis"];
    assert_eq!(mark["of"], 5_000);
    assert_eq!(mark["shown"], result["structuredContent"]["items"].as_array().unwrap().len());
    assert!(mark["retrieve"].as_str().unwrap().contains(mark["handle"].as_str().unwrap()));
    // Both forms have the same items, and there is one notice for clients that show the text.
    let copy: Value = serde_json::from_str(text(&result, 0)).unwrap();
    assert_eq!(copy["items"], result["structuredContent"]["items"]);
    assert!(text(&result, 1).contains(mark["handle"].as_str().unwrap()));
}

#[test]
fn messages_that_clients_cannot_take_are_cut() {
    let text = "0123456789".repeat(1_200_000);
    for (profile, most) in [(Profile::Lossless, 8 << 20), (Profile::Standard, 40_000)] {
        let proxy = proxy(profile);
        let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}");
        let (result, _, length) = answer(&mut Session::new(&proxy), &result);
        assert!(length < most, "{profile}: {length}");
        assert!(result["content"][1]["text"].as_str().unwrap().contains("tamis"));
    }
}

#[test]
fn base64_is_left_out_by_the_default_profile() {
    let image = "QUJD".repeat(500);
    let proxy = proxy(Profile::Standard);
    let result = format!(
        "{{\"structuredContent\":{{\"id\":1,\"icon\":\"data:image/png;base64,{image}\"}}}}"
    );
    let (result, _, length) = answer(&mut Session::new(&proxy), &result);
    assert!(length < 600, "{length}");
    assert!(result["structuredContent"]["icon"].as_str().unwrap().contains("left out"));
    assert!(result["structuredContent"]["_tamis"]["handle"].is_string(), "{result}");
}

#[test]
fn a_notice_has_the_size_of_a_factored_result() {
    let mut session = Session::new(&proxy(Profile::Tight));
    let greeting = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"claude-code","version":"2"}}}"#;
    let greeting = Spool::from_vec(greeting.as_bytes().to_vec());
    assert!(matches!(session.from_client(&greeting, &mut Exchange::stdio()), Route::Forward));
    let row = |number: u64| {
        let digits = number * 7_919 % 1_000_003;
        json!({"id": digits, "state_of_the_row": "open", "owner_of_the_row": {"name": "harbour master", "team": "quay"}})
    };
    let rows = Value::from((0..800).map(row).collect::<Vec<_>>()).to_string();
    let result = json!({"content": [{"type": "text", "text": rows}]}).to_string();
    let (result, _, _) = answer(&mut session, &result);
    let shown = text(&result, 0);
    assert!(shown.starts_with("{\"_factored\":1,"), "{shown}");
    let notice = result["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    let after = between(notice, "→ ~", " tokens").replace(',', "");
    assert_eq!(after.parse::<usize>().unwrap(), shown.len().div_ceil(4), "{notice}");
}

#[test]
fn a_full_store_cuts_nothing() {
    let limits = StoreLimits::memory().with_total(1000);
    let store = Store::open(StoreConfig::memory().with_limits(limits));
    let rules = Rules::new(Profile::Tight).unwrap();
    let proxy = Proxy::new(ProxyOptions::new(rules).with_store(Some(store)));
    let text = "0123456789\n".repeat(10_000);
    let quoted = serde_json::to_string(&text).unwrap();
    let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}");
    let mut session = Session::new(&proxy);
    let (result_shown, _, _) = answer(&mut session, &result);
    assert_eq!(result_shown["content"][0]["text"], text);
    // The log says why.
    assert!(call(&mut session, "a", "{}").is_none());
    let response = format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":1}}");
    let response = Spool::from_vec(response.into_bytes());
    let Route::Run(job) = session.from_server(&response, &Exchange::stdio()) else { panic!() };
    let reason = job.run(&response).records[0].reason;
    assert_eq!(reason, Some("not shortened, because the store has no room"));
}

#[test]
fn requests_and_tables_are_bounded() {
    let rules = Rules::new(Profile::Standard).unwrap();
    let limits = MessageLimits { open_requests: 3, ..MessageLimits::default() };
    let proxy = Proxy::new(ProxyOptions::new(rules).with_limits(limits));
    let mut session = Session::new(&proxy);
    let mut refused = 0;
    for id in 0..5 {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
        let route =
            session.from_client(&Spool::from_vec(request.into_bytes()), &mut Exchange::stdio());
        refused += usize::from(matches!(route, Route::Answer(_)));
    }
    assert_eq!((refused, session.open_requests()), (2, 3));
}

#[test]
fn one_exchange_serves_a_whole_connection() {
    let proxy = proxy(Profile::Standard);
    let mut session = Session::new(&proxy);
    let mut exchange = Exchange::stdio();
    for id in 0..1_000 {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
        session.from_client(&Spool::from_vec(request.into_bytes()), &mut exchange);
        assert_eq!(exchange.request_id(), Some(id.to_string().as_bytes()));
    }
    assert!(format!("{exchange:?}").len() < 1_000);
}

#[test]
fn messages_that_are_too_long_are_answered() {
    let proxy = proxy(Profile::Standard);
    let mut session = Session::new(&proxy);
    assert!(call(&mut session, "a", "{}").is_none());
    assert!(session.may_forward_unseen());
    let mut scan = OverflowScan::new();
    scan.write(br#"{"result":{"content":[{"type":"text","text":"{\"id\":5,"#);
    scan.write(br#""}]},"jsonrpc":"2.0","id":1}"#);
    let answer = session.from_server_overflow(scan, &Exchange::stdio(), false).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&1.into(), &true.into()));
    assert_eq!(session.open_requests(), 0);
    let mut scan = OverflowScan::new();
    scan.write(br#"{"id":"x","method":"tools/call","#);
    let answer: Value = serde_json::from_slice(&session.from_client_overflow(scan)).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"x".into(), &(-32600).into()));
}
