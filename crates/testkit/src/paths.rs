//! Places in the repository. Tests, fuzz targets and benches run in different folders, so paths begin at the root.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(2).expect("the kit is in crates/testkit").to_path_buf()
}

/// A path below [`root`].
pub fn path(relative: &str) -> PathBuf {
    root().join(relative)
}

/// The bytes of the file at a path below [`root`]. Panics if it cannot be read.
pub fn read(relative: &str) -> Vec<u8> {
    std::fs::read(path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// The text of the file at a path below [`root`]. Panics if it cannot be read or is not UTF-8.
pub fn text(relative: &str) -> String {
    String::from_utf8(read(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// The names of the files in a folder below [`root`] that end with `.extension`, sorted. Panics if there are none.
pub fn names(folder: &str, extension: &str) -> Vec<String> {
    let entries =
        std::fs::read_dir(path(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_name().expect("a name").to_str().expect("a UTF-8 name").to_owned())
        .collect();
    assert!(!names.is_empty(), "{folder} has no *.{extension}");
    names.sort_unstable();
    names
}
