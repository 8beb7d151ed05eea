//! Messages of a program stay, wherever they are in a long output.

use tamis_command::OutputFilterRegistry;

/// Commands, a line of their usual output, and their messages.
const LONG: [(&str, &str, &[&str]); 8] = [
    (
        "find . -type f",
        "./a{}/file",
        &[
            "find: ‘./a20/secret’: Permission denied",
            "/usr/bin/find: ‘./x’: Input/output error",
            "find: File system loop detected; ‘./l’ is part of the same file system loop as ‘.’.",
            "find: ‘./ä’: Keine Berechtigung",
        ],
    ),
    (
        "fd -t f",
        "src/a{}/file",
        &[
            "[fd error]: Search path 'x' is not a directory.",
            "fd: x: Permission denied (os error 13)",
        ],
    ),
    (
        "git ls-files",
        "src/a{}/file",
        &["warning: could not open directory 'x/': Permission denied", "fatal: bad object"],
    ),
    (
        "grep -rn x .",
        "./a{}.rs:{}: let x = {};",
        &[
            "grep: ./secret: Permission denied",
            "grep: warning: stray \\ before white space",
            "Binary file ./target/a matches",
            "grep: ./target/b: binary file matches",
            "/usr/bin/grep: c: Is a directory",
        ],
    ),
    (
        "rg -n x",
        "src/a{}.rs:{}: let x = {};",
        &[
            "rg: ./secret: Permission denied (os error 13)",
            "target/a: binary file matches (found \"\\0\" byte around offset 24)",
            "WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 9)",
        ],
    ),
    (
        "ls -R",
        "file{}",
        &[
            "ls: cannot open directory './secret': Permission denied",
            "ls: reading directory 'x': Input/output error",
        ],
    ),
    (
        "du -h .",
        "{}K\t./a{}/b",
        &[
            "du: cannot read directory './secret': Permission denied",
            "du: cannot access './x': No such file or directory",
        ],
    ),
    ("tree", "├── file{}", &["├── secret [error opening dir]"]),
];

#[test]
fn messages_in_the_middle_of_a_long_output_stay() {
    let registry = OutputFilterRegistry::builtin();
    for (command, usual, messages) in LONG {
        for at in [0, 850, 979, 1_400, 1_980] {
            let mut raw = String::new();
            for number in 0..2_000 {
                if number >= at && (number - at) % 3 == 0 {
                    raw.extend(messages.get((number - at) / 3).map(|line| format!("{line}\n")));
                }
                raw += &usual.replace("{}", &number.to_string());
                raw.push('\n');
            }
            let output = registry.apply(command, &raw, 1).output;
            assert!(output.contains(" lines left out"), "{command}: {output}");
            let mut rest = output.as_str();
            for message in messages {
                // `tree` writes levels as blanks.
                let message = message.trim_start_matches(['├', '─', ' ']);
                let found =
                    rest.find(message).unwrap_or_else(|| panic!("{command}: {message} at {at}"));
                rest = &rest[found + message.len()..];
            }
            assert!(output.lines().count() < 1_000 + 2 * messages.len(), "{command}");
        }
    }
}
