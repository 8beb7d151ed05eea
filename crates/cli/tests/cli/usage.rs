//! Refused command lines (exit code 2), and help.

use super::*;

#[test]
fn misuse_names_the_remedy() {
    let cases: [(&[&str], &[&str]); 21] = [
        (&["--where", "a"], &["--where", "PATH=VALUE", "PATH~REGEX"]),
        (&["--where", "a..b=1"], &["where: ", "(character 3 of `a..b`)"]),
        (&["--where", "a~("], &["matches: ", "(character 1 of `(`)"]),
        (&["--max-items", "2", "--root", "object"], &["--max-items", "--root object", "leave one"]),
        (&["--slect", "id"], &["--slect", "--select"]),
        (&["--select"], &["--select <K=PATH,PATH>"]),
        (&["--max-items", "-1"], &["--max-items", "such as 25"]),
        (&["--max-items", "many"], &["--max-items", "such as 25"]),
        (&["--max-depth", "1k"], &["--max-depth", "such as 25"]),
        (&["--held", "4MB"], &["--held", "64k, 16M or 1G"]),
        (&["--spill", "-5"], &["--spill", "64k, 16M or 1G"]),
        (&["--on-error", "open"], &["--on-error", "raw, closed"]),
        (&["--validation", "none"], &["full, structure"]),
        (&["--ndjson", "--pretty"], &["--ndjson", "--pretty", "leave one"]),
        (&["--ndjson", "--lenient"], &["--ndjson", "--lenient", "leave one"]),
        (&["--pretty", "--whitespace", "keep"], &["--pretty", "--whitespace", "leave one"]),
        (&["--stop-early"], &["--stop-early needs --max-items"]),
        (&["--stop-early", "--max-items", "0"], &["--stop-early needs --max-items"]),
        (&["--tee", "-"], &["--tee needs a file", "./-"]),
        (&["--select", "[0]"], &["select: [0] has no output key", "key=[0]"]),
        (&["--select", "id,x.id"], &["\"id\" is used twice", "other=x.id"]),
    ];
    for (args, words) in cases {
        let ran = piped(args, "[]");
        ran.refused(2, words);
        ran.one_line();
        assert!(!ran.err.contains("as a value"), "{}", ran.err);
    }
}

#[test]
fn habits_of_other_tools_are_answered() {
    let folder = Folder::new();
    folder.write("a.json", "[{\"n\":3},{\"n\":5},{\"n\":\"x\"}]");
    for (args, words) in [
        (&[".", "a.json"][..], "leave the `.` out"),
        (&[".items[]", "a.json"], "--select"),
        (&["a.json", "b.json"], "cat a.json b.json | tamis filter --docs"),
        (&["--select", "a,", "b", "a.json"], "no blank after its commas, or is in quotes: a,b"),
        (&["--limit", "2", "a.json"], "--max-items N"),
        (&["-n", "a.json"], "--max-items N"),
        (&["--sort-keys", "a.json"], "jq -S"),
        (&["--select", "owner.login as login"], "write login=owner.login"),
        (&["--select", "$..login"], "cannot search at every depth"),
        (&["--where", "n == 4"], "write n=4"),
        (&["--where", "n >= 4"], "'!n<4'"),
        (&["--where", "n"], "'PATH>N'"),
    ] {
        let ran = folder.run(args);
        ran.refused(2, &[words]);
        ran.one_line();
    }
    for (file, words) in [(".", "leave the `.` out"), ("https://a.b/c", "curl -s 'https://a.b/c'")]
    {
        folder.run([file]).refused(1, &[words]);
    }
    folder.run(["--where", "n > 4", "a.json"]).done("[{\"n\":5}]\n");
    folder.run(["--where", "n= 3 | x ", "a.json"]).done("[{\"n\":3},{\"n\":\"x\"}]\n");
    folder.tamis(&["help", "filtr"], b"").refused(2, &["did you mean `tamis help filter`?"]);
    folder.tamis(&["help", "limit"], b"").refused(2, &["did you mean `tamis help limits`?"]);
    folder.run(["a.json", "-o", "none/out.json"]).refused(1, &["none/out.json: cannot write"]);
    let ran = folder.run(["a.json", "-o", "none/out.json"]);
    assert!(!ran.err.contains(".tamis-"), "{}", ran.err);
}

#[test]
fn errors_of_a_path_point_at_the_character() {
    let ran = piped(&["--exclude", "id,a..b"], "[]");
    ran.refused(2, &["tamis: exclude: "]);
    assert!(ran.err.ends_with("(character 3 of `a..b`)\n"), "{}", ran.err);
    ran.one_line();
    piped(&["--retain", "items"], "[]").refused(2, &["retain: a JSON Pointer starts with `/`"]);
    piped(&["--select", ""], "[]").refused(2, &["select: "]);
    piped(&["--select", "a,,b"], "[]").refused(2, &["select: "]);
    piped(&["--root", "a[]"], "[]").refused(2, &["root: "]);
}

#[test]
fn help_and_version() {
    let folder = Folder::new();
    let short = folder.run(["-h"]);
    let long = folder.run(["--help"]);
    assert_eq!((short.code, long.code), (0, 0));
    assert!(short.out.len() < long.out.len());
    for word in ["Examples:", "Exit codes:", "  2  "] {
        assert!(long.out.contains(word), "{word}");
    }
    let tamis = |args: &[&str]| {
        Ran::new(&Command::new(env!("CARGO_BIN_EXE_tamis")).args(args).output().unwrap())
    };
    assert_eq!(tamis(&["--version"]).out, concat!("tamis ", env!("CARGO_PKG_VERSION"), "\n"));
    let details = tamis(&["--version", "--verbose"]);
    assert_eq!(details.code, 0, "{}", details.err);
    for line in ["tamis ", "kernel ", "features ", "program ", "configuration ", "state "] {
        assert!(details.out.lines().any(|found| found.starts_with(line)), "{}", details.out);
    }
    assert_eq!(tamis(&["-v", "-V"]).out, details.out);
    // Without a terminal, the missing command is an error.
    assert_eq!(tamis(&[]).code, 2);
    assert_eq!(tamis(&["fitler"]).code, 2);
    assert_eq!(tamis(&["--help"]).code, 0);
}
