//! Memory, counted at the allocator, for outputs that are far longer than it; and time, which grows only with the
//! output.

use std::path::Path;

use tamis::{Limits, Sink};
use tamis_command::{CommandLine, CommandRules, OutputFilterRegistry};
use tamis_testkit::clock::cpu_time;
use tamis_testkit::effort::{TestEffort, effort};

/// The limit `held` of a run: for waiting lines, the tail and groups.
const HELD: u64 = 256 << 10;
/// The maximum allocation of a run: `HELD`, twice for a growing list, the automata of patterns, and a part of a chunk.
const PEAK: u64 = 3 << 20;

struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) {}
}

/// Rules that hold, one for each stage, and texts that make them.
const RULES: &str = r#"
[[rules]]
name = "sections"
match = { exact = "sections" }
sections = [{ from = "^never$" }]
[[rules]]
name = "scattered"
match = { exact = "scattered" }
group = { by = '^(\w+) (.*)$', scattered = true }
[[rules]]
name = "row"
match = { exact = "row" }
group = { by = '^(\w+) (.*)$' }
[[rules]]
name = "alike"
match = { exact = "alike" }
dedup = "alike"
[[rules]]
name = "tail"
match = { exact = "tail" }
tail = 1000000
[[rules]]
name = "long"
match = { exact = "chain" }
strategy = { type = "truncate", max_lines = 3000000, tail = 1000000 }
[[rules]]
name = "noise"
match = { exact = "chain" }
strategy = { type = "strip_noise", patterns = ["unauthorized"] }
[[rules]]
name = "exit"
match = { exact = "exit" }
[rules.exit.ok]
strip = ["x"]
"#;

/// A line, by its number.
type Line = fn(usize) -> String;

const LINES: [(&str, Line); 6] = [
    ("keys that are all different", |number| format!("key{number} an item of some length\n")),
    ("one key", |number| format!("key item {number}\n")),
    ("times", |number| format!("12:00:{:02} the same\n", number % 60)),
    ("lines of security", |number| format!("{number} unauthorized\n")),
    ("empty lines", |_| "\n".to_owned()),
    ("ids", |number| format!("{number:016x}{number:016x}\n")),
];

/// Returns the rules above and the built-in ones, with patterns that no other test uses. A pattern keeps caches for the
/// threads that use it. If tests share one, a run may find its cache taken and fill another.
fn registry() -> OutputFilterRegistry {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/command/src/builtin");
    let files = std::fs::read_dir(folder).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let builtin = texts.collect::<String>();
    let rules = CommandRules::parse("rules.toml", RULES).unwrap();
    let builtin = CommandRules::parse("builtin.toml", &builtin).unwrap();
    assert_eq!(builtin.names().len(), CommandRules::builtin().names().len());
    OutputFilterRegistry::new().register_rules(rules).register_rules(builtin)
}

/// Filters a chunk as often as given.
fn run(
    registry: &OutputFilterRegistry,
    command: &CommandLine,
    limits: &Limits,
    chunk: &str,
    chunks: usize,
) {
    let mut run = registry.start(command, limits, Nowhere);
    for _ in 0..chunks {
        run.write(chunk.as_bytes()).unwrap();
    }
    run.set_exit_code(Some(0));
    run.end().unwrap();
}

const COMMANDS: [&str; 18] = [
    "sections",
    "scattered",
    "row",
    "alike",
    "tail",
    "exit",
    "chain",
    "make",
    "mypy x",
    "grep -r x",
    "cargo test",
    "find .",
    "journalctl",
    "npm run x",
    "pylint x",
    "dotnet build",
    "rspec",
    "psql",
];

#[test]
fn held_bytes_are_limited() {
    let registry = registry();
    let limits = Limits::new().with_held(HELD);
    for (number, (what, line)) in LINES.into_iter().enumerate() {
        let chunk: String = (0..4000).map(line).collect();
        for (place, command) in COMMANDS.into_iter().enumerate() {
            // A part of the effort: each command with two of the kinds of lines.
            if effort() < TestEffort::Full && (number + place) % 3 != 0 {
                continue;
            }
            let command = CommandLine::parse(command);
            // Patterns are compiled once, and their caches stay.
            run(&registry, &command, &limits, &chunk, 1);
            let chunks = (6 << 20) / chunk.len();
            let measured = allocation_counter::measure(|| {
                run(&registry, &command, &limits, &chunk, chunks);
            });
            assert!(measured.bytes_max < PEAK, "{what}: {command:?}: {}", measured.bytes_max);
        }
    }
}

/// An output that is eight times as long takes about eight times as much time of this thread, and not 64 times as much.
/// The margin is wide, and each pair gets several tries.
#[test]
fn time_is_proportional_to_the_output() {
    let registry = registry();
    let limits = Limits::new();
    let time = |command: &CommandLine, chunk: &str, chunks: usize| {
        let begin = cpu_time();
        run(&registry, command, &limits, chunk, chunks);
        cpu_time() - begin
    };
    for (what, line) in LINES {
        let chunk: String = (0..2000).map(line).collect();
        // About 128 KiB, or one chunk.
        let chunks = ((1 << 17) / chunk.len()).max(1);
        for command in COMMANDS {
            let command = CommandLine::parse(command);
            // Patterns are compiled once.
            time(&command, &chunk, chunks);
            let mut tries = Vec::new();
            let grows = || {
                let (short, long) =
                    (time(&command, &chunk, chunks), time(&command, &chunk, 8 * chunks));
                tries.push((short, long));
                long < short * 32 + std::time::Duration::from_millis(50)
            };
            assert!(
                std::iter::repeat_with(grows).take(5).any(|so| so),
                "{what}: {command:?}: {tries:?}"
            );
        }
    }
}
