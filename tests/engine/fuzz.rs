//! The fuzz targets on a stable compiler, without a fuzzer. They run on seeds, and on regressions: inputs that once revealed a bug
//! (`fuzz/README.md`).
//!
//! Seeds are made from `corpus/` and from the cases. `TAMIS_BLESS=1 cargo test --test engine fuzz::seeds` writes them again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tamis_testkit::fuzz::{TARGETS, evade};
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

fn folder(kind: &str, target: &str) -> PathBuf {
    paths::path("fuzz").join(kind).join(target)
}

/// The files of a folder, by name. A folder that does not exist has none.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.expect("the entry can be read").path());
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort_unstable();
    files
}

/// Runs all targets on their files of a kind and returns the number of files. Panics with the files that failed.
fn replay(kind: &str) -> usize {
    let mut count = 0;
    let mut failed = Vec::new();
    for (name, run) in TARGETS {
        for file in files(&folder(kind, name)) {
            let data = std::fs::read(&file).expect("the file can be read");
            if std::panic::catch_unwind(|| run(&data)).is_err() {
                failed.push(file);
            }
            count += 1;
        }
    }
    assert!(failed.is_empty(), "panics, see above: {failed:?}");
    count
}

#[test]
fn seeds() {
    // Not a test of its own, because seeds cannot be replayed while they are written.
    seeds_are_made();
    let count = replay("seeds");
    assert!(count >= 10 * TARGETS.len(), "only {count} seeds");
}

#[test]
fn regressions() {
    replay("regressions");
    let readme = std::fs::read_to_string(folder("", "").join("README.md"));
    let readme = readme.expect("the page can be read");
    let documented: BTreeSet<&str> = readme
        .lines()
        .skip_while(|line| *line != "## Regressions")
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let there = files(&folder("regressions", "")).into_iter().flat_map(|target| files(&target));
    let mut names = BTreeSet::new();
    for file in there {
        let folder = file.strip_prefix(folder("regressions", "")).expect("a file in that folder");
        names.insert(folder.to_str().expect("a name in ASCII").to_owned());
    }
    assert_eq!(
        names.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        documented,
        "fuzz/README.md"
    );
}

/// Random bytes of every length, with choices of every length.
#[test]
fn anything() {
    let mut random = Prng::new(0xf022);
    for (_, run) in TARGETS {
        for length in 0..120 {
            let mut data: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            run(&data);
            if let Some(choices) = data.first_mut() {
                *choices = random.below(length) as u8;
            }
            run(&data);
        }
    }
}

/// Most inputs of `evade` have a secret and run to the end, for each kind of rules. An error would hide too much.
#[test]
fn evade_tries() {
    let mut random = Prng::new(0xe7ade);
    let mut tried: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for _ in 0..10_000 {
        let (choices, rest) = (bytes(&mut random, 80), bytes(&mut random, 400));
        let data = [&[choices.len() as u8][..], &choices, &rest].concat();
        let Some(attempt) = evade::attempt(&data) else { continue };
        let [all, secret, ended] = tried.entry(attempt.rules).or_default();
        *all += 1;
        *secret += usize::from(attempt.secret);
        *ended += usize::from(attempt.secret && attempt.ended);
    }
    assert_eq!(tried.len(), 8, "{tried:?}");
    for (rules, [all, secret, ended]) in tried {
        assert!(
            all > 100 && 3 * secret > all && 5 * ended > 2 * secret,
            "{rules}: {all} inputs, {secret} with a secret, {ended} ended"
        );
    }
}

/// Every target has a program and seeds, and there are no other folders.
#[test]
fn targets_are_complete() {
    let mut names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    // They test internals of the library and are replayed by `crates/json/src/scan/tests.rs` and `src/filter/loop_diff.rs`.
    names.extend(["loop_vs_walk", "scan_diff"]);
    names.sort_unstable();
    let stems = |folder: &str| -> Vec<String> {
        let files = files(&paths::root().join("fuzz").join(folder));
        let stem = |file: PathBuf| file.file_stem().expect("a name").to_string_lossy().into_owned();
        files.into_iter().map(stem).collect()
    };
    assert_eq!(stems("fuzz_targets"), names);
    assert_eq!(stems("seeds"), names);
    let manifest = std::fs::read_to_string(folder("", "").join("Cargo.toml"));
    let manifest = manifest.expect("the manifest can be read");
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "no program {name}");
    }
}

/// The material of a target's seeds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Documents after bytes that choose the program: those of `tests/cases/filter`, and short ones of `corpus/`.
    Documents,
    /// The documents of `tests/cases/filter`, and the files of `corpus/grammar`.
    Grammar,
    /// Only bytes that choose.
    Choices,
    /// Manifests of every format, and rules for commands.
    Manifests,
    /// Templates, a null byte and an item.
    Templates,
    /// Outputs of commands, and other texts.
    Texts,
    /// Pages, responses and texts.
    Pages,
    /// Chats.
    Histories,
}

const SEEDS: &[(&str, From)] = &[
    ("chunks", From::Documents),
    ("scan_diff", From::Grammar),
    ("async_body", From::Documents),
    ("factor", From::Documents),
    ("history", From::Histories),
    ("html", From::Pages),
    ("manifest", From::Manifests),
    ("patch_vs_tree", From::Documents),
    ("template", From::Templates),
    ("text", From::Texts),
    ("budget", From::Documents),
    ("evade", From::Choices),
    ("filter_vs_model", From::Documents),
    ("json_verdict", From::Grammar),
    ("loop_vs_walk", From::Documents),
];
/// The maximum number of seeds of a target.
const MOST: usize = 120;
/// Longer documents are not used, because a fuzzer is slow on them.
const LONGEST: usize = 3 << 10;

/// Seeds by the names of their files.
type Seeds = BTreeMap<String, Vec<u8>>;

/// Compares the folders with the seeds that corpus and cases give. Writes them if that is requested.
fn seeds_are_made() {
    let bless = std::env::var_os("TAMIS_BLESS").is_some();
    let mut differ = Vec::new();
    for (target, from) in SEEDS {
        let folder = folder("seeds", target);
        let name =
            |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let read = |file| std::fs::read(file).expect("the file can be read");
        let found: Seeds = files(&folder)
            .into_iter()
            .filter_map(|file| Some((name(&file)?, read(file))))
            .collect();
        let made = made(target, *from);
        let names = found.keys().chain(made.keys().filter(|name| !found.contains_key(*name)));
        for name in names.filter(|name| found.get(*name) != made.get(*name)) {
            let path = folder.join(name);
            match made.get(name) {
                _ if !bless => differ.push(format!("{target}/{name}")),
                Some(seed) => {
                    std::fs::create_dir_all(&folder).expect("the folder can be made");
                    std::fs::write(path, seed).expect("the file can be written");
                }
                None => std::fs::remove_file(path).expect("the file can be removed"),
            }
        }
    }
    assert!(
        differ.is_empty(),
        "not what corpus and cases make; `TAMIS_BLESS=1 cargo test --test engine fuzz::seeds` writes them: {differ:?}"
    );
}

/// The seeds of a target. Whether a document is used, its name and its choices depend only on the document, so a new document
/// changes one seed.
fn made(target: &str, from: From) -> Seeds {
    let mut random = Prng::named(target);
    let mut noise =
        |count: usize| -> Vec<Vec<u8>> { (0..count).map(|_| bytes(&mut random, 400)).collect() };
    let documents = match from {
        From::Choices => noise(MOST / 2),
        From::Documents | From::Grammar => apart(documents(from), MOST),
        _ => [apart(others(from), MOST * 2 / 3), noise(MOST / 3)].concat(),
    };
    let seed = |document: Vec<u8>| {
        let mut random = Prng::named(&format!("{target} {}", document.escape_ascii()));
        let head = bytes(&mut random, 80);
        let name = format!("{:016x}", random.next_u64());
        (name, [&[head.len() as u8][..], &head, &document].concat())
    };
    documents.into_iter().map(seed).collect()
}

/// Some of many documents, chosen by their hashes.
fn apart(mut documents: Vec<Vec<u8>>, most: usize) -> Vec<Vec<u8>> {
    documents.sort_by_cached_key(|document| {
        Prng::named(&document.escape_ascii().to_string()).next_u64()
    });
    documents.dedup();
    documents.truncate(most);
    documents
}

fn bytes(random: &mut Prng, most: usize) -> Vec<u8> {
    (0..random.below(most + 1)).map(|_| random.next_u64() as u8).collect()
}

fn documents(from: From) -> Vec<Vec<u8>> {
    let root = paths::root();
    let mut found = Vec::new();
    let mut folders = vec!["corpus"];
    if from == From::Grammar {
        folders = vec!["corpus/grammar/valid", "corpus/grammar/invalid", "corpus/grammar/either"];
    }
    for file in folders.into_iter().flat_map(|folder| files(&root.join(folder))) {
        found.extend(file.is_file().then(|| std::fs::read(file).expect("the file can be read")));
    }
    for file in files(&root.join("tests/cases/filter")) {
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let table: toml::Table = text.parse().expect("cases are TOML");
        for case in table["case"].as_array().into_iter().flatten() {
            found.extend(case.get("input").and_then(|text| text.as_str()).map(Vec::from));
        }
    }
    found.retain(|document| document.len() <= LONGEST);
    found
}

/// Inputs that are not JSON, from the cases and the corpus.
fn others(from: From) -> Vec<Vec<u8>> {
    let root = paths::root();
    let (corpus, cases, keys): (_, &[&str], &[&str]) = match from {
        From::Manifests => {
            ("", &["tests/cases/manifests", "tests/cases/commands"], &["manifest", "rules"])
        }
        From::Templates => ("", &["corpus/templates"], &["template"]),
        From::Texts => {
            ("corpus/commands", &["tests/cases/text", "tests/cases/commands"], &["input", "string"])
        }
        From::Pages => ("corpus/pages", &["tests/cases/content"], &["input"]),
        _ => ("", &["tests/cases/history"], &["input"]),
    };
    let mut found = Vec::new();
    let recorded = if corpus.is_empty() { Vec::new() } else { files(&root.join(corpus)) };
    for file in recorded {
        // A README describes the corpus and does not belong to it.
        if !file.is_file() || file.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        let mut text = std::fs::read(file).expect("the file can be read");
        text.truncate(LONGEST);
        found.push(text);
    }
    for file in cases.iter().flat_map(|folder| files(&root.join(folder))) {
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let table: toml::Table = text.parse().expect("cases are TOML");
        let data = table.get("data").and_then(|data| data.as_str());
        for case in table.get("case").and_then(|case| case.as_array()).into_iter().flatten() {
            let text = |key: &str| case.get(key).and_then(|text| text.as_str());
            for key in keys {
                let Some(own) = text(key) else { continue };
                found.push(match text("data").or(data) {
                    Some(data) if from == From::Templates => format!("{own}\0{data}").into_bytes(),
                    _ => own.into(),
                });
            }
        }
    }
    found.retain(|document| document.len() <= LONGEST);
    found
}
