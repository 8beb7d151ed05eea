//! Cases: data in TOML files, each of which becomes a test with a name of its own.
//!
//! A file has an array of tables, `[[case]]` for most. The test of a case is called `theme::file::name`, where
//! characters of the case's name that are not letters or digits become `_`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::paths;

/// A case, and where it is written.
#[derive(Clone, Debug)]
pub struct Case<C> {
    /// Its name; of the keys `name`, `file` and `tool`, the first that it has.
    pub name: String,
    /// Its file, from the root of the repository, with its line: `tests/cases/filter/when.toml:12`.
    pub place: String,
    pub data: C,
}

/// A test: one case, or one property of all cases of a theme.
pub struct CaseTest {
    pub name: String,
    run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

thread_local! {
    /// The last panic of this thread, if it runs a test.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

impl CaseTest {
    pub fn new(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A test of all cases of a theme, which fails by panicking.
    pub fn of_all(name: &str, run: fn()) -> Self {
        Self::new(name, move || {
            run();
            Ok(())
        })
    }

    /// Runs the test. A panic is returned as an error, with the place of the panic if [`catch_panics`] was called.
    pub fn run(self) -> Result<(), String> {
        PANIC.set(Some(String::new()));
        let ran = catch_unwind(AssertUnwindSafe(self.run));
        let panicked = PANIC.take();
        ran.unwrap_or_else(|_| Err(panicked.unwrap_or_default()))
    }
}

/// Makes panics of tests part of their results, instead of lines on standard error between those of other tests.
pub fn catch_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_test = PANIC.with_borrow_mut(|panic| {
            panic.as_mut().map(|message| *message = info.to_string()).is_some()
        });
        if !is_test {
            default(info);
        }
    }));
}

/// The cases of a file: the tables of the array `key`. Panics if the file has none, or two with the same name.
pub fn read<C: DeserializeOwned>(file: &str, key: &str) -> Vec<Case<C>> {
    let text = paths::text(file);
    let places = DeTable::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let Some(DeValue::Array(places)) = places.get_ref().get(key).map(toml::Spanned::get_ref) else {
        panic!("{file} has no [[{key}]]");
    };
    let mut table: toml::Table = text.parse().expect("it was parsed before");
    let Some(toml::Value::Array(cases)) = table.remove(key) else {
        panic!("{file} has no [[{key}]]");
    };
    let (mut names, mut exact) = (BTreeSet::new(), BTreeSet::new());
    let case = |(case, place): (toml::Value, &toml::Spanned<DeValue<'_>>)| {
        let line = 1 + text[..place.span().start].matches('\n').count();
        let place = format!("{file}:{line}");
        let key = ["name", "file", "tool", "tools"].into_iter().find(|key| case.get(key).is_some());
        let key = key.unwrap_or_else(|| panic!("{place}: a case without a name"));
        let mut name = case[key].as_str().expect("a name is a text").to_owned();
        let is_new = key != "name" || exact.insert(name.clone());
        assert!(is_new, "{place}: another case is called {name:?}");
        // Two cases may be about the same tool, or their names differ only in signs.
        for number in 2.. {
            if names.insert(slug(&name)) {
                break;
            }
            name = format!("{} {number}", case[key].as_str().expect("a name is a text"));
        }
        let data = case.try_into().unwrap_or_else(|error| panic!("{place}: {error}"));
        Case { name, place, data }
    };
    let cases: Vec<Case<C>> = cases.into_iter().zip(places).map(case).collect();
    assert!(!cases.is_empty(), "{file} has no cases");
    cases
}

/// The cases of all files of a folder, each with the name of its file without `.toml`.
pub fn read_folder<C: DeserializeOwned>(folder: &str, key: &str) -> Vec<(String, Case<C>)> {
    let mut all = Vec::new();
    for name in paths::names(folder, "toml") {
        let cases = read(&format!("{folder}/{name}"), key);
        let stem = name.trim_end_matches(".toml").to_owned();
        all.extend(cases.into_iter().map(|case| (stem.clone(), case)));
    }
    all
}

/// A test for each case of the folder `tests/cases/THEME`.
pub fn tests<C>(theme: &str, run: fn(&Case<C>) -> Result<(), String>) -> Vec<CaseTest>
where
    C: DeserializeOwned + Send + 'static,
{
    let cases = read_folder(&format!("tests/cases/{theme}"), "case");
    cases.into_iter().map(|(file, case)| test(&format!("{theme}::{file}"), case, run)).collect()
}

/// The test of one case.
pub fn test<C: Send + 'static>(
    group: &str,
    case: Case<C>,
    run: fn(&Case<C>) -> Result<(), String>,
) -> CaseTest {
    let name = format!("{group}::{}", slug(&case.name));
    CaseTest::new(name, move || {
        let ran = catch_unwind(AssertUnwindSafe(|| run(&case)));
        let ran = ran
            .unwrap_or_else(|_| Err(PANIC.with_borrow(|panic| panic.clone()).unwrap_or_default()));
        ran.map_err(|why| format!("{}: {:?}\n{why}", case.place, case.name))
    })
}

/// A name that a shell takes as one word and a filter of tests finds.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for char in name.chars() {
        if char.is_alphanumeric() {
            slug.extend(char.to_lowercase());
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug.trim_matches('_').to_owned()
}

/// An error that shows both values, unless they are equal.
pub fn expect<T: Debug + PartialEq>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}:\n  expected {expected:?}\n  found    {found:?}"))
    }
}

/// Whether expectations are written instead of compared: `TAMIS_BLESS` is set.
pub fn bless() -> bool {
    std::env::var_os("TAMIS_BLESS").is_some()
}

/// Returns a top-level text of a file of cases. Panics if the file has no text with this name.
pub fn shared(file: &str, key: &str) -> String {
    let table: toml::Table =
        paths::text(file).parse().unwrap_or_else(|error| panic!("{file}: {error}"));
    table[key].as_str().unwrap_or_else(|| panic!("{file}: {key} is not a text")).to_owned()
}
