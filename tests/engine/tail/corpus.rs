//! The corpus, and which rules run over it.

use tamis::Spec;

/// The documents, by name.
pub(crate) fn documents() -> Vec<(String, Vec<u8>)> {
    let folder = tamis_testkit::paths::path("corpus");
    let mut documents: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    documents.sort();
    assert!(documents.len() >= 15, "the corpus is found");
    documents
}

/// Rules on items, with names that items of the corpus have.
pub(crate) fn specs() -> Vec<Spec> {
    let select = ["id", "title", "name", "user.login", "text", "fields.summary", "metadata.name"]
        .into_iter()
        .fold(Spec::new(), |spec, path| spec.select_as(path.replace('.', "_"), path));
    vec![Spec::new(), select.max_items(7).drop_nulls(true), Spec::new().root("object")]
}

/// The place of a payload, as a report says it.
pub(crate) fn way(pointer: &str) -> Vec<String> {
    let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
    pointer.split('/').skip(1).map(unescape).collect()
}
