//! Registries: which filter is taken, what turns filters off, and filters of one's own.

use tamis::Limits;
use tamis_command::{
    CommandLine, CommandRules, FilterResult, OutputFilter, OutputFilterRegistry, PassThroughReason,
};

use tamis_testkit::commands::drivers::{Subject, agree};

/// Says which filter it is, and what it was asked.
struct Says {
    name: &'static str,
    prefix: &'static str,
}

impl OutputFilter for Says {
    fn matches(&self, command: &str) -> bool {
        command.starts_with(self.prefix)
    }

    fn filter(&self, command: &str, raw_output: &str, exit_code: i32) -> FilterResult {
        FilterResult::new(raw_output, format!("{} {command} {exit_code}", self.name))
    }

    fn name(&self) -> &str {
        self.name
    }
}

const LONG: &str = "a line of some length, so that what is said of it is shorter than it is\n";

#[test]
fn the_first_that_fits_is_taken() {
    let registry = OutputFilterRegistry::new()
        .register(Says { name: "one", prefix: "deploy web" })
        .register(Says { name: "two", prefix: "deploy" })
        .register_rules(CommandRules::builtin());
    for (command, output) in [
        ("deploy web", "one deploy web 3"),
        ("deploy db", "two deploy db 3"),
        ("other", LONG),
        ("git status", LONG),
    ] {
        let result = registry.apply(command, LONG, 3);
        assert_eq!(result.output, output, "{command}");
        assert_eq!(result.raw_chars, LONG.len());
        assert_eq!(result.filtered_chars, output.len());
        assert_eq!(result.filtered_bytes, output.len());
    }
    let off = registry.clone().without("one");
    assert_eq!(off.apply("deploy web", LONG, 0).output, "two deploy web 0");
    let off = registry.with_enabled(false);
    assert_eq!(off.apply("deploy web", LONG, 0).output, LONG);
    assert!(!off.is_enabled());
}

#[test]
fn an_empty_registry_changes_nothing() {
    let result = OutputFilterRegistry::new().apply("cargo build", "   Compiling é v1\n", 0);
    assert_eq!(result.output, "   Compiling é v1\n");
    assert_eq!((result.raw_chars, result.filtered_chars), (18, 18));
    assert_eq!((result.raw_bytes, result.filtered_bytes), (19, 19));
}

/// A command, and why its output passes.
#[test]
fn reasons_for_unfiltered_output() {
    let registry = OutputFilterRegistry::builtin();
    let compiling = "   Compiling a v1.0.0\n".repeat(20);
    for (command, passed) in [
        ("cargo build", None),
        ("cd x && cargo build 2>&1 | tee log", None),
        ("cargo build | tail", Some(PassThroughReason::NoFilter)),
        ("cargo build && cargo test", None),
        ("for x in 1 2; do cargo build; done", Some(PassThroughReason::Unclear)),
        ("cargo build --message-format=json", Some(PassThroughReason::MachineFormat)),
        ("cargo metadata", Some(PassThroughReason::NoFilter)),
        ("git show HEAD:src/main.rs", Some(PassThroughReason::NoFilter)),
        ("curl -s https://api.example.com", Some(PassThroughReason::NoFilter)),
        ("", Some(PassThroughReason::Unclear)),
    ] {
        let subject = Subject {
            registry: &registry,
            limits: &Limits::new(),
            command,
            exit_code: Some(0),
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: compiling.as_bytes(),
        };
        let (out, report) = agree(command, subject);
        assert_eq!(report.passed, passed, "{command}");
        assert_eq!(report.filter.is_none(), passed.is_some(), "{command}");
        assert_eq!(out == compiling.as_bytes(), passed.is_some(), "{command}");
    }
    let off = registry.with_enabled(false);
    let mut run = off.start(&CommandLine::parse("cargo build"), &Limits::new(), Vec::new());
    run.write(compiling.as_bytes()).unwrap();
    assert_eq!(run.end().unwrap().passed, Some(PassThroughReason::Disabled));
}

#[test]
fn output_that_is_structured_passes_whatever_the_command() {
    let registry = OutputFilterRegistry::builtin();
    let lines = "   Compiling a v1.0.0\n".repeat(20);
    for (begins, structured) in [
        ("{\"a\":1}\n", true),
        ("\u{feff}  [\n{", true),
        ("<?xml version=\"1.0\"?>\n", true),
        ("[warn] x\n", false),
        ("{ x }\n", false),
    ] {
        let output = format!("{begins}{lines}");
        let limits = Limits::new();
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command: "cargo build",
            exit_code: Some(0),
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: output.as_bytes(),
        };
        let (out, report) = agree(begins, subject);
        assert_eq!(report.passed == Some(PassThroughReason::Structured), structured, "{begins}");
        assert_eq!(out == output.as_bytes(), structured, "{begins}");
    }
}

#[test]
fn filters_of_ones_own_get_what_may_be_held() {
    let registry = OutputFilterRegistry::new().register(Says { name: "own", prefix: "deploy" });
    let limits = Limits::new().with_held(1000);
    for (output, passed, changed) in [
        (vec![b'x'; 999], None, true),
        (vec![b'x'; 1000], None, true),
        (vec![b'x'; 1001], Some(PassThroughReason::TooLong), false),
        (vec![0xff; 500], Some(PassThroughReason::NotText), false),
        // The result is longer than the input.
        (vec![b'x'; 5], None, false),
        (Vec::new(), None, false),
    ] {
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command: "deploy",
            exit_code: None,
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: &output,
        };
        let (out, report) = agree("own", subject);
        assert_eq!((report.passed, report.changed), (passed, changed), "{}", output.len());
        if changed {
            let said = "own deploy -1\n[tamis own: 1 shortened; full output: full.log]\n";
            assert_eq!(String::from_utf8(out).unwrap(), said);
        } else {
            assert_eq!(out, output);
        }
    }
}

#[test]
fn notices_about_removed_lines() {
    let registry = OutputFilterRegistry::builtin();
    let output = "   Compiling a v1.0.0\n".repeat(30) + "warning: x";
    let run = |full: Option<&str>| {
        let line = CommandLine::from_args(["cargo", "build"]);
        let mut run = registry.start(&line, &Limits::new(), Vec::new());
        run.write(output.as_bytes()).unwrap();
        run.set_exit_code(Some(0));
        if let Some(full) = full {
            run.set_full_output(full);
        }
        let report = run.end().unwrap();
        let out = run.into_sink();
        assert_eq!(report.full_output.as_deref(), full);
        assert_eq!((report.lines_in, report.lines_removed, report.lines_out), (31, 30, 2));
        String::from_utf8(out).unwrap()
    };
    assert_eq!(run(None), "warning: x\n[tamis cargo-build: 30 of 31 lines left out]\n");
    let with = run(Some("/tmp/a\nb.log"));
    assert!(with.ends_with("left out; full output: /tmp/a\\nb.log]\n"), "{with}");
    // In a short output, a notice would cost more than the line.
    assert_eq!(registry.apply("cargo build", "   Compiling a v1\nx\n", 0).output, "x\n");
    let line = CommandLine::parse("cargo build");
    let mut short = registry.start(&line, &Limits::new(), Vec::new());
    short.write(b"   Compiling a v1\nx\n").unwrap();
    short.set_exit_code(Some(0));
    short.end().unwrap();
    assert_eq!(short.into_sink(), b"   Compiling a v1\nx\n");
}

/// Rules for how a command ended wait, up to a limit; then the one for failures is taken.
#[test]
fn variants_wait_and_have_an_end() {
    let rules =
        "[[rules]]\nname = \"x\"\nmatch = { exact = \"x\" }\n[rules.exit.ok]\nstrip = ['^cc ']\n";
    let registry =
        OutputFilterRegistry::new().register_rules(CommandRules::parse("x.toml", rules).unwrap());
    let output = "cc -c -o a.o a.c\n".repeat(2000);
    for (held, exit_code, cut) in [
        (1 << 20, Some(0), true),
        (1 << 20, Some(2), false),
        (1 << 20, None, false),
        (1 << 10, Some(0), false),
    ] {
        let limits = Limits::new().with_held(held);
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command: "x",
            exit_code,
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: output.as_bytes(),
        };
        let (out, report) = subject.push([]);
        assert_eq!(subject.push((1..output.len()).step_by(7)), (out.clone(), report.clone()));
        assert_eq!(report.cut, cut, "{held} {exit_code:?}");
        assert_eq!(out.len() < output.len(), cut);
    }
}

/// A list without an end keeps its head and its tail.
#[test]
fn long_lists_are_cut() {
    let registry = OutputFilterRegistry::builtin();
    let output: String = (0..3000).map(|number| format!("src/a.rs:{number}:x\n")).collect();
    for (command, separator) in [("grep -rn x .", "  "), ("rg x", "  ")] {
        let limits = Limits::new();
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command,
            exit_code: Some(0),
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: output.as_bytes(),
        };
        let (out, report) = agree(command, subject);
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        // The heading does not count as an item, and is repeated after the gap.
        assert_eq!(lines[..2], ["src/a.rs:", &format!("{separator}0:x")]);
        assert_eq!(lines[801..804], ["... 2100 lines left out", "src/a.rs:", "  2900:x"]);
        assert_eq!(report.lines_left_out, 2100);
        assert!(lines.last().unwrap().starts_with("[tamis grep: 2100 of 3000 lines left out, "));
    }
}

/// A gigabyte of it would be no more: what a run holds is bounded, and each byte costs the same.
#[test]
fn long_outputs_stream() {
    let registry = OutputFilterRegistry::builtin();
    let line = CommandLine::parse("cargo build");
    let mut run = registry.start(&line, &Limits::new(), Count(0));
    let chunk = "   Compiling a v1.0.0\nwarning: unused\n".repeat(1000);
    for number in 1..=200_u64 {
        run.write(chunk.as_bytes()).unwrap();
        // It does not wait for the end.
        assert_eq!(run.sink().0, number * 1000 * "warning: unused\n".len() as u64);
    }
    run.set_exit_code(Some(0));
    let report = run.end().unwrap();
    assert_eq!(report.lines_removed, 200_000);
}

struct Count(u64);

impl tamis::Sink for Count {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}
