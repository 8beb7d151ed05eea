//! Colours, carets and the progress bar appear only on a terminal.

use super::*;

/// `CI` too: logs of continuous integration show colours, whatever `TERM` says.
const COLOURS: [&str; 5] = ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM", "CI"];

/// Runs with these variables, and with none of the others that say something about colours.
fn run(command: &mut Command, variables: &[(&str, &str)]) -> Ran {
    for name in COLOURS {
        command.env_remove(name);
    }
    Ran::new(&command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn no_escapes_and_no_carets_where_nobody_looks() {
    let folder = Folder::new();
    folder.write("a.json", "[{\"a\":1}]");
    for args in [
        &["--select", "a..b", "a.json"][..],
        &["--slect", "a.json"],
        &["--select", "x", "--stats", "a.json"],
        &["nothing.json"],
        &["--help"],
    ] {
        for term in ["xterm-256color", "dumb"] {
            let ran = run(folder.command().args(args), &[("TERM", term)]);
            assert!(
                !ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'),
                "{args:?}: {ran:?}"
            );
            assert!(
                ran.err.lines().all(|line| line.starts_with("tamis: ")),
                "{args:?}: {}",
                ran.err
            );
        }
    }
}

#[test]
fn colours_can_be_asked_for_and_forbidden() {
    let folder = Folder::new();
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let ran = run(folder.command().args(args).arg("nothing.json"), variables);
        assert_eq!(ran.code, 1, "{}", ran.err);
        let plain = ran.err.replace("\u{1b}[1m\u{1b}[31m", "").replace("\u{1b}[0m", "");
        assert!(plain.starts_with("tamis: nothing.json: "), "{}", ran.err);
        plain != ran.err
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(coloured(&["--color", "always"], &[]));
    assert!(coloured(&["--color=always"], &[("NO_COLOR", "1")]), "who types wins");
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["--color", "auto"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["--color", "always", "--color", "never"], &[]), "the last one counts");
    folder.tamis(&["--color", "sometimes", "help"], b"").refused(2, &["auto, always, never"]);
    // Before the command too, in help, and in what the parser refuses.
    let help = folder.tamis(&["--color=always", "help", "paths"], b"");
    assert!(help.out.starts_with('\u{1b}'), "{}", help.out);
    let refused = folder.tamis(&["--color=always", "filter", "--slect"], b"");
    assert!(
        refused.err.starts_with('\u{1b}') && refused.err.lines().count() == 1,
        "{}",
        refused.err
    );
    assert!(folder.tamis(&["filter", "--color", "always", "-h"], b"").out.contains('\u{1b}'));
}

/// Tests that run a process with its own terminal.
#[cfg(target_os = "linux")]
mod pty {
    use std::io::Read;
    use std::time::{Duration, Instant};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    /// A terminal: the end that shows, and the end that a process writes to.
    fn terminal() -> (File, File) {
        let shows = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&shows).unwrap();
        unlockpt(&shows).unwrap();
        let name = ptsname(&shows, Vec::new()).unwrap();
        let name = Path::new(OsStr::new(name.to_str().unwrap())).to_owned();
        let written = File::options().read(true).write(true).open(name).unwrap();
        (File::from(shows), written)
    }

    /// Reads from a terminal until all writers have closed it.
    fn shown(mut terminal: File) -> std::thread::JoinHandle<String> {
        std::thread::spawn(move || {
            let mut shown = Vec::new();
            let mut piece = [0; 4096];
            // Reading fails when the last writer has gone.
            while let Ok(count @ 1..) = terminal.read(&mut piece) {
                shown.extend_from_slice(&piece[..count]);
            }
            String::from_utf8(shown).unwrap()
        })
    }

    /// Runs with standard error on a terminal.
    fn said(command: &mut Command, variables: &[(&str, &str)]) -> String {
        let (terminal, written) = terminal();
        let shown = shown(terminal);
        for name in COLOURS {
            command.env_remove(name);
        }
        command.env("TERM", "xterm").envs(variables.iter().copied());
        command.stdout(Stdio::null()).stderr(written).status().unwrap();
        // The command holds the terminal open as long as it lives.
        command.stderr(Stdio::null());
        shown.join().unwrap()
    }

    #[test]
    fn errors_are_coloured_and_point_at_the_character() {
        let folder = Folder::new();
        let text = said(folder.command().args(["--exclude", "id,a..b"]), &[]);
        assert!(text.starts_with("\u{1b}[1m\u{1b}[31mtamis:\u{1b}[0m exclude: "), "{text}");
        assert!(text.ends_with("(character 3 of `a..b`)\r\n  a..b\r\n    ^\r\n"), "{text}");
        folder.write("bad.yaml", "version: 1\nfilters:\n  a: {select: [id, a..b]}\n");
        let text = said(folder.command().args(["--manifest", "bad.yaml"]), &[("NO_COLOR", "1")]);
        let below = "\r\n    a: {select: [id, a..b]}\r\n                       ^\r\n";
        assert!(text.starts_with("tamis: bad.yaml:3:22: a: select: "), "{text}");
        assert!(text.ends_with(below), "{text}");
        let text = said(folder.command().arg("--slect"), &[]);
        assert!(text.contains("see --help\r\n  usage: tamis filter "), "{text}");
    }

    #[test]
    fn colours_are_left_out_where_that_is_said() {
        let folder = Folder::new();
        for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")], [("CLICOLOR", "0")]] {
            let text = said(folder.command().arg("nothing.json"), &variables);
            assert!(text.starts_with("tamis: nothing.json: "), "{variables:?}: {text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        let text = said(folder.command().args(["--color", "never", "nothing.json"]), &[]);
        assert!(!text.contains('\u{1b}'), "{text}");
        let text = said(folder.command().arg("nothing.json"), &[]);
        assert!(text.contains('\u{1b}'), "{text}");
    }

    /// Runs with both outputs on a terminal, over an input from a pipe.
    fn shows(args: &[&str], input: &[u8], variables: &[(&str, &str)]) -> String {
        let (terminal, written) = terminal();
        let shown = shown(terminal);
        let folder = Folder::new();
        let mut command = folder.command();
        for name in COLOURS {
            command.env_remove(name);
        }
        command.args(args).env("TERM", "xterm").envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(written.try_clone().unwrap()).stderr(written);
        let mut child = command.spawn().unwrap();
        // The command holds the terminal open as long as it lives.
        drop(command);
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait().unwrap();
        shown.join().unwrap().replace("\r\n", "\n")
    }

    #[test]
    fn a_document_is_indented_and_coloured_on_a_terminal_only() {
        let input = br#"{"a":[1.50,null],"b":"x"}"#;
        let (bold, end) = ("\u{1b}[1m", "\u{1b}[0m");
        let text = shows(&[], input, &[]);
        assert!(
            text.starts_with(&format!("{bold}{{{end}\n  {bold}\u{1b}[34m\"a\"{end}")),
            "{text:?}"
        );
        assert!(text.contains("\u{1b}[90mnull") && text.contains("\u{1b}[32m\"x\""), "{text:?}");
        let plain = "{\n  \"a\": [\n    1.50,\n    null\n  ],\n  \"b\": \"x\"\n}\n";
        for (args, variables) in [
            (&["--color=never"][..], &[][..]),
            (&[], &[("NO_COLOR", "1")]),
            (&[], &[("TERM", "dumb")]),
        ] {
            assert_eq!(shows(args, input, variables), plain, "{args:?} {variables:?}");
        }
        let line = "{\"a\":[1.50,null],\"b\":\"x\"}\n";
        assert_eq!(shows(&["--whitespace=minify", "--color=never"], input, &[]), line);
        assert_eq!(shows(&["--ndjson", "--color=never"], input, &[]), line);
        // In a pipe the bytes are those of the engine, whatever the environment says. Only a flag colours them.
        let folder = Folder::new();
        let piped = |args: &[&str]| {
            let mut command = folder.command();
            command.args(args).env("CLICOLOR_FORCE", "1").env("CI", "1");
            Ran::new(&folder.feed(&mut command, input)).out
        };
        assert_eq!(piped(&[]), line);
        assert!(piped(&["--color=always"]).starts_with(&format!("{bold}{{{end}{bold}\u{1b}[34m")));
    }

    #[test]
    fn an_error_begins_a_line_of_its_own() {
        let text = shows(&["--color=never"], b"{\"a\":1}x", &[]);
        assert!(text.starts_with("{\n  \"a\": 1\n}\ntamis: standard input: byte 7: "), "{text}");
        let text = shows(&["--whitespace=minify"], b"[\"a\",oops", &[]);
        let (reset, bold) = ("\u{1b}[0m", "\u{1b}[1m");
        let end = "\u{1b}[0m\n\u{1b}[1m\u{1b}[31mtamis:\u{1b}[0m ";
        assert!(text.contains(&format!("\"a\"{reset}{bold},{end}")), "{text:?}");
    }

    /// Runs over a pipe that gives a little, waits, and gives the rest.
    fn slowly(wait: Duration, term: &str, output_too: bool) -> String {
        let (terminal, written) = terminal();
        let shown = shown(terminal);
        let folder = Folder::new();
        let mut command = folder.command();
        command
            .args(["--select=id", "--root=first", "--color=never"])
            .env("TERM", term)
            .stdin(Stdio::piped());
        let output = if output_too { written.try_clone().unwrap().into() } else { Stdio::null() };
        let mut child = command.stdout(output).stderr(written).spawn().unwrap();
        // The command holds the terminal open as long as it lives.
        drop(command);
        let mut stdin = child.stdin.take().unwrap();
        let begin = Instant::now();
        stdin.write_all(b"[{\"id\":1}").unwrap();
        while begin.elapsed() < wait {
            std::thread::sleep(Duration::from_millis(50));
            stdin.write_all(b",{\"id\":2}").unwrap();
        }
        stdin.write_all(b"]").unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
        shown.join().unwrap()
    }

    const LONG: Duration = Duration::from_millis(1600);

    #[test]
    fn a_bar_appears_after_a_second_and_goes() {
        let text = slowly(LONG, "xterm", false);
        assert!(text.contains(" B, ") && text.contains("/s"), "{text:?}");
        assert!(text.trim_end_matches('\r').ends_with("\u{1b}[2K"), "it is wiped: {text:?}");
    }

    #[test]
    fn a_short_run_shows_no_bar() {
        assert_eq!(slowly(Duration::from_millis(100), "xterm", false), "");
    }

    #[test]
    fn no_bar_stands_in_the_output_nor_where_it_cannot_be_wiped() {
        let text = slowly(LONG, "xterm", true);
        assert!(text.starts_with("[\r\n  {\r\n    \"id\": 1\r\n"), "{text:?}");
        assert!(text.ends_with("}\r\n]\r\n"), "{text:?}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(slowly(LONG, "dumb", false), "");
    }
}
