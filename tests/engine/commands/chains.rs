//! Rules in zeph's spelling: a chain of them is what they are one after the other, and lines of security are never
//! lost.

use tamis::Limits;
use tamis_command::{CommandRules, OutputFilterRegistry};

use tamis_testkit::commands::drivers::{Subject, agree};
use tamis_testkit::commands::model::output;
use tamis_testkit::prng::Prng;

/// Returns a rule for the command `x` whose output cannot be mistaken for a notice.
fn rule(prng: &mut Prng, name: &str) -> String {
    let words = ["^a", "^b", "b$", "c", "^$", "^ab?$"];
    let mut text = format!(
        "[[rules]]\nname = \"{name}\"\nmatch = {{ exact = \"x\" }}\n\
         strategy = {{ type = \"strip_noise\", patterns = ['{}'] }}\n",
        prng.pick(&words)
    );
    if prng.one_in(3) {
        let (from, to) = (prng.pick(&words), prng.pick(&words));
        text += &format!("strip_sections = [{{ from = '{from}', to = '{to}' }}]\n");
    }
    if prng.one_in(3) {
        text += "replace = [{ pattern = '(.)(.)', with = '$2' }]\n";
    }
    if prng.one_in(3) {
        text += "dedup = true\n";
    }
    if prng.one_in(4) {
        text += &format!("exit.failed = {{ strip = ['{}'] }}\n", prng.pick(&words));
    }
    text
}

fn registry(rules: &str) -> OutputFilterRegistry {
    let rules = CommandRules::parse("x.toml", rules).unwrap_or_else(|error| panic!("{error}"));
    OutputFilterRegistry::new().register_rules(rules)
}

fn subject<'a>(
    registry: &'a OutputFilterRegistry,
    limits: &'a Limits,
    exit_code: i32,
    output: &'a [u8],
) -> Subject<'a> {
    Subject {
        registry,
        limits,
        command: "x",
        exit_code: Some(exit_code),
        quiet: true,
        full_output: "full.log",
        cap: tamis_command::OutputCap::new(),
        output,
    }
}

#[test]
fn a_chain_is_its_rules_one_after_the_other() {
    const OFF: &str = "[tools.filters.security]\nenabled = false\n";
    let mut prng = Prng::named("chains");
    let (limits, mut changed) = (Limits::new(), 0);
    for run in 0..400 {
        let rules: Vec<String> =
            (0..2 + prng.below(3)).map(|place| rule(&mut prng, &format!("r{place}"))).collect();
        let chain = registry(&(OFF.to_owned() + &rules.concat()));
        let singles: Vec<_> = rules.iter().map(|rule| registry(&(OFF.to_owned() + rule))).collect();
        let times = if prng.one_in(10) { 3000 } else { 12 };
        let raw = output(&mut prng, times);
        let exit_code = prng.pick(&[0, 1]);
        let expected = singles
            .iter()
            .fold(raw.clone(), |text, single| single.apply("x", &text, exit_code).output);
        let what = format!("run {run}: {}\n{raw:?}", rules.concat());
        let subject = subject(&chain, &limits, exit_code, raw.as_bytes());
        let (out, report) = if raw.len() < 300 { agree(&what, subject) } else { subject.push([]) };
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{what}");
        changed += usize::from(report.changed);
    }
    assert!(changed > 200, "{changed} texts were changed");
}

#[test]
fn lines_of_security_are_never_lost() {
    let kinds = [
        "warning: unused `Result` that must be used",
        "warning: unused variable of a Result",
        "warning: this value must be used",
        "thread 'main' panicked at src/main.rs:3:4:",
        "thread 'main' (2374) panicked at src/main.rs:3:4:",
        "warning: call to unsafe function",
        "note: dereference of raw pointer",
        "ssh: Authentication failed for mira",
        "HTTP/1.1 401 Unauthorized",
        "HTTP/1.1 403 Forbidden",
        "cat: /root/x: Permission denied",
        "weak cipher RC4",
        "Deprecated algorithm SHA1",
        "insecure hash MD5",
        "possible SQL injection in query",
        "unsafe query",
        "ID: RUSTSEC-2024-0001",
        "security advisory published",
        "1 Vulnerability detected",
    ];
    let chain = registry(
        "[[rules]]\nname = \"cut\"\nmatch = { exact = \"x\" }\n\
         strategy = { type = \"truncate\", max_lines = 6, head = 3, tail = 2 }\n\
         [[rules]]\nname = \"noise\"\nmatch = { exact = \"x\" }\n\
         strategy = { type = \"strip_noise\", patterns = ['^[a-z]'] }\n\
         [[rules]]\nname = \"equal\"\nmatch = { exact = \"x\" }\n\
         strategy = { type = \"dedup\" }\n",
    );
    let mut prng = Prng::named("security");
    let mut cut = 0;
    for run in 0..300 {
        let mut raw = String::new();
        for _ in 0..prng.below(60) {
            let line = match prng.below(4) {
                0 => format!("{}{}\n", " ".repeat(prng.below(3)), prng.pick(&kinds)),
                1 => format!("[tamis security: {}]\n", prng.pick(&kinds)),
                _ => output(&mut prng, 3),
            };
            raw += &line;
        }
        // Where there is no room to remember them, they are kept at once.
        let limits = Limits::new().with_held(prng.pick(&[4 << 20, 300, 0]));
        let what = format!("run {run}: {raw:?}");
        let subject = subject(&chain, &limits, 0, raw.as_bytes());
        let (out, report) = if raw.len() < 300 { agree(&what, subject) } else { subject.push([]) };
        let out = String::from_utf8(out).unwrap();
        for line in raw.lines().filter(|line| kinds.iter().any(|kind| line.contains(kind))) {
            assert!(out.contains(line), "{what}: {line} is lost:\n{out}");
        }
        cut += usize::from(report.cut);
    }
    assert!(cut > 200, "{cut} outputs were cut");
}

/// Held lines are written before later ones.
#[test]
fn a_line_that_is_too_long_stays_in_its_place() {
    let rule = |name| {
        format!(
            "[[rules]]\nname = \"{name}\"\nmatch = {{ exact = \"x\" }}\n\
             strategy = {{ type = \"strip_noise\", patterns = ['^b'] }}\ndedup = true\n"
        )
    };
    let (chain, limits) = (registry(&(rule("one") + &rule("two"))), Limits::new());
    let long = "z".repeat(70_000);
    let raw = format!("first line\nfirst line\nb\n{long}\nlast line\nlast line\n");
    let (out, _) = subject(&chain, &limits, 0, raw.as_bytes()).push([5, 30, 90]);
    let out = String::from_utf8(out).unwrap();
    assert!(
        out == format!("first line (x2)\n{long}\nlast line (x2)\n"),
        "{}",
        out.replace(&long, "z…")
    );
}

/// A line that left before it was complete is written once, and counts for the rules.
#[test]
fn a_line_that_leaves_early_is_written_once() {
    let rule = |name| {
        format!(
            "[[rules]]\nname = \"{name}\"\nmatch = {{ exact = \"x\" }}\n\
             strategy = {{ type = \"strip_noise\", patterns = ['^b', 'denied$'] }}\n\
             strip_sections = [{{ from = '^from', to = '^to' }}]\n"
        )
    };
    let (chain, limits) = (registry(&(rule("one") + &rule("two"))), Limits::new());
    for (pieces, expected) in [
        (&["a\nfr", "om\nc\nto\nd\n"][..], "a\nfrom\nd\n"),
        (&["a\nPermission", " denied\nb\nc\n"], "a\nPermission denied\nc\n"),
        (&["a\nContinue? ", "", "yes"], "a\nContinue? yes"),
        (&["a\nContinue? "], "a\nContinue? "),
    ] {
        let output = pieces.concat();
        let mut at = 0;
        let pauses: Vec<usize> = pieces
            .iter()
            .map(|piece| {
                at += piece.len();
                at
            })
            .collect();
        let (out, _) = subject(&chain, &limits, 0, output.as_bytes()).pause(&pauses);
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{pieces:?}");
    }
}
