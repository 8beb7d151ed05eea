//! Tests that factored text can be read without being restored, and compares its tokens with those of other formats.
//!
//! Questions of nine kinds are asked about each response that is factored: the plain questions of the golden files, and for
//! each kind values at the beginning, in the middle and at the end of the response. The [reader](super::reader) looks for
//! them in the factored text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tamis::spec::Encode;
use tamis::{Program, Spec, filter_slice};
use tamis_manifest::{Level, Manifest};
use tamis_testkit::cases::bless;
use tamis_testkit::model::dom::{Node, Value};
use tamis_testkit::{paths, tokens};

use super::reader::{Form, decoded, read};
use super::{Response, files, of_profile, path_of, percent};

const TABLE: &str = "tests/golden/READING.md";

/// The kinds of questions, and the members that they ask for. Endings begin with `*`.
const KINDS: [(&str, &[&str]); 9] = [
    ("id", &["id", "*_id", "*Id", "iid", "key", "number", "uid", "sha", "node_id", "Arn", "gid"]),
    ("state", &["state", "status", "phase", "conclusion", "State", "Status", "stage", "severity"]),
    (
        "person",
        &[
            "login",
            "username",
            "displayName",
            "display_name",
            "email",
            "emailAddress",
            "user",
            "real_name",
            "real_name_normalized",
        ],
    ),
    (
        "date",
        &[
            "*_at",
            "*At",
            "created",
            "updated",
            "date",
            "dateTime",
            "*Timestamp",
            "timestamp",
            "ts",
            "due_date",
            "duedate",
            "*_time",
            "*Time",
            "*_date",
        ],
    ),
    ("label", &["labels", "label", "tags", "topics"]),
    ("amount", &["amount", "amount_*", "*_amount", "price", "*_price", "total_tax", "subtotal"]),
    ("address", &["url", "*_url", "*Url", "href", "self", "*Link", "permalink", "uri"]),
    ("total", &["total", "total_*", "*_count", "count", "*Count", "comments", "forks", "size"]),
    ("cursor", &["next", "next_*", "*_cursor", "cursor", "nextPageToken", "has_more", "*NextPage"]),
];

/// Questions of each kind about one response.
const EACH: usize = 3;

/// A response, and its factored form.
struct Pair {
    plain: Node,
    factored: Node,
    tokens: u64,
}

/// Numbers of values: those asked for, and those found in each form.
#[derive(Clone, Copy, Default)]
struct Counts {
    asked: usize,
    found: [usize; 4],
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.found.iter_mut().zip(other.found).for_each(|(sum, found)| *sum += found);
    }

    fn found(&self) -> usize {
        self.found.iter().sum()
    }
}

fn output(spec: &Spec, document: &[u8]) -> (String, tamis::Report) {
    let (output, report) = filter_slice(&Program::compile(spec).unwrap(), document).unwrap();
    (String::from_utf8(output).unwrap(), report)
}

/// Returns what a filter writes with and without `factor`, if it is factored.
fn pair(spec: &Spec, document: &[u8]) -> Option<Pair> {
    let (factored, report) = output(&spec.clone().factor(true), document);
    report.factored?;
    let (plain, _) = output(spec, document);
    let tokens = tokens::count(&factored);
    Some(Pair { plain: Node::parse(&plain), factored: Node::parse(&factored), tokens })
}

/// Returns the number of the kind of question that asks for a scalar.
fn kind(pointer: &str) -> Option<usize> {
    let is = |pattern: &str, name: &str| match pattern.split_once('*') {
        Some(("", end)) => name.ends_with(end) && name.len() > end.len(),
        Some((start, _)) => name.starts_with(start) && name.len() > start.len(),
        None => name == pattern,
    };
    let is_name = |segment: &&str| segment.parse::<usize>().is_err();
    let mut names = pointer.rsplit('/').filter(is_name);
    let (last, around) = (names.next()?, names.next().unwrap_or_default());
    KINDS.iter().position(|(kind, names)| {
        names.iter().any(|name| is(name, last) || *kind == "label" && is(name, around))
    })
}

/// Returns the text of a scalar at a pointer.
fn scalar(document: &Node, pointer: &str) -> Option<String> {
    // Text that is not factored is read as it is.
    read(document, pointer).map(|found| found.text)
}

/// Appends the pointers of scalars, in document order.
fn pointers(node: &Node, pointer: &mut String, kinds: &mut [Vec<String>]) {
    let length = pointer.len();
    match &node.value {
        Value::Scalar(text) => {
            if let Some(kind) = kind(pointer)
                && !matches!(text.as_str(), "null" | "\"\"")
            {
                kinds[kind].push(pointer.clone());
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                write!(pointer, "/{index}").unwrap();
                pointers(element, pointer, kinds);
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for member in members {
                let Some(name) = &member.name else { continue };
                write!(pointer, "/{}", name.replace('~', "~0").replace('/', "~1")).unwrap();
                pointers(&member.node, pointer, kinds);
                pointer.truncate(length);
            }
        }
    }
}

/// Returns the first, the last and the middle ones.
fn some_of(mut pointers: Vec<String>) -> Vec<String> {
    let count = pointers.len();
    if count <= EACH {
        return pointers;
    }
    [count - 1, count / 2, 0].map(|at| pointers.swap_remove(at)).into_iter().rev().collect()
}

/// Asks for values of a response. Returns the counts by kind; the last ones are those of no kind.
fn ask(pair: &Pair, asked: &[String], failures: &mut Vec<String>) -> [Counts; KINDS.len() + 1] {
    let mut counts = [Counts::default(); KINDS.len() + 1];
    let mut by_kind = vec![Vec::new(); KINDS.len()];
    pointers(&pair.plain, &mut String::new(), &mut by_kind);
    let generated = by_kind.into_iter().flat_map(some_of);
    for pointer in asked.iter().cloned().chain(generated) {
        let expected = scalar(&pair.plain, &pointer).unwrap_or_else(|| panic!("{pointer}"));
        let counts = &mut counts[kind(&pointer).unwrap_or(KINDS.len())];
        counts.asked += 1;
        match read(&pair.factored, &pointer) {
            Some(found) if found.text == expected => counts.found[found.form as usize] += 1,
            found => failures.push(format!("{pointer}: {expected:?}, but {found:?}")),
        }
    }
    counts
}

fn encoded(document: &[u8], encode: Encode) -> String {
    let (text, report) = output(&Spec::new().encode(encode), document);
    if report.encode_skipped.is_some() {
        "–".to_owned()
    } else {
        tokens::count(&text).to_string()
    }
}

fn cells(name: &str, counts: Counts) -> String {
    let share = percent(counts.found() as f64, counts.asked as f64);
    let own = percent(counts.found[Form::Own as usize] as f64, counts.asked as f64);
    let [found_own, found_ref, found_all, found_made] = counts.found;
    format!(
        "| {name} | {} | {share:.1} % | {found_own} | {found_all} | {found_made} | {found_ref} | {own:.1} % |\n",
        counts.asked
    )
}

const HEAD: &str = "asked | found | as it is | in `_all` | in `_made` | under `$ref` | without the notice |\n\
    |---|---:|---:|---:|---:|---:|---:|---:|\n";

/// Returns the tables of the values that are found, by kind.
fn found_tables(sums: &[(&str, [Counts; KINDS.len() + 1]); 2]) -> String {
    let mut text = String::new();
    for (title, kinds) in sums {
        write!(text, "\n## {title}\n\n| kind | {HEAD}").unwrap();
        let mut all = Counts::default();
        let names = KINDS.iter().map(|(name, _)| *name).chain(["other"]);
        for (name, counts) in names.zip(kinds).filter(|(_, counts)| counts.asked > 0) {
            text.push_str(&cells(name, *counts));
            all.add(*counts);
        }
        text.push_str(&cells("all", all));
    }
    text
}

#[test]
fn factored_text_is_read_by_its_notice() {
    let catalog = Manifest::catalog().unwrap();
    let mut sums =
        [("As it came", [Counts::default(); _]), ("The careful level", [Counts::default(); _])];
    let mut failures = Vec::new();
    let mut rows = String::new();
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    let responses = files().into_values().flat_map(|file| file.response);
    let mut responses_read = 0;
    for Response { tool, file, questions } in responses {
        let document = paths::text(&path_of(&file)).into_bytes();
        let careful =
            of_profile(catalog.entry(&tool).unwrap().program_at(Level::Careful).spec().clone());
        let careful = pair(careful.spec(), &document);
        let as_it_came = pair(&Spec::new(), &document);
        let asked: Vec<String> =
            questions.iter().filter_map(|question| question.get(1).cloned()).collect();
        let mut cells_of_row = String::new();
        let pairs = [(&as_it_came, asked.as_slice()), (&careful, &[])];
        for ((_, sums), (pair, asked)) in sums.iter_mut().zip(pairs) {
            let Some(pair) = pair else {
                cells_of_row.push_str(" – | – |");
                continue;
            };
            let mut own = Vec::new();
            let counts = ask(pair, asked, &mut own);
            failures.extend(own.into_iter().map(|failure| format!("{file}: {failure}")));
            let mut all = Counts::default();
            for (sum, counts) in sums.iter_mut().zip(counts) {
                sum.add(counts);
                all.add(counts);
            }
            write!(cells_of_row, " {} | {}/{} |", pair.tokens, all.found(), all.asked).unwrap();
        }
        let Some(as_it_came) = as_it_came else { continue };
        responses_read += 1;
        let minified = tokens::count(&output(&Spec::new(), &document).0);
        let (toon, csv) = (encoded(&document, Encode::Toon), encoded(&document, Encode::Csv));
        for (name, tokens) in [
            ("minified", minified),
            ("toon", toon.parse().unwrap_or(minified)),
            ("factored", as_it_came.tokens),
        ] {
            *totals.entry(name).or_default() += tokens;
        }
        writeln!(rows, "| `{file}` | {minified} | {toon} | {csv} |{cells_of_row}").unwrap();
    }
    let mut text = String::from(
        "# Reading factored text\n\n\
         A program looks for values in text that was written with `factor`. It knows what the notice says and does not restore the\n\
         text: *members that all items have are once under `_all`; `_made` has members that follow from others of an item,\n\
         `{path}` stands for the text there; `$ref` stands for the value at that place of this text*. It also knows what the\n\
         text shows: `_items` are the items of a document that is an array, `_all` and `_made` belong to the array after them, paths\n\
         begin at the item, `{{` and `}}` are braces, and a `$ref` is a JSON Pointer after `#`. It is asked for the values of the\n\
         [plain questions](README.md), and for values of nine kinds at the beginning, in the middle and at the end of each\n\
         response. Values that are not spelled where they were are composed (`_made`) or looked up (`_all`, `$ref`); the last column\n\
         has those that a reader finds who knows no notice. A test writes this file.\n",
    );
    text.push_str(&found_tables(&sums));
    text.push_str(
        "\n## Tokens\n\n\
         The same responses in other formats, in tokens of `o200k_base`. All of them are complete, apart from the careful level. A\n\
         dash: the format cannot carry the response, or factoring it saves less than 3 %.\n\n\
         | response | minified | TOON | CSV | factored | found | careful, factored | found |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    text.push_str(&rows);
    let total = |name: &str| totals.get(name).copied().unwrap_or_default();
    writeln!(
        text,
        "| all {responses_read} | {} | {} | | {} | | | |",
        total("minified"),
        total("toon"),
        total("factored")
    )
    .unwrap();
    if bless() {
        std::fs::write(paths::path(TABLE), &text).unwrap();
    } else {
        assert!(paths::text(TABLE) == text, "set TAMIS_BLESS=1 to write {TABLE} again");
    }
    assert!(
        failures.is_empty(),
        "{} values: {:#?}",
        failures.len(),
        &failures[..failures.len().min(20)]
    );
    assert!(responses_read >= 30, "{responses_read}");
    for (title, kinds) in &sums {
        let mut forms = [0; 4];
        for (index, counts) in kinds.iter().enumerate() {
            forms.iter_mut().zip(counts.found).for_each(|(sum, found)| *sum += found);
            let name = KINDS.get(index).map_or("other", |(name, _)| name);
            assert!(counts.asked > 0 || index == KINDS.len(), "{title}: no question about {name}");
        }
        assert!(forms.iter().all(|found| *found > 0), "{title}: {forms:?}");
    }
}

#[test]
fn kinds_of_questions() {
    assert_eq!(kind("/0/user/login"), Some(2));
    assert_eq!(kind("/items/3/labels/0/name"), Some(4));
    assert_eq!(kind("/items/3/html_url"), Some(6));
    assert_eq!(kind("/items/3/body"), None);
    assert_eq!(decoded(r#""a\u0062""#), "ab");
}
