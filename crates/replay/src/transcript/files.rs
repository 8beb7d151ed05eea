//! The full outputs that agents keep in files near their transcripts.
//!
//! A transcript names the file by its absolute path. Only its last name is used: the file must be in the folder where this agent keeps
//! the outputs of this session, so that a transcript cannot make other files be read, and a folder that was moved still works.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The most bytes of a full output that are read.
const LONGEST: u64 = 16 << 20;

/// Returns the text of a file in a folder, and whether it is complete.
pub(crate) fn read(folder: &Path, named: &str) -> Option<(String, bool)> {
    let name = named.rsplit(['/', '\\']).next()?;
    if name.is_empty() || name == ".." || name == "." {
        return None;
    }
    let path = folder.join(name);
    // Not through links: the agents write plain files.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    let is_complete = bytes.len() as u64 <= LONGEST;
    bytes.truncate(usize::try_from(LONGEST).unwrap_or(usize::MAX));
    Some((String::from_utf8_lossy(&bytes).into_owned(), is_complete))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn only_files_of_the_folder_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("tool-results");
        std::fs::create_dir(&results).unwrap();
        std::fs::write(results.join("a.txt"), "all").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        assert_eq!(read(&results, "/elsewhere/a.txt"), Some(("all".to_owned(), true)));
        assert_eq!(read(&results, "a.txt"), Some(("all".to_owned(), true)));
        for name in ["../secret.txt", "/x/..", "", "/", "missing"] {
            assert_eq!(read(&results, name), None, "{name}");
        }
    }
}
