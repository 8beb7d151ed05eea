//! Figures in the documentation are those that the commands next to them print.

use super::*;

/// The cells of the rows of a page's tables that begin so.
fn rows(page: &str, begins: &str) -> Vec<Vec<String>> {
    let rows = page.lines().filter(|line| line.starts_with(begins) && line.ends_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn tamis(args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    Ran::new(&command.current_dir(root()).args(args).stdin(Stdio::null()).output().unwrap())
}

/// Compares each row of the table of recorded outputs with the line of `tamis text --stats`.
#[test]
fn outputs_of_commands() {
    let rows = rows(&page("corpus/commands/README.md"), "| [`");
    assert_eq!(rows.len(), 20);
    for row in rows {
        let [command, exit, before, after, saved, tokens_before, tokens_after, less] = &row[..]
        else {
            panic!("{row:?}")
        };
        let (command, file) = command.split_once("](").unwrap();
        let command = command.trim_matches(['[', '`']);
        let file = format!("corpus/commands/{}", file.trim_end_matches(')'));
        let ran = tamis(&["text", "--stats", "--command", command, "--exit-code", exit, &file]);
        let figures = format!(
            ": {before} bytes ({tokens_before} tokens) in, {after} ({tokens_after}) out, {saved} saved\n"
        );
        assert!(ran.err.ends_with(&figures), "{command}: {}, not {figures}", ran.err);
        let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
        let (before, after) = (number(tokens_before), number(tokens_after));
        let tenths = (before - after) * 1000 / before;
        assert_eq!(*less, format!("{}.{} %", tenths / 10, tenths % 10), "{command}");
    }
}

/// The tables of the corpus: bytes of the files, and the line of `filter --stats` for the catalog.
#[test]
fn answers_of_the_corpus() {
    let grouped = |bytes: usize| match bytes {
        ..1000 => bytes.to_string(),
        _ => format!("{},{:03}", bytes / 1000, bytes % 1000),
    };
    let page = page("corpus/README.md");
    let (files, savings) = page.split_once("## Savings of the catalog").unwrap();
    let savings = savings.split("\n## ").next().unwrap();
    let files = files.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut checked = 0;
    for (name, rest) in files.filter(|(name, _)| name.ends_with(".json")) {
        let length = std::fs::read(root().join("corpus").join(name)).unwrap().len();
        assert!(rest.starts_with(&format!("{} |", grouped(length))), "{name} has {length} bytes");
        checked += 1;
    }
    assert!(checked > 14, "{checked} files");
    let rows = rows(savings, "| `");
    assert!(rows.len() >= 75, "{} rows", rows.len());
    for row in rows {
        let [tool, file, before, after, saved, tokens_before, tokens_after, less] = &row[..] else {
            panic!("{row:?}")
        };
        let file = format!("corpus/{}", file.trim_matches('`'));
        let ran = tamis(&["filter", "--stats", "--tool", tool.trim_matches('`'), &file]);
        let figures = format!(
            ": {before} bytes ({tokens_before} tokens) in, {after} ({tokens_after}) out, {saved} saved"
        );
        assert!(ran.err.contains(&figures), "{file}: {}, not {figures}", ran.err);
        let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
        let (before, after) = (number(tokens_before), number(tokens_after));
        let tenths = (before - after) * 1000 / before;
        assert_eq!(*less, format!("{}.{} %", tenths / 10, tenths % 10), "{file}");
    }
}

/// The first example of the README: how many members a repository has, and how many bytes there are.
#[test]
fn the_first_example() {
    let repositories: Value = serde_json::from_str(&page("corpus/github-list-repos.json")).unwrap();
    let repositories = repositories.as_array().unwrap();
    let members = |of: &Value| of.as_object().unwrap().len();
    assert!(repositories.iter().all(|one| members(one) == members(&repositories[0])));
    let stats = tamis(&["filter", "--stats", "corpus/github-list-repos.json"]).err;
    let (bytes, _) = stats.trim_start_matches("tamis: ").split_once(' ').unwrap();
    let said = format!(
        "{bytes} bytes in, the first two of its {} repositories out, with four of their {} members each",
        repositories.len(),
        members(&repositories[0])
    );
    assert!(page("README.md").contains(&said), "{said}");
}
