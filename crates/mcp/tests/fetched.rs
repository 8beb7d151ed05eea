//! The shown part of a result and what its notice fetches are together the whole result.
//!
//! The head of a text, the reads of the gap and the tail are joined and compared with the text that the tool returned. Where
//! the door replaces credentials, they are compared with the text without them. The same holds for the items of a list.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use serde_json::{Value, json};
use tamis::spec::Redact;
use tamis::text::TextRedactor;
use tamis_manifest::Manifest;
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, Exchange, Proxy, ProxyOptions, Route, Session};
use tamis_store::{Store, StoreConfig};
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;

/// A proxy with one client.
struct Door {
    session: Session,
    exchange: Exchange,
    next: u64,
}

impl Door {
    fn new(rules: Rules) -> Self {
        let store = Store::open(StoreConfig::memory());
        let proxy = Proxy::new(ProxyOptions::new(rules).with_store(Some(store)));
        Self { session: Session::new(&proxy), exchange: Exchange::stdio(), next: 0 }
    }

    fn of(profile: Profile, redacts: bool) -> Self {
        let rules = Rules::new(profile).unwrap();
        Self::new(if redacts { rules.with_redact(&Redact::new().secrets(true)) } else { rules })
    }

    fn send(&mut self, name: &str, arguments: &Value, result: Option<&Value>) -> Value {
        self.next += 1;
        let call = json!({
            "jsonrpc": "2.0", "id": self.next, "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        });
        let message = Spool::from_vec(serde_json::to_vec(&call).unwrap());
        let route = self.session.from_client(&message, &mut self.exchange);
        let route = match result {
            None => return answer(route, &message),
            Some(_) => route,
        };
        drop(match route {
            Route::Run(job) => Some(job.run(&message)),
            _ => None,
        });
        let response = json!({"jsonrpc": "2.0", "id": self.next, "result": result});
        let message = Spool::from_vec(serde_json::to_vec(&response).unwrap());
        let route = self.session.from_server(&message, &self.exchange);
        answer(route, &message)
    }

    /// Returns the result that the client gets.
    fn call(&mut self, result: &Value) -> Value {
        self.send("log", &json!({}), Some(result))
    }

    /// Returns the text of one read, and where it goes on.
    fn read(&mut self, arguments: &Value) -> (String, Option<u64>) {
        let result = self.send("tamis_retrieve", arguments, None);
        assert_ne!(result["isError"], json!(true), "{arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let (text, remark) = match text.rsplit_once("\n[tamis: ") {
            Some((text, remark)) => (text, remark),
            None => (text, ""),
        };
        let next = remark.split_once("the same with offset=").map(|(_, rest)| rest);
        let next = next.map(|rest| rest.trim_end_matches(']').split(';').next().unwrap());
        (text.to_owned(), next.map(|next| next.parse().unwrap()))
    }

    /// Reads a window to its end, or `most` bytes of it.
    fn read_all(&mut self, arguments: &Value, mut most: usize) -> String {
        let (mut arguments, mut all) = (arguments.clone(), String::new());
        while most > 0 {
            if most < 16 << 10 {
                arguments["limit"] = json!(most);
            }
            let (text, next) = self.read(&arguments);
            most = most.saturating_sub(text.len());
            all.push_str(&text);
            let Some(next) = next else { break };
            arguments["offset"] = json!(next);
        }
        all
    }
}

fn answer(route: Route, message: &Spool) -> Value {
    let bytes = |spool: &Spool| spool.to_vec(0..spool.len(), usize::MAX).unwrap();
    let bytes = match route {
        Route::Forward => bytes(message),
        Route::Answer(answer) => answer,
        Route::Run(job) => match job.run(message).action {
            Action::Original => bytes(message),
            Action::Send(spool) | Action::Answer(spool) => bytes(&spool),
            Action::Drop(reason) => panic!("{reason:?}"),
        },
        route => panic!("{route:?}"),
    };
    let message: Value = serde_json::from_slice(&bytes).unwrap();
    message["result"].clone()
}

/// Returns the arguments of the call that a notice names.
fn arguments(notice: &str) -> Value {
    let call = notice.split_once("tamis_retrieve(").unwrap_or_else(|| panic!("{notice}")).1;
    let call = call.trim_end_matches(")]");
    let arguments = call.split(", ").map(|argument| {
        let (name, value) = argument.split_once('=').unwrap();
        (name.to_owned(), serde_json::from_str(value).unwrap())
    });
    Value::Object(arguments.collect())
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Returns the last text of a result.
fn notice(result: &Value) -> &str {
    result["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap()
}

fn token(prng: &mut Prng) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let random: String = (0..36).map(|_| char::from(prng.pick(letters))).collect();
    format!("ghp_{random}")
}

/// Returns a text of words, credentials and lines of any length. Some have their credentials in the head, some in the gap,
/// some in the tail; a private key takes many lines.
fn text(prng: &mut Prng) -> String {
    let mut text = String::new();
    let length = 9_000 + prng.below(120_000);
    let (line_odds, secret_odds) = (prng.pick(&[6, 40, 5_000, 1 << 40]), prng.pick(&[7, 90]));
    let secrets = prng.below(3) * length / 2;
    while text.len() < length {
        let has_secrets = text.len().abs_diff(secrets) < length / 3;
        match prng.below(8) {
            0 => text.push('é'),
            1 => text.push_str("\u{1F600} "),
            2 if has_secrets && prng.one_in(secret_odds) => {
                text.push_str(&format!(" {} ", token(prng)));
            }
            3 if has_secrets && prng.one_in(secret_odds) => {
                text.push_str("postgres://mira:tide12345678@db.example.org/app ");
            }
            4 if has_secrets && prng.one_in(secret_odds * 20) => {
                text.push_str("\n-----BEGIN RSA PRIVATE KEY-----\n");
                for _ in 0..25 {
                    let line: String =
                        (0..64).map(|_| char::from(prng.pick(b"abcXYZ019"))).collect();
                    text.push_str(&line);
                    text.push('\n');
                }
                text.push_str("-----END RSA PRIVATE KEY-----\n");
            }
            _ => text.push_str(&format!("word{} ", text.len())),
        }
        if prng.one_in(line_odds) {
            text.push('\n');
        }
    }
    text
}

/// Returns a text without credentials, as a door that redacts shows it, and the number of credentials.
fn redacted(text: &str) -> (String, u64) {
    let rule = Redact::new().secrets(true);
    let mut redactor = TextRedactor::of(&rule, &tamis::Limits::new()).unwrap();
    let mut out = Vec::new();
    redactor.write(text.as_bytes(), &mut out);
    let found = redactor.end(&mut out);
    (String::from_utf8(out).unwrap(), found.values().sum())
}

/// Returns what is shown of a text that was cut before the first gap, and after the last one.
fn parts(shown: &str) -> (&str, &str) {
    let is_gap = |line: &&str| {
        let line = line.trim_end_matches('\n').trim_end_matches(']');
        (line.starts_with("... ") || line.starts_with("[... ")) && line.ends_with(" left out")
    };
    let gaps: Vec<&str> = shown.split_inclusive('\n').filter(is_gap).collect();
    let (first, last) = (gaps.first().unwrap_or_else(|| panic!("{shown}")), gaps.last().unwrap());
    (shown.split_once(first).unwrap().0, shown.rsplit_once(last).unwrap().1)
}

#[test]
fn head_gap_and_tail_are_the_whole_text() {
    let mut prng = Prng::named("fetched");
    let (mut by_lines, mut by_bytes, mut with_credentials) = (0, 0, 0);
    for _ in 0..share(400) {
        let text = text(&mut prng);
        for (profile, redacts) in [
            (Profile::Tight, false),
            (Profile::Tight, true),
            (Profile::Standard, false),
            (Profile::Standard, true),
        ] {
            let mut door = Door::of(profile, redacts);
            let (whole, credentials) = if redacts { redacted(&text) } else { (text.clone(), 0) };
            let result = door.call(&text_result(&text));
            let has_sentence =
                result.to_string().contains("replaced by marks such as [redacted:KIND]");
            assert_eq!(has_sentence, credentials > 0, "{credentials}");
            let shown = result["content"][0]["text"].as_str().unwrap();
            if !notice(&result).contains("left out") {
                assert_eq!(shown, whole);
                continue;
            }
            with_credentials += usize::from(credentials > 0);
            let (head, tail) = parts(shown);
            let mut arguments = arguments(notice(&result));
            // The call in the notice reads from the first gap to the last one.
            let joined = if arguments["lines"].is_string() {
                by_lines += 1;
                [head, &door.read_all(&arguments, usize::MAX), tail].concat()
            } else {
                by_bytes += 1;
                let offset = usize::try_from(arguments["offset"].as_u64().unwrap()).unwrap();
                // A gap within a line begins with a line break of its own.
                assert!(
                    [head, head.strip_suffix('\n').unwrap_or(head)].contains(&&whole[..offset])
                );
                let fetched = door.read_all(&arguments, whole.len() - offset - tail.len());
                [&whole[..offset], &fetched, tail].concat()
            };
            assert!(joined == whole, "{profile:?} {redacts} {arguments}");
            // The whole is there from its beginning, too.
            arguments = json!({"handle": arguments["handle"]});
            assert!(door.read_all(&arguments, usize::MAX) == whole);
        }
    }
    assert!(by_lines > 20 && by_bytes > 20 && with_credentials > 20);
}

/// A filter of the user that redacts gives the same positions as a door that does.
#[test]
fn blocks_and_own_filters_have_the_same_text() {
    let mut prng = Prng::named("blocks");
    let spec = "version: 1\nfilters:\n  log: {redact: secrets, text_filter: {max_lines: 5}}\n";
    for _ in 0..share(50) {
        let [first, second] = [text(&mut prng), text(&mut prng)];
        let both = json!({"content": [
            {"type": "text", "text": first}, {"type": "text", "text": second},
        ]});
        for redacts in [false, true] {
            let mut door = Door::of(Profile::Tight, redacts);
            let result = door.call(&both);
            let handle = arguments(notice(&result))["handle"].clone();
            for (index, text) in [&first, &second].into_iter().enumerate() {
                let whole = if redacts { redacted(text).0 } else { text.clone() };
                let pointer = format!("/blocks/{index}");
                let window = json!({"handle": handle, "pointer": pointer});
                assert!(door.read_all(&window, usize::MAX) == whole, "{redacts}");
            }
        }
        let manifest = Manifest::parse("tamis.yaml", spec).unwrap();
        let mut door = Door::new(Rules::new(Profile::Standard).unwrap().with_manifest(manifest));
        let result = door.call(&text_result(&first));
        if notice(&result).contains("left out") {
            let window = json!({"handle": arguments(notice(&result))["handle"]});
            assert!(door.read_all(&window, usize::MAX) == redacted(&first).0);
        }
    }
}

/// Returns the numbers of the items that are shown, as the mark of a list names them.
fn kept(mark: &Value, of: usize) -> Vec<usize> {
    assert_eq!(mark["of"], of, "{mark}");
    let left_out = mark["items"].as_u64().unwrap() as usize;
    // Without ranges, they are the first ones.
    let Some(ranges) = mark["kept"].as_str() else { return (0..of - left_out).collect() };
    let ranges = ranges.split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse().unwrap()..=last.parse().unwrap()
    });
    let kept: Vec<usize> = ranges.collect();
    assert_eq!(kept.len(), of - left_out, "{mark}");
    kept
}

#[test]
fn shown_and_fetched_items_are_all_items() {
    let mut prng = Prng::named("items");
    let mut cut = 0;
    for _ in 0..share(200) {
        let items: Vec<Value> = (0..200 + prng.below(600))
            .map(|id| {
                let secret = if prng.one_in(9) { token(&mut prng) } else { "none".to_owned() };
                json!({"id": id, "more": vec![id; 12], "text": format!("{secret} é\u{1F600}")})
            })
            .collect();
        let list = Value::Array(items.clone());
        let as_text = text_result(&list.to_string());
        let as_object = json!({"content": [], "structuredContent": {"issues": list}});
        for (redacts, result, is_object) in [
            (false, &as_text, false),
            (true, &as_text, false),
            (false, &as_object, true),
            (true, &as_object, true),
        ] {
            let mut door = Door::of(Profile::Standard, redacts);
            let result = door.call(result);
            let is_cut = if is_object {
                !result["structuredContent"]["_tamis"].is_null()
            } else {
                notice(&result).contains("items left out")
            };
            if !is_cut {
                continue;
            }
            cut += 1;
            let (shown, call) = if is_object {
                let object = &result["structuredContent"];
                let mut shown = object["issues"].as_array().unwrap().clone();
                shown.push(json!({"_omitted": object["_omitted"]}));
                (shown, object["_tamis"]["retrieve"].as_str().unwrap().to_owned())
            } else {
                let shown = result["content"][0]["text"].as_str().unwrap();
                (serde_json::from_str::<Vec<Value>>(shown).unwrap(), notice(&result).to_owned())
            };
            let whole: Vec<Value> = match redacts {
                true => serde_json::from_str(&redacted(&list.to_string()).0).unwrap(),
                false => items.clone(),
            };
            // The mark says which items are shown, and all but one are whole.
            let (mark, shown) = shown.split_last().unwrap();
            let kept = kept(&mark["_omitted"], whole.len());
            assert_eq!(kept.len(), shown.len(), "{mark}");
            let numbered = kept.iter().zip(shown);
            assert!(numbered.clone().all(|(number, item)| item["id"] == whole[*number]["id"]));
            let parts = numbered.filter(|(number, item)| **item != whole[**number]);
            assert!(parts.count() <= 1);
            // The call in the notice begins with the first item that is left out, and the next ones go on from there.
            let mut arguments = arguments(call.trim_end_matches(')'));
            let mut fetched = Vec::new();
            let range = arguments["items"].as_str().unwrap().split_once('-').unwrap();
            let (first, mut last): (usize, usize) =
                (range.0.parse().unwrap(), range.1.parse().unwrap());
            assert!(kept[..first].iter().copied().eq(0..first) && kept.get(first) != Some(&first));
            for calls in 1.. {
                let read = door.read_all(&arguments, usize::MAX);
                fetched.extend(serde_json::from_str::<Vec<Value>>(&read).unwrap());
                if first + fetched.len() >= whole.len() || last + 1 >= whole.len() {
                    assert!(calls <= whole.len() / 50 + 1, "{calls}");
                    break;
                }
                arguments["items"] = json!(format!("{}-{}", last + 1, last + 50));
                last += 50;
            }
            assert_eq!(fetched, whole[first..first + fetched.len()]);
            let rest = kept.iter().filter(|number| **number >= first + fetched.len());
            assert_eq!(rest.count(), whole.len() - first - fetched.len());
        }
    }
    assert!(cut > 20);
}

/// The rules of the catalog only save, `exclude` too: the whole result can be fetched.
#[test]
fn all_that_the_catalog_removes_can_be_fetched() {
    for (server, tool, root) in [
        ("Notion API", "API-get-block-children", "results"),
        ("secure-filesystem-server", "directory_tree", ""),
    ] {
        let rules = Rules::new(Profile::Standard).unwrap();
        let store = Store::open(StoreConfig::memory());
        let proxy = Proxy::new(ProxyOptions::new(rules).with_store(Some(store)));
        let mut door =
            Door { session: Session::new(&proxy), exchange: Exchange::stdio(), next: 10 };
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
        let message = Spool::from_vec(hello.to_string().into_bytes());
        drop(door.session.from_client(&message, &mut door.exchange));
        let hello = json!({"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"name": server}}});
        let message = Spool::from_vec(hello.to_string().into_bytes());
        drop(door.session.from_server(&message, &door.exchange));
        let items: Vec<Value> = (0..40)
            .map(|id| {
                json!({
                    "object": "block", "id": format!("block-{id}"), "name": format!("file{id}"), "type": "paragraph",
                    "created_time": "2026-01-01T00:00:00Z", "has_children": false, "archived": false,
                    "paragraph": {"rich_text": [{"type": "text", "plain_text": format!("text {id}"),
                        "annotations": {"bold": true, "code": false}}]},
                })
            })
            .collect();
        let items = if root.is_empty() {
            let tree = json!({"name": ".git", "type": "directory", "children": items});
            json!([tree, {"name": "a.rs", "type": "file"}])
        } else {
            json!({"object": "list", "results": items})
        };
        let text = items.to_string();
        let result = door.send(tool, &json!({}), Some(&text_result(&text)));
        let shown = result["content"][0]["text"].as_str().unwrap();
        assert!(shown.len() < text.len(), "{server}: {shown}");
        let window = json!({"handle": arguments(notice(&result))["handle"]});
        assert_eq!(door.read_all(&window, usize::MAX), text, "{server}");
        // The result is the same where `structuredContent` has the text again.
        let block = json!({"type": "text", "text": text});
        let copied = json!({"content": [block], "structuredContent": {"content": text}});
        let result = door.send(tool, &json!({}), Some(&copied));
        assert_eq!(result["structuredContent"]["content"], shown, "{server}");
        assert_eq!(result["content"][0]["text"], shown, "{server}");
    }
}
