//! Files of projects whose rules for commands the user accepted.
//!
//! A file of a project may come from somebody else. Its rules for commands could hide lines of an output from the model, so they are
//! used only while the file, and the rules files that it names, are those that the user accepted: `tamis trust` keeps a
//! hash of them in the state folder.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tamis_manifest::CommandSettings;

/// The most bytes of a file.
const MOST_BYTES: u64 = 16 << 20;

/// Returns the files with rules that a file names.
#[must_use]
pub fn rules_files(file: &Path, commands: &CommandSettings) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new(""));
    commands.rules().iter().map(|path| folder.join(path)).collect()
}

/// Returns the hash of a file and of the rules files that it names.
///
/// # Errors
/// A file cannot be read, or is too long.
pub fn digest(file: &Path, commands: &CommandSettings) -> io::Result<String> {
    let mut hash = Sha256::new();
    for path in std::iter::once(file.to_owned()).chain(rules_files(file, commands)) {
        let mut bytes = Vec::new();
        let read = fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if read as u64 > MOST_BYTES {
            return Err(io::Error::other("the file is too long"));
        }
        // The lengths keep bytes of one file from counting as those of another.
        hash.update((read as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the place of the hash of a file.
fn place(state: &Path, file: &Path) -> PathBuf {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let name = hex(&Sha256::digest(real.as_os_str().as_encoded_bytes()));
    state.join("trusted").join(name)
}

/// Returns whether the user accepted a file as it is now.
#[must_use]
pub fn is_accepted(state: &Path, file: &Path, commands: &CommandSettings) -> bool {
    let accepted = fs::read_to_string(place(state, file)).unwrap_or_default();
    !accepted.is_empty() && digest(file, commands).is_ok_and(|digest| accepted == digest)
}

/// Accepts a file as it is now.
///
/// # Errors
/// The file cannot be read, or the hash cannot be written.
pub fn accept(state: &Path, file: &Path, commands: &CommandSettings) -> io::Result<()> {
    let (place, digest) = (place(state, file), digest(file, commands)?);
    if let Some(folder) = place.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    fs::write(place, digest)
}

/// Ends the acceptance of a file. Returns whether it was accepted.
#[must_use]
pub fn forget(state: &Path, file: &Path) -> bool {
    fs::remove_file(place(state, file)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tamis_manifest::Manifest;

    use super::{accept, forget, is_accepted};

    #[test]
    fn a_changed_file_is_accepted_again_or_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (state, file) = (folder.path().join("state"), folder.path().join("tamis.yaml"));
        let rules = folder.path().join("own.toml");
        let text = "version: 1\nfilters: {}\ncommands: {rules: [own.toml]}\n";
        fs::write(&file, text).unwrap();
        let manifest = Manifest::parse("tamis.yaml", text).unwrap();
        let commands = manifest.settings().commands().unwrap();
        // The rules are missing.
        accept(&state, &file, commands).unwrap_err();
        fs::write(&rules, "").unwrap();
        assert!(!is_accepted(&state, &file, commands));
        accept(&state, &file, commands).unwrap();
        assert!(is_accepted(&state, &file, commands));
        fs::write(&rules, "# changed\n").unwrap();
        assert!(!is_accepted(&state, &file, commands));
        accept(&state, &file, commands).unwrap();
        fs::write(&file, format!("{text}# changed\n")).unwrap();
        assert!(!is_accepted(&state, &file, commands));
        assert!(forget(&state, &file));
        assert!(!forget(&state, &file));
    }
}
