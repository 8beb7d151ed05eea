//! Tests of every kind in many contexts: the characters before and after, the escapes of other writers, pieces.

use super::filter::SecretFilter;
use super::resolve::TextForm;
use super::sample_text::{Random, made};
use super::samples::SAMPLES;
use super::samples_more::SAMPLES as MORE;

fn run(form: TextForm, text: &str, piece: usize) -> String {
    let (mut filter, mut output) = (SecretFilter::new(form), Vec::new());
    text.as_bytes().chunks(piece).for_each(|piece| filter.write(piece, &mut output));
    filter.end(&mut output);
    String::from_utf8(output).unwrap()
}

/// Returns one secret of each sample, with what its kind needs before and after it, and the secret itself.
fn secrets() -> Vec<(&'static str, String, String)> {
    let mut random = Random::new(11);
    let mut all = Vec::new();
    for (kind, secrets, _) in SAMPLES.iter().chain(MORE) {
        for sample in *secrets {
            let (text, range) = made(sample, &mut random);
            all.push((*kind, text[range].to_owned(), text));
        }
    }
    all
}

/// Characters before and after a secret. The samples whose kind asks for something before it have that in the text.
const AROUND: &[(&str, &str)] = &[
    (" ", " "),
    ("\n", "\n"),
    ("=", " "),
    ("KEY=", "\n"),
    ("--token=", " --x"),
    ("?token=", "&x=1"),
    ("/", " "),
    ("a/", "?x"),
    ("+", " "),
    ("-", "\n"),
    ("\n-", "\n"),
    ("\n+", "\n"),
    ("--", " "),
    ("_", "_ "),
    ("__", "__ "),
    (" *", "* "),
    ("`", "`"),
    ("'", "'"),
    ("(", ")"),
    ("<b>", "</b>"),
    ("%3D", "%0A"),
    (": ", ","),
    ("|", "|"),
    ("[", "]"),
    ("\"", "\""),
    ("<", ">"),
    (",", ";"),
    (";", ","),
    ("x=", "'"),
    ("> ", "<br>"),
    ("\\n", "\\n"),
    ("\\t", "\\t"),
    ("\\u003d", "\\u003c"),
    ("\\u001b[32m", "\\u001b[0m"),
];

/// Returns the escape that a writer uses for a character.
type Speller = fn(char) -> Option<String>;

/// Writers of JSON, each with the way in which it spells a character.
const WRITERS: &[(&str, Speller)] = &[
    ("PHP", |c| (c == '/').then(|| "\\/".to_owned())),
    ("Go", |c| matches!(c, '&' | '<' | '>').then(|| format!("\\u{:04x}", u32::from(c)))),
    (".NET", |c| {
        matches!(c, '&' | '<' | '>' | '+' | '\'' | '`').then(|| format!("\\u{:04X}", u32::from(c)))
    }),
    ("all", |c| (c.is_ascii_graphic()).then(|| format!("\\u{:04x}", u32::from(c)))),
    ("letters", |c| (c.is_ascii_lowercase()).then(|| format!("\\u{:04X}", u32::from(c)))),
];

/// Spells a text as the contents of a string of JSON.
fn spelled(text: &str, writer: Speller) -> String {
    let mut spelled = String::new();
    for char in text.chars() {
        match (writer(char), char) {
            (Some(escape), _) => spelled += &escape,
            (None, '"' | '\\') => spelled.extend(['\\', char]),
            (None, '\n') => spelled += "\\n",
            (None, '\t') => spelled += "\\t",
            (None, char) => spelled.push(char),
        }
    }
    spelled
}

/// The shortest part of a secret that may not leave.
const LEAKED: usize = 12;

/// Returns whether a part of a secret is in an output, which is read as text without escapes.
fn leaks(output: &str, secret: &str) -> bool {
    let secret: Vec<char> = secret.chars().collect();
    let last: String = secret[secret.len().saturating_sub(LEAKED)..].iter().collect();
    output.contains(&last)
}

/// Panics with the first of the cases that failed, if there are any.
fn assert_none(wrong: &[String]) {
    let first: Vec<_> =
        wrong.iter().map(|case| case.chars().take(700).collect::<String>()).take(40).collect();
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), first.join("\n"));
}

#[test]
fn no_character_around_a_secret_hides_it() {
    let mut wrong = Vec::new();
    for (kind, secret, text) in secrets() {
        for (before, after) in AROUND {
            let text = format!("lorem {before}{text}{after}ipsum");
            for form in [TextForm::Plain, TextForm::Json] {
                let document = match form {
                    TextForm::Plain => text.clone(),
                    TextForm::Json => format!(r#"["{}"]"#, spelled(&text, |_| None)),
                };
                let output = run(form, &document, usize::MAX);
                let is_marked = output.contains(&format!("[redacted:{kind}]"));
                let leaked = leaks(&output, &spelled(&secret, |_| None));
                if !is_marked || leaked {
                    wrong.push(format!("{kind} {before:?} {after:?}\n  {document}\n  {output}"));
                    continue;
                }
                assert_eq!(run(form, &document, 7), output);
            }
        }
    }
    assert_none(&wrong);
}

/// One level of escapes in a text, in a string, and in a string that holds JSON.
#[test]
fn no_writer_of_json_hides_a_secret() {
    let mut wrong = Vec::new();
    for (kind, secret, text) in secrets() {
        // Those with escapes of their own would be two levels.
        if text.contains('\\') {
            continue;
        }
        for (writer, spell) in WRITERS {
            let inner = format!(r#"{{"a":"{}","b":1}}"#, spelled(&text, *spell));
            let nested = format!(r#"{{"x":"{}"}}"#, spelled(&inner, |_| None));
            let php = format!(r#"{{"x":"{}"}}"#, spelled(&inner, WRITERS[0].1));
            for (form, document) in [
                (TextForm::Plain, &inner),
                (TextForm::Json, &inner),
                (TextForm::Json, &nested),
                (TextForm::Json, &php),
                (TextForm::Plain, &nested),
            ] {
                let output = run(form, document, usize::MAX);
                let is_marked = output.contains(&format!("[redacted:{kind}]"));
                let leaked = leaks(&output, &spelled(&secret, *spell));
                if !is_marked || leaked {
                    wrong.push(format!("{kind} {writer}\n  {document}\n  {output}"));
                    continue;
                }
                for piece in [1, 7] {
                    assert_eq!(run(form, document, piece), output, "{piece}");
                }
            }
        }
    }
    assert_none(&wrong);
}

/// Writers of queries: JavaScript's `encodeURIComponent`, Python's `quote`, and one that encodes in small letters.
const URL_WRITERS: &[(&str, &str, bool)] =
    &[("all", "-_.~", true), ("quote", "-_.~/", true), ("small", "-_.~!*'()", false)];

/// Percent-encodes a text for a query.
fn percent_encoded(text: &str, kept: &str, capitals: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        let char = char::from(byte);
        match (char.is_ascii_alphanumeric() || kept.contains(char), capitals) {
            (true, _) => encoded.push(char),
            (false, true) => encoded += &format!("%{byte:02X}"),
            (false, false) => encoded += &format!("%{byte:02x}"),
        }
    }
    encoded
}

/// A text with a secret in the query of a URL. A name does not announce a value there, because its sign is encoded, and the
/// lines of an encoded key are only found with their own ends.
#[test]
fn no_query_hides_a_secret() {
    let mut wrong = Vec::new();
    let named = [
        "password",
        "authorization",
        "client-secret",
        "api-key",
        "access-token",
        "launchdarkly-key",
    ];
    for (kind, secret, text) in secrets() {
        // Options and names need their blanks and signs.
        let spelled = ["LS0t", "%", "\\", "curl", "_auth=", "\"auth\"", "password "];
        let is_other = spelled.iter().any(|part| text.contains(part));
        if named.contains(&kind) || is_other {
            continue;
        }
        for (writer, kept, capitals) in URL_WRITERS {
            let text = percent_encoded(&text, kept, *capitals);
            let secret = percent_encoded(&secret, kept, *capitals);
            for (form, document) in [
                (TextForm::Plain, format!("GET /x?u={text}&x=1 HTTP/1.1")),
                (TextForm::Json, format!(r#"["/x?u={text}&x=1"]"#)),
            ] {
                let output = run(form, &document, usize::MAX);
                let is_marked = output.contains(&format!("[redacted:{kind}]"));
                let leaked = leaks(&output, &secret);
                if !is_marked || leaked {
                    wrong.push(format!("{kind} {writer}\n  {document}\n  {output}"));
                    continue;
                }
                assert_eq!(run(form, &document, 7), output);
            }
        }
    }
    assert_none(&wrong);
}

/// Long texts are not read as a whole.
#[test]
fn escapes_in_long_texts_hide_no_secret() {
    let mut wrong = Vec::new();
    for (kind, secret, text) in secrets() {
        if text.contains('\\') {
            continue;
        }
        for (writer, spell) in WRITERS {
            let filler = "lorem ipsum ".repeat(1500);
            let inner = format!(r#"{{"l":"{filler}{} {filler}"}}"#, spelled(&text, *spell));
            let nested = format!(r#"["{}"]"#, spelled(&inner, |_| None));
            for (form, document) in [(TextForm::Plain, &inner), (TextForm::Json, &nested)] {
                let output = run(form, document, usize::MAX);
                let is_marked = output.contains(&format!("[redacted:{kind}]"));
                let leaked = leaks(&output, &spelled(&secret, *spell));
                if !is_marked || leaked {
                    wrong.push(format!("{kind} {writer} {text}"));
                    continue;
                }
                assert_eq!(run(form, document, 1000), output);
            }
        }
    }
    assert_none(&wrong);
}

/// A name announces the value of a member as it announces a text after it.
#[test]
fn names_announce_the_values_of_members() {
    let mut random = Random::new(12);
    let (secret, _) = made("aB1{A17}/{A19}", &mut random);
    let mark = "[redacted:aws-secret-key]";
    for name in ["SecretAccessKey", "secretAccessKey", "aws_secret_access_key", "AWS_SECRET_KEY"] {
        for (between, writer) in
            [(":", 0), (" :\n\t", 0), (":", 1), (": ", 2), (":", 3), (" : ", 4)]
        {
            let spell = WRITERS[writer].1;
            let (name, value) = (spelled(name, spell), spelled(&secret, spell));
            let document = |value: &str| format!(r#"{{"a":1,"{name}"{between}"{value}","b":"c"}}"#);
            for piece in [usize::MAX, 1, 7] {
                assert_eq!(run(TextForm::Json, &document(&value), piece), document(mark));
            }
            if between.contains('\n') {
                continue;
            }
            // The member is in a text, too, and in a string.
            assert_eq!(run(TextForm::Plain, &document(&value), 7), document(mark));
            let nested = format!(r#"["{}"]"#, spelled(&document(&value), |_| None));
            assert!(run(TextForm::Json, &nested, 7).contains(mark), "{nested}");
        }
        // Any other value of the member stays.
        for other in ["\"short\"", "null", "12345", "{\"x\":\"y\"}", "[\"z\"]", "\"\""] {
            let document = format!(r#"{{"{name}":{other},"b":"{name}"}}"#);
            assert_eq!(run(TextForm::Json, &document, usize::MAX), document);
        }
    }
    let document = format!(r#"{{"publicKey":"{secret}"}}"#);
    assert_eq!(run(TextForm::Json, &document, usize::MAX), document);
}

/// A secret across the end of a block, small or large, is found wherever the end divides it, whatever the pieces.
#[test]
fn no_end_of_a_block_hides_a_secret() {
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    for end in [16, 32, 48, 64, 128, 192].map(|end| end << 10) {
        for before in (1..=token.len() + 2).step_by(3) {
            let mut text = "a short line of words\n".repeat(210 << 10 >> 4);
            text.truncate(end - before);
            text += &format!(" {token} ");
            text += &"and more of them\n".repeat(5 << 10);
            let json = format!("[\"{}\"]", spelled(&text, |_| None));
            for (form, document) in [(TextForm::Plain, &text), (TextForm::Json, &json)] {
                let output = run(form, document, usize::MAX);
                assert_eq!(output, document.replace(&token, "[redacted:github-token]"), "{end}");
                assert_eq!(run(form, document, 4099), output, "{end} {before}");
            }
        }
    }
}
