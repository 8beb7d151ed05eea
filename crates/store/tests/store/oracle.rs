//! Random windows of random entries, compared with a naive implementation over the whole text.

use std::fmt::Write as _;

use serde_json::Value;
use tamis_store::{EntryMeta, Scope, Window};

use super::{put, read, stores};

/// A small generator of numbers (splitmix64), so that every run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len() as u64) as usize]
    }

    /// Lines with words that patterns look for, with and without a last line end.
    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.below(30) {
            for _ in 0..self.below(6) {
                text += self.pick(&["a", "bb", "é", "😀", " ", "err", "\t", "ok", "\u{2028}"]);
            }
            text += self.pick(&["\n", "\n", "\r\n", "\n\n"]);
        }
        if self.below(2) == 0 {
            text += self.pick(&["end", "err", "x\r"]);
        }
        text
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => self.below(100).into(),
            2 => (self.pick(&["", "]", "},{", "\\", "\"", "é😀", "a\nb\n"])).into(),
            3 => true.into(),
            4 => self.text().into(),
            5 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: u64) -> Value {
        let mut members = serde_json::Map::new();
        for _ in 0..self.below(4) {
            let name = self.pick(&["a", "b", "c d", "é"]);
            members.insert(name.into(), self.value(depth));
        }
        Value::Object(members)
    }

    /// A range that is often within `count`, often at its end.
    fn range(&mut self, first: u64, count: u64) -> (u64, Option<u64>) {
        let from = first + self.below(count + 3);
        (from, (self.below(4) > 0).then(|| from + self.below(count + 2)))
    }
}

fn written((first, last): (u64, Option<u64>)) -> String {
    match last {
        Some(last) => format!("{first}-{last}"),
        None => format!("{first}-"),
    }
}

/// Cuts a text as `offset` and `limit` do. Returns the page and whether more follows.
fn page(text: &str, offset: u64, limit: u64) -> (String, bool) {
    let bytes = text.as_bytes();
    let rest = &bytes[(offset as usize).min(bytes.len())..];
    let rest = std::str::from_utf8(rest).unwrap();
    let mut end = char_start(rest, limit as usize);
    if end == 0 && !rest.is_empty() {
        end = rest.chars().next().unwrap().len_utf8();
    }
    (rest[..end].to_owned(), end < rest.len())
}

/// An offset between characters.
fn offset(random: &mut Random, text: &str) -> u64 {
    let offset = random.below(text.len() as u64 + 1) as usize;
    char_start(text, offset) as u64
}

/// The last place between characters that is not after `at`.
fn char_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap()
}

/// A text after `lines` and `grep`.
fn lines_of(text: &str, lines: Option<(u64, Option<u64>)>, grep: Option<(&str, usize)>) -> String {
    let first = lines.map_or(1, |(first, _)| first);
    let within = |number: u64| {
        lines.is_none_or(|(first, last)| number >= first && last.is_none_or(|last| number <= last))
    };
    let kept: Vec<&str> = text
        .split_inclusive('\n')
        .enumerate()
        .filter(|(index, _)| within(*index as u64 + 1))
        .map(|(_, line)| line)
        .collect();
    let Some((pattern, context)) = grep else { return kept.concat() };
    let bare = |line: &str| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line).to_owned()
    };
    let pattern = regex::Regex::new(pattern).unwrap();
    let hits: Vec<bool> = kept.iter().map(|line| pattern.is_match(&bare(line))).collect();
    let mut out = String::new();
    let mut last = None;
    for (index, line) in kept.iter().enumerate() {
        let near = index.saturating_sub(context)..(index + context + 1).min(hits.len());
        if !hits[near].contains(&true) {
            continue;
        }
        if context > 0 && last.is_some_and(|last| last + 1 < index) {
            out += "--\n";
        }
        let sign = if hits[index] { ':' } else { '-' };
        _ = writeln!(out, "{}{sign}{}", first + index as u64, bare(line));
        last = Some(index);
    }
    out
}

#[test]
fn random_windows_of_text() {
    let (stores, _folder) = stores(|config| config);
    let mut random = Random(1);
    let scope = Scope::user();
    for round in 0..2_000 {
        let text = random.text();
        let store = &stores[usize::from(round % 10 == 0) % stores.len()].1;
        let handle = put(store, &scope, EntryMeta::text("x"), text.as_bytes());
        for _ in 0..5 {
            let count = text.lines().count() as u64;
            let lines = (random.below(2) == 0).then(|| random.range(1, count));
            let pattern = random.pick(&["err", "^$", "^a", "é|😀", "k$", "[^a]b"]);
            let grep = (random.below(2) == 0).then(|| (pattern, random.below(4) as usize));
            let mut window = Window::new();
            if let Some(lines) = lines {
                window = window.with_lines(&written(lines)).unwrap();
            }
            if let Some((pattern, context)) = grep {
                window = window.with_grep(pattern).unwrap().with_context(context as u32).unwrap();
            }
            let whole = lines_of(&text, lines, grep);
            let (from, limit) = (offset(&mut random, &whole), 1 + random.below(40));
            window = window.with_offset(from).with_limit(Some(limit));
            let (expected, more) = page(&whole, from, limit);
            let (got, report) = read(store, &scope, handle, &window).unwrap();
            let what = format!("round {round}: {text:?} {lines:?} {grep:?} {from}+{limit}");
            assert_eq!((got, report.next_offset.is_some()), (expected, more), "{what}");
        }
    }
}

#[test]
fn random_windows_of_json() {
    let (stores, _folder) = stores(|config| config);
    let mut random = Random(2);
    let scope = Scope::user();
    for round in 0..2_000 {
        let count = random.below(8);
        let items: Vec<Value> = (0..count).map(|_| random.value(3)).collect();
        let before = random.object(2);
        let (document, path) = match random.below(3) {
            0 => (Value::Array(items.clone()), ""),
            1 => (serde_json::json!({"before": before, "items": items, "z": 1}), "/items"),
            _ => (serde_json::json!({"a": before, "data": {"list": items}}), "/data/list"),
        };
        let text = document.to_string();
        let store = &stores[usize::from(round % 10 == 0) % stores.len()].1;
        let known = random.below(2) == 0;
        let meta = EntryMeta::json("x");
        let meta = if known { meta.with_items(path) } else { meta };
        let handle = put(store, &scope, meta, text.as_bytes());
        for _ in 0..5 {
            let range = random.range(0, count);
            let mut window = Window::new();
            // Without the path, only a direct member is found.
            let by_pointer = (!known && path == "/data/list") || random.below(2) == 0;
            if by_pointer {
                window = window.with_pointer(path).unwrap();
            }
            let whole = if random.below(4) > 0 {
                window = window.with_items(&written(range)).unwrap();
                let last = range.1.map_or(usize::MAX, |last| last as usize + 1);
                let end = last.min(items.len());
                let start = (range.0 as usize).min(end);
                Value::Array(items[start..end].to_vec())
            } else if by_pointer && count > 0 && random.below(2) == 0 {
                let index = random.below(count);
                window = window.with_pointer(&format!("{path}/{index}")).unwrap();
                items[index as usize].clone()
            } else if by_pointer {
                Value::Array(items.clone())
            } else {
                document.clone()
            };
            let as_text = random.below(3) == 0;
            let whole = match whole {
                Value::String(text) => text,
                value if as_text => serde_json::to_string_pretty(&value).unwrap(),
                value => value.to_string(),
            };
            let lines = random.range(1, 6);
            let whole = if as_text {
                window = window.with_lines(&written(lines)).unwrap();
                lines_of(&whole, Some(lines), None)
            } else {
                whole
            };
            let (from, limit) = (offset(&mut random, &whole), 1 + random.below(60));
            window = window.with_offset(from).with_limit(Some(limit));
            let (expected, more) = page(&whole, from, limit);
            let what = format!("round {round}: {text} {window:?}");
            let (got, report) = read(store, &scope, handle, &window).expect(&what);
            assert_eq!((got, report.next_offset.is_some()), (expected, more), "{what}");
        }
    }
}
