//! A GraphQL response: repositories, their issues, their comments and reactions. Each is a connection with pages, nodes and page
//! info, so that the innermost values are 17 levels deep. The rate limit follows after all of them.

use std::fmt::Write as _;

use super::random::{Random, WORDS};

/// The whole response.
pub(super) fn answer(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + bytes / 8 + 8192);
    let mut random = Random(0x5EED);
    text.push_str(
        r#"{"data":{"organization":{"login":"harbour-labs","repositories":{"totalCount":4117,"nodes":["#,
    );
    let start = text.len();
    while text.len() < bytes {
        if text.len() > start {
            text.push(',');
        }
        repository(&mut text, &mut random);
    }
    text.push(']');
    page(&mut text, &mut random);
    text.push_str(
        r#"}},"rateLimit":{"limit":5000,"cost":1,"remaining":4711,"resetAt":"2026-02-10T08:00:00Z"}}}"#,
    );
    text
}

fn page(text: &mut String, random: &mut Random) {
    let next = random.below(2) == 0;
    write!(
        text,
        r#","pageInfo":{{"hasNextPage":{next},"hasPreviousPage":false,"endCursor":"Y3Vyc29yOj{:x}"}}"#,
        random.next_u64()
    )
    .expect("a String takes all");
}

/// `"name":{"totalCount":n,"nodes":[…],"pageInfo":{…}}`.
fn connection(
    text: &mut String,
    random: &mut Random,
    name: &str,
    most: u64,
    node: fn(&mut String, &mut Random),
) {
    let count = random.below(most + 1);
    write!(text, r#""{name}":{{"totalCount":{count},"nodes":["#).expect("a String takes all");
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        node(text, random);
    }
    text.push(']');
    page(text, random);
    text.push('}');
}

fn repository(text: &mut String, random: &mut Random) {
    let name = format!("{}-{}", random.pick(&WORDS), random.below(10_000));
    write!(
        text,
        r##"{{"__typename":"Repository","id":"R_kgDO{:x}","name":"{name}","owner":{{"__typename":"Organization","login":"harbour-labs"}},"stargazerCount":{},"isArchived":false,"primaryLanguage":{{"name":"{}","color":"#dea584"}},"##,
        random.next_u64(),
        random.below(50_000),
        random.pick(&["Rust", "Go", "TypeScript"]),
    )
    .expect("a String takes all");
    connection(text, random, "issues", 12, issue);
    write!(text, r#","updatedAt":"{}"}}"#, random.date()).expect("a String takes all");
}

fn issue(text: &mut String, random: &mut Random) {
    write!(
        text,
        r#"{{"__typename":"Issue","id":"I_kwDO{:x}","number":{},"title":"The {} of the {} is off by one","state":"{}","closedAt":null,"author":{{"__typename":"User","login":"{}-{}","company":null}},"#,
        random.next_u64(),
        random.below(9000),
        random.pick(&WORDS),
        random.pick(&WORDS),
        random.pick(&["OPEN", "CLOSED"]),
        random.pick(&WORDS),
        random.below(100),
    )
    .expect("a String takes all");
    connection(text, random, "labels", 3, |text, random| {
        write!(
            text,
            r#"{{"__typename":"Label","name":"area: {}","color":"d73a4a"}}"#,
            random.pick(&WORDS)
        )
        .expect("a String takes all");
    });
    text.push(',');
    connection(text, random, "comments", 5, comment);
    text.push('}');
}

fn comment(text: &mut String, random: &mut Random) {
    write!(
        text,
        r#"{{"__typename":"IssueComment","id":"IC_kwDO{:x}","body":"Seen with {} as well,\nand with \"{}\" not.","createdAt":"{}","author":{{"__typename":"User","login":"{}"}},"#,
        random.next_u64(),
        random.pick(&WORDS),
        random.pick(&WORDS),
        random.date(),
        random.pick(&WORDS),
    )
    .expect("a String takes all");
    connection(text, random, "reactions", 2, |text, random| {
        let user = random.pick(&WORDS);
        write!(
            text,
            r#"{{"__typename":"Reaction","content":"{}","user":{{"login":"{user}","company":{{"name":"{}","verified":true}}}}}}"#,
            random.pick(&["HEART", "ROCKET", "EYES"]),
            random.pick(&WORDS),
        )
        .expect("a String takes all");
    });
    text.push('}');
}
