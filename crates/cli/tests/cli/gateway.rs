//! `tamis mcp`, with a program in the place of `tamis-gateway`.

use super::*;

/// A folder with a copy of the command, which finds no other binary next to it.
fn apart() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("own")).unwrap();
    std::fs::create_dir(folder.path("bin")).unwrap();
    let copy = folder.path("own/tamis");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_tamis"), &copy).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_tamis"), &copy).unwrap();
    }
    folder
}

fn install(folder: &Folder, at: &str, script: &str) {
    folder.write(at, format!("#!/bin/sh\n{script}\n"));
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(at), all).unwrap();
}

fn run(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = Command::new(folder.path("own/tamis"));
    command.current_dir(folder.path("")).args(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.path("bin").display()));
    Ran::new(&folder.feed(&mut command, b"input"))
}

#[test]
fn a_missing_binary_is_reported_with_a_remedy() {
    let folder = apart();
    let (mcp, serve) =
        ("crates/gateway --profile dist\n", "crates/gateway --profile dist --features serve\n");
    for (args, install) in [
        (&["mcp", "--", "cat"][..], mcp),
        (&["mcp", "--upstream", "http://x/"], mcp),
        (&["serve", "--config", "gateway.yaml"], serve),
    ] {
        let ran = run(&folder, args);
        ran.refused(2, &["tamis-gateway", "is not at", install]);
        ran.one_line();
    }
}

#[test]
fn the_command_line_is_passed_on() {
    let folder = apart();
    let script = "printf '%s|' \"$@\"; cat; exit 7";
    install(&folder, "own/tamis-gateway", script);
    let cases: [(&[&str], &str); 3] = [
        (
            &["mcp", "--log", "l", "--", "server", "--log", "x y", ""],
            "mcp|--log|l|--|server|--log|x y||",
        ),
        (&["--color", "never", "mcp", "--", "a"], "--color|never|mcp|--|a|"),
        (
            &["mcp", "--color=never", "--upstream", "http://x/"],
            "mcp|--color=never|--upstream|http://x/|",
        ),
    ];
    for (args, passed) in cases {
        let ran = run(&folder, args);
        assert_eq!((ran.code, ran.out), (7, format!("{passed}input")), "{args:?}");
    }
    // A binary in another folder is not started.
    install(&folder, "bin/tamis-gateway", "echo planted");
    std::fs::remove_file(folder.path("own/tamis-gateway")).unwrap();
    run(&folder, &["mcp", "--", "a"]).refused(2, &["is not at"]);
}

#[test]
fn wrong_arguments_are_reported_before_the_binary_is_needed() {
    let folder = apart();
    let cases: [(&[&str], &str); 4] = [
        (&["mcp"], "COMMAND"),
        (&["mcp", "server"], "unexpected argument 'server'"),
        (&["mcp", "--profile", "x", "--", "a"], "lossless, standard, tight, off"),
        (&["mcp", "--listen", "127.0.0.1:1", "--", "a"], "--listen <ADDRESS>' cannot be used"),
    ];
    for (args, words) in cases {
        let ran = run(&folder, args);
        ran.refused(2, &[words]);
        ran.one_line();
    }
    let help = run(&folder, &["mcp", "--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.out.contains("Usage: tamis mcp [OPTIONS] -- COMMAND [ARG]..."), "{}", help.out);
}

#[test]
fn the_file_of_a_gateway_is_checked() {
    let folder = Folder::new();
    let yaml =
        "version: 1\ndefault: refuse\nroutes:\n- when: {path: /a}\n  spec: {exclude: [ssn]}\n";
    folder.write("gateway.yaml", yaml.as_bytes());
    let checked = folder.tamis(&["check", "gateway.yaml"], b"");
    assert_eq!((checked.code, checked.out.as_str()), (0, "gateway.yaml: 1 route (gateway)\n"));
    // The warnings are those of the same rules in a manifest.
    let warning = "warning: route 1: `exclude` with an automatic root";
    assert!(checked.err.contains(&format!("gateway.yaml:5:10: {warning}")), "{}", checked.err);
    let refused = folder.tamis(&["check", "--deny-warnings", "gateway.yaml"], b"");
    assert_eq!(refused.code, 2, "{}", refused.err);
    for path in ["/users/{id}", "/users/:id", "/users/(.*)"] {
        folder.write("gateway.yaml", yaml.replace("/a", &format!("'{path}'")).as_bytes());
        let refused = folder.tamis(&["check", "gateway.yaml"], b"");
        assert_eq!(refused.code, 2, "{path}");
        assert!(refused.err.contains("write `*` for one segment"), "{}", refused.err);
    }
    folder.write("gateway.yaml", yaml.replace("spec", "spce").as_bytes());
    let refused = folder.tamis(&["check", "gateway.yaml"], b"");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("gateway.yaml:5:3: unknown key `spce`"), "{}", refused.err);
}

/// The routes of a gateway are filters with names, for the commands that read manifests.
#[test]
fn the_routes_of_a_gateway_are_audited_and_explained() {
    let folder = Folder::new();
    folder.write("tools.yaml", b"version: 1\nfilters:\n  list: {exclude: [ssn], root: object}\n");
    let yaml = "version: 1\ndefault: refuse\nroutes:\n\
        - name: users\n  when: {path: '/users/**'}\n  spec: {exclude: [ssn]}\n\
        - name: ids\n  when: {path: /ids}\n  spec: {retain: [/id]}\n\
        - when: {path: /mcp}\n  mcp: {manifests: [tools.yaml]}\n";
    folder.write("g.yaml", yaml.as_bytes());
    let audited = folder.tamis(&["audit", "--seconds", "86400", "g.yaml"], b"");
    assert_eq!((audited.code, audited.err.as_str()), (1, ""), "{}", audited.out);
    for line in ["g.yaml: users: ", "g.yaml: ids: ", "tools.yaml: list: "] {
        assert!(audited.out.contains(line), "{}", audited.out);
    }
    let one = folder.tamis(&["audit", "--seconds", "86400", "--tool", "ids", "g.yaml"], b"");
    assert_eq!(one.out.lines().filter(|line| line.starts_with("g.yaml: ")).count(), 1);
    for name in ["users", "list"] {
        let explained = folder.tamis(&["explain", "--manifest", "g.yaml", "--tool", name], b"");
        assert_eq!((explained.code, explained.err.as_str()), (0, ""));
        assert!(explained.out.contains("ssn"), "{}", explained.out);
    }
    let missing = folder.tamis(&["explain", "--manifest", "g.yaml", "--tool", "usrs"], b"");
    missing.refused(2, &["no route with a filter has the name `usrs`; there are: users, ids"]);
}
