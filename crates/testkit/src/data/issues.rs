//! Issues with bodies that quote code and logs: dense in backslashes, as Markdown with Windows paths, JSON in JSON and
//! stack traces is.

use std::fmt::Write as _;

use super::random::{Random, WORDS};

/// Lines of a body, escaped for JSON.
const LINES: [&str; 10] = [
    r#"```json\n{\"level\":\"error\",\"path\":\"C:\\\\srv\\\\log\\\\app.log\",\"retry\":false}\n```\n\n"#,
    r#"\tat Object.<anonymous> (\"D:\\\\build\\\\agent\\\\work\\\\7\\\\index.js\":41:9)\r\n"#,
    r#"| \"name\" | \"value\" |\n|---|---|\n| \"a\\tb\" | \"\\\\\" |\n"#,
    r#"Steps:\n\n1. open the table\n2. press \"Save\"\n3. see below\n\n"#,
    r#"```rust\nassert_eq!(line.trim_end_matches(\"\\r\\n\"), \"\\u{fe}\\\\\");\n```\n"#,
    r#"> \"It worked yesterday\"\n\n"#,
    r#"regex: `^\\s*(\\w+)\\s*=\\s*\"((?:[^\"\\\\]|\\\\.)*)\"$`\n"#,
    r#"\\\\\\\\server\\\\share\\\\quay\\\\\n"#,
    r"A line of plain text stands between the traces and says what was expected instead.\n",
    r#"{\"data\":\"{\\\"inner\\\":\\\"{\\\\\\\"deep\\\\\\\":true}\\\"}\"}\n"#,
];

/// Appends one issue.
pub(super) fn issue(text: &mut String, random: &mut Random) {
    let number = 1 + random.below(90_000);
    let id = 2_000_000_000 + random.below(900_000_000);
    let owner = random.pick(&["harbour-labs", "mira-okafor", "north-quay"]);
    let user = random.pick(&["night-shift-nils", "teodor-lindqvist", "pell-oddsson"]);
    let api = format!("https://api.github.com/repos/{owner}/{}", random.pick(&WORDS));
    let (created, updated) = (random.date(), random.date());
    let mut put = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a String takes all");
    put(format_args!(
        r#"{{"url":"{api}/issues/{number}","comments_url":"{api}/issues/{number}/comments","id":{id},"node_id":"I_kwDO{id:x}","number":{number},"title":"{} \"{}\" loses its {} after \\{}","user":{{"login":"{user}","id":{},"avatar_url":"https://avatars.githubusercontent.com/u/{number}?v=4","type":"User","site_admin":false}}"#,
        random.pick(&["Journal", "Gateway", "The table"]),
        random.pick(&WORDS),
        random.pick(&WORDS),
        random.pick(&WORDS),
        1_000_000 + random.below(90_000_000),
    ));
    put(format_args!(
        r#","labels":[{{"id":{},"name":"area: {}","color":"5319e7","default":false,"description":null}}],"state":"{}","locked":false,"assignee":null,"comments":{},"created_at":"{created}","updated_at":"{updated}","closed_at":null,"author_association":"MEMBER","body":""#,
        random.below(1_000_000),
        random.pick(&WORDS),
        random.pick(&["open", "closed"]),
        random.below(40),
    ));
    for _ in 0..8 + random.below(24) {
        put(format_args!("{}", random.pick(&LINES)));
    }
    put(format_args!(
        r#"","reactions":{{"total_count":{0},"+1":{0},"-1":0,"laugh":0}},"draft":false,"state_reason":null}}"#,
        random.below(30)
    ));
}
