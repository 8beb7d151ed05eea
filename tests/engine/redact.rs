//! `redact: secrets` replaces nothing in texts without credentials: the whole corpus, and 10 MB of a log.

use std::path::{Path, PathBuf};

use tamis::text::TextRedactor;
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

/// The length of the log in bytes.
const LOG: usize = 10_000_000;
/// The least number of files of the corpus.
const FILES: usize = 600;

/// Returns what is found in a text, and whether its output is equal to it.
fn found(mut redactor: TextRedactor, text: &[u8]) -> (Vec<(String, u64)>, bool) {
    let mut output = Vec::with_capacity(text.len());
    redactor.write(text, &mut output);
    (redactor.end(&mut output).into_iter().collect(), output == text)
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// The only credentials in the corpus: an address of a file in each of these, which Notion has signed for an hour.
const SIGNED: [&str; 2] = ["notion-get-page.json", "notion-list-block-children.json"];

#[test]
fn nothing_else_is_found_in_the_corpus() {
    let mut all = Vec::new();
    files(&paths::root().join("corpus"), &mut all);
    assert!(all.len() >= FILES, "{} files", all.len());
    let mut documents = 0;
    for path in all {
        let text = std::fs::read(&path).unwrap();
        let signed = SIGNED.iter().any(|file| path.ends_with(file));
        let expected: Vec<_> =
            signed.then(|| ("aws-url-signature".to_owned(), 1)).into_iter().collect();
        if path.extension().is_some_and(|ending| ending == "json") {
            documents += 1;
            let json = found(TextRedactor::for_json(), &text);
            assert_eq!(json, (expected.clone(), !signed), "{path:?}");
        }
        assert_eq!(found(TextRedactor::new(), &text).0, expected, "{path:?}");
    }
    assert!(documents > 60, "{documents} documents");
}

const DIGITS: &[u8] = b"0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_OF_URLS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Lines of logs with texts that almost look like credentials. `{h40}` stands for 40 random characters of a class.
const LINES: &[&str] = &[
    "{D4}-03-{D2}T10:{D2}:{D2}.{D3}Z INFO  [{h8}-{h4}-4{h3}-a{h3}-{h12}] request GET /users/{D6}?page={D2} 200 {D4} bytes",
    "commit {h40} (HEAD -> main, tag: v{D1}.{D2}.0), tree {h40}",
    "    integrity: sha512-{B86}==, resolved: https://registry.npmjs.org/{L8}/-/{L8}-{D1}.{D2}.{D1}.tgz#{h40}",
    "name = \"{L9}\"\nchecksum = \"{h64}\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"",
    "{L8}=={D1}.{D2}.{D1} --hash=sha256:{h64} \\",
    "Digest: sha256:{h64} Status: Downloaded image for ghcr.io/{L6}/{L9}@sha256:{h64}",
    "data:image/png;base64,iVBORw0KGgo{B400}=",
    "//# sourceMappingURL=data:application/json;charset=utf-8;base64,eyJ2ZXJzaW9uIjoz{B300}",
    "cursor eyJ{U90} next_token={U120} etag W/\"{h32}\" x-amz-request-id {C16}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} {L5}@{L7}.example.org",
    "-----BEGIN CERTIFICATE-----\nMII{B60}\n{B64}\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{B28}\n-----END PUBLIC KEY-----",
    r#"{"level":"warn","msg":"token expired\nretry in {D2}s\t(user {L6}@{L8}.com)","trace":"{h32}","span":"{h16}","id":"{h24}"}"#,
    "npm_config_registry=https://registry.npmjs.org/ npm_lifecycle_event=build npm_package_{L20}={D1}",
    "bearer token is missing; Bearer authentication-is-required-for-this-endpoint, Basic realm=\"{L12}\"",
    "connect tcp://{D2}.{D2}.{D1}.{D3}:{D4}: i/o timeout, proxy http://proxy.{L6}.example:3128, mailto:{L6}@{L6}.org",
    "clone https://{L6}@github.com/{L6}/{L8}.git, git@github.com:{L6}/{L8}.git, http://localhost:8080/a@b",
    "postgres://{L6}:<password>@db:5432/x, redis://:${REDIS_PASSWORD}@cache, amqp://user:$PASS@host, http://a.b:80/?to=c@d",
    "task-{h8} disk-{C12} risk-assessment-{L20} sk-{L8}-{L9}-{L9} mask-image hf_{L10} key-{h8} keyboard-{h30}",
    "arn:aws:iam::{D12}:role/{L10} i-{h17} vpc-{h17} AROA{C17} ami-{h17} {C10}AKIA{C16}",
    "dapi/{h32} pul-{h12} rubygems_{L9} r8_{D4} gsk_{L12} xai-{L9} glpat-{L6} whsec_{L9} SG.{L6}.{L8} ATBB AIza",
    "{B72}",
    "{U76}",
    "\tat {L8}.{L9}.{L12}({L9}.java:{D3}) ~[{L8}-{D1}.{D2}.jar:{h7}]",
];

fn write(line: &str, random: &mut Prng, into: &mut Vec<u8>) {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        into.extend_from_slice(before.as_bytes());
        let class = match after.chars().next() {
            Some('D') => DIGITS,
            Some('h') => HEX,
            Some('C') => CAPITALS,
            Some('L') => LETTERS,
            Some('B') => BASE64,
            Some('U') => BASE64_OF_URLS,
            _ => &[],
        };
        let count = after.get(1..).and_then(|after| after.split_once('}'));
        match count.and_then(|(count, after)| Some((count.parse::<usize>().ok()?, after))) {
            Some((count, after)) if !class.is_empty() => {
                into.extend((0..count).map(|_| class[random.below(class.len())]));
                rest = after;
            }
            _ => {
                into.push(b'{');
                rest = after;
            }
        }
    }
    into.extend_from_slice(rest.as_bytes());
    into.push(b'\n');
}

#[test]
fn nothing_is_found_in_a_log() {
    let mut random = Prng::named("log");
    let mut log = Vec::with_capacity(LOG + 4096);
    while log.len() < LOG {
        write(LINES[random.below(LINES.len())], &mut random, &mut log);
    }
    assert_eq!(found(TextRedactor::new(), &log), (Vec::new(), true));
    // The same lines as strings of JSON.
    let lines: Vec<_> = log.split(|byte| *byte == b'\n').map(String::from_utf8_lossy).collect();
    let document = serde_json::to_vec(&lines).unwrap();
    assert_eq!(found(TextRedactor::for_json(), &document), (Vec::new(), true));
}
