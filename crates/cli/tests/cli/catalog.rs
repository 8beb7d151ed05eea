//! The built-in catalog as a base of manifests, and the names of its tools.

use super::*;

const REPOS: &str = r#"[{"id":1,"full_name":"a/b","fork":false,"url":"https://x"},{"id":2}]"#;
const KEPT: &str = "[{\"full_name\":\"a/b\",\"fork\":false},{}]\n";

#[test]
fn a_built_in_filter_is_printed_as_a_manifest() {
    let folder = Folder::new();
    folder.write("repos.json", REPOS);
    let yaml = folder.tamis(&["tools", "--yaml", "github.list-repos"], b"");
    assert_eq!((yaml.code, yaml.err.as_str()), (0, ""));
    assert!(yaml.out.starts_with("version: 1\nfilters:\n  # "), "{}", yaml.out);
    let args = ["--manifest", "-", "repos.json"];
    let ran = folder.pipe(args, yaml.out.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (0, KEPT));
    // In a manifest of the user, paths that no item has are warnings.
    assert!(ran.err.contains("warning: no item has `html_url`, `description`"), "{}", ran.err);
    folder.run(["--tool", "github.list-repos", "repos.json"]).done(KEPT);
    let short = folder.tamis(&["tools", "--yaml", "mcp__github__list_repos"], b"");
    assert_eq!(short.out, yaml.out);
    folder
        .tamis(&["tools", "--yaml", "github.list-repo"], b"")
        .refused(2, &["did you mean `github.list-repos`?"]);
    folder.tamis(&["tools", "--yaml", "a", "b"], b"").refused(2, &["--yaml"]);
}

#[test]
fn names_of_mcp_servers_are_known() {
    let folder = Folder::new();
    folder.write("repos.json", REPOS);
    for name in ["mcp__github__list_repos", "github_list_repos", "github.list_repos", "list_repos"]
    {
        folder.run(["--tool", name, "repos.json"]).done(KEPT);
    }
    folder.run(["--tool", "list_issues", "repos.json"]).refused(
        2,
        &[
            "several services",
            "github.list-issues, gitlab.list-issues, linear.list-issues, sentry.list-issues",
        ],
    );
}

#[test]
fn a_manifest_falls_back_on_the_catalog() {
    let folder = Folder::new();
    folder.write("repos.json", REPOS);
    folder.write("own.yaml", "version: 1\nfilters: {list: {select: [id]}}\n");
    folder.write("both.yaml", "version: 1\ncatalog: true\nfilters: {list: {select: [id]}}\n");
    folder.write(
        "service.yaml",
        "version: 1\ncatalog: true\nservice: linear\nfilters: {list: {select: [id]}}\n",
    );
    let by = |manifest: &str, tool: &str| {
        folder.run(["--manifest", manifest, "--tool", tool, "repos.json"])
    };
    by("own.yaml", "github.list-repos").refused(2, &["no filter for the tool"]);
    by("both.yaml", "github.list-repos").done(KEPT);
    by("both.yaml", "mcp__github__list_repos").done(KEPT);
    by("both.yaml", "list").done("[{\"id\":1},{\"id\":2}]\n");
    by("both.yaml", "lists").refused(2, &["did you mean `list`?"]);
    by("both.yaml", "list_issues").refused(
        2,
        &["github.list-issues, gitlab.list-issues, linear.list-issues, sentry.list-issues"],
    );
    assert_eq!(by("service.yaml", "list_issues").code, 0);
}

#[test]
fn a_budget_for_a_built_in_filter_takes_three_lines() {
    let folder = Folder::new();
    folder.write("repos.json", REPOS);
    folder.write(
        "tools.yaml",
        "version: 1\nfilters:\n  github.list-repos: {extends: github.list-repos, budget: {bytes: 36}, omitted: silent}\n",
    );
    let ran = folder.run(["--manifest", "tools.yaml", "repos.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[{\"full_name\":\"a/b\",\"fork\":false}]\n"));
}

#[test]
fn lists_of_tools_may_have_the_names_of_mcp_servers() {
    let folder = Folder::new();
    folder.write(
        "tools.yaml",
        "version: 1\ncatalog: true\nfilters:\n  crm.list-users: {select: [id]}\n  crm.get: {aliases: [get], select: [id]}\n",
    );
    let check =
        |tools: &str| folder.tamis(&["check", "tools.yaml", "--tools", "-"], tools.as_bytes());
    check("mcp__crm__list_users\nget\ngithub.list-issues\n")
        .done("tools.yaml: 2 filters (tamis)\n  crm.list-users: saves: select\n  crm.get: saves: select\n");
    let ran = check("get\nother\n");
    let warnings = [
        "tamis: standard input: warning: no filter for the tool `other`",
        "tamis: tools.yaml:4: warning: `crm.list-users` matches no tool of standard input\n",
    ];
    assert!(warnings.iter().all(|warning| ran.err.contains(warning)), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
}

#[test]
fn a_filter_has_two_levels() {
    let folder = Folder::new();
    let manifest = "version: 1
filters:
  a:
    root: items
    requires: [items]
    omit: [etag]
    tight: {requires: [items, 'items[].id'], select: [id, ssn]}
    exclude: [ssn]
  b: {extends: a, select: [x], drop_nulls: true}
";
    folder.write("levels.yaml", manifest);
    let known = r#"{"items":[{"id":1,"ssn":2,"etag":3,"x":null}]}"#;
    folder.write("known.json", known);
    folder.write("close.json", r#"{"items":[{"ID":1,"ssn":2,"etag":3}]}"#);
    let run = |tool: &str, level: &[&str], file: &str| {
        let mut args = vec!["--manifest", "levels.yaml", "--tool", tool, file];
        args.extend(level);
        folder.run(args)
    };
    run("a", &[], "known.json").done("{\"items\":[{\"id\":1}]}\n");
    run("a", &["--level", "tight"], "known.json").done("{\"items\":[{\"id\":1}]}\n");
    run("a", &["--level", "careful"], "known.json").done("{\"items\":[{\"id\":1,\"x\":null}]}\n");
    // A document of another shape gets the careful level, and what removes for safety still applies.
    run("a", &[], "close.json").done("{\"items\":[{\"ID\":1}]}\n");
    // Rules of a filter with a base hold at both levels, but a `select` does not take the members of the careful one away.
    run("b", &["--level", "careful"], "known.json").done("{\"items\":[{\"id\":1}]}\n");
    run("b", &[], "known.json").done("{\"items\":[{}]}\n");
    folder
        .run(["--level", "careful", "--select", "id", "known.json"])
        .refused(2, &["--level needs --tool or --manifest"]);
    // A rule that removes for safety holds for the tight level, too.
    folder.write(
        "moved.yaml",
        "version: 1\nfilters:\n  a: {root: items, exclude: [ssn], tight: {root: other, select: [id]}}\n",
    );
    let message = "`root` holds at both levels; write it before `tight`";
    folder.tamis(&["check", "moved.yaml"], b"").refused(2, &[message]);
    // So does the shape by which it is found: a document without it gets the careful level.
    folder.write(
        "loose.yaml",
        "version: 1\nfilters:\n  a: {requires: [b], exclude: [ssn], tight: {requires: [c], select: [c, ssn]}}\n",
    );
    let tight = |manifest: &str, document: &str| {
        folder.write("document.json", document);
        folder.run(["--manifest", manifest, "--tool", "a", "document.json"])
    };
    tight("loose.yaml", r#"{"b":1,"c":2,"ssn":3}"#).done("{\"c\":2}\n");
    assert_eq!(tight("loose.yaml", r#"{"c":2,"ssn":3}"#).code, 1);
    // So do the values that it names, under the keys that the tight level writes.
    for (removes, select, output) in [
        ("exclude: [ssn]", "{id: id, s: ssn}", "{\"id\":1}"),
        ("exclude: [user.ssn]", "[id, user.ssn]", "{\"id\":1}"),
        ("exclude: [/user/ssn]", "{id: id, x: user.ssn}", "{\"id\":1}"),
        ("exclude: ['user.*']", "{id: id, x: user.ssn}", "{\"id\":1}"),
        ("exclude: [user.ssn]", "['user{x=ssn}', id]", "{\"id\":1}"),
        ("exclude: [user.login]", "{user: user.login, id: id}", "{\"id\":1}"),
        ("exclude: [data.user.ssn]", "[data.user]", "{\"user\":{\"name\":7}}"),
        ("redact: {paths: [user.ssn]}", "{x: user.ssn}", "{\"x\":\"[redacted]\"}"),
    ] {
        folder.write(
            "renamed.yaml",
            format!("version: 1\nfilters:\n  a: {{root: object, {removes}, tight: {{select: {select}}}}}\n"),
        );
        let document =
            r#"{"id":1,"ssn":2,"user":{"ssn":3,"login":"l"},"data":{"user":{"ssn":6,"name":7}}}"#;
        let ran = tight("renamed.yaml", document);
        assert_eq!((ran.code, ran.out.trim_end()), (0, output), "{removes}, {select}: {}", ran.err);
    }
    for (rules, message) in [
        ("exclude: [id]", "`exclude` holds at both levels; write it before `tight`"),
        ("tight: {}", "unknown key `tight`"),
        ("selct: [id]", "unknown key `selct`; did you mean `select`?"),
    ] {
        folder.write("wrong.yaml", format!("version: 1\nfilters:\n  a: {{tight: {{{rules}}}}}\n"));
        folder.tamis(&["check", "wrong.yaml"], b"").refused(2, &[message]);
    }
}

/// A rule that protects can be added to each filter of the catalog.
#[test]
fn filters_of_the_catalog_can_be_extended() {
    let folder = Folder::new();
    let tools = folder.tamis(&["tools"], b"").out;
    let names: Vec<&str> = tools
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.contains('.'))
        .collect();
    assert!(names.len() >= 60, "{tools}");
    let filters: String = names
        .iter()
        .enumerate()
        .map(|(number, name)| format!("  t{number}: {{extends: {name}, exclude: [secret_note]}}\n"))
        .collect();
    folder.write("extended.yaml", format!("version: 1\nfilters:\n{filters}"));
    let ran = folder.tamis(&["check", "extended.yaml"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::copy(root().join("corpus/github-list-issues.json"), folder.path("issues.json"))
        .unwrap();
    folder.write(
        "mine.yaml",
        "version: 1\nfilters:\n  mine: {extends: github.list-issues, exclude: [user.login]}\n",
    );
    let ran = folder.run(["--manifest", "mine.yaml", "--tool", "mine", "issues.json"]);
    assert!(ran.code == 0 && !ran.out.contains("night-shift-nils"), "{}", ran.out);
}
