//! Writes the files of a plan: all of them, or none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::plan::{Change, InstallError, Plan};

impl Plan {
    /// Makes the changes. Each file is replaced by a complete new one, so that a program that reads it at the same time
    /// sees either the old or the new one.
    ///
    /// # Errors
    /// A file cannot be written, or was changed after the plan was made. All files are as they were before.
    pub fn apply(&self) -> Result<(), InstallError> {
        let files = self.changes.iter();
        let order: Vec<&Change> = if self.is_install {
            [&self.record].into_iter().chain(files).collect()
        } else {
            files.chain([&self.record]).collect()
        };
        let order: Vec<&Change> = order.into_iter().filter(|change| change.is_needed()).collect();
        let mut run = Run::default();
        for change in &order {
            if let Err(error) = run.prepare(change) {
                run.undo();
                return Err(failed(change, "cannot be written", &error));
            }
        }
        for (at, change) in order.iter().enumerate() {
            if let Err(error) = run.replace(at, change) {
                run.undo();
                return Err(failed(change, "cannot be replaced", &error));
            }
        }
        for folder in order.iter().flat_map(|change| &change.folders) {
            // A folder that has other files is kept.
            _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

fn failed(change: &Change, what: &str, error: &io::Error) -> InstallError {
    let message = format!("{what}: {error}; nothing was changed");
    InstallError { file: change.shown.clone(), message, snippet: None }
}

/// The changes that were made so far.
#[derive(Default)]
struct Run<'p> {
    /// The new files, one for each change that has one.
    temporary: Vec<Option<PathBuf>>,
    /// Folders that were created, in this order.
    folders: Vec<PathBuf>,
    replaced: Vec<&'p Change>,
}

impl<'p> Run<'p> {
    /// Writes the new content to a temporary file in the same folder.
    fn prepare(&mut self, change: &'p Change) -> io::Result<()> {
        let Some(text) = &change.after else {
            self.temporary.push(None);
            return Ok(());
        };
        let folder = change.path.parent().unwrap_or(Path::new("/"));
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        for folder in missing.into_iter().rev() {
            create_folder(&folder, change.mode)?;
            self.folders.push(folder);
        }
        let temporary = write_temporary(&change.path, text.as_bytes(), change.mode)?;
        self.temporary.push(Some(temporary));
        Ok(())
    }

    /// Puts the new file in the place of the old one, if that is still the one that was planned for.
    fn replace(&mut self, at: usize, change: &'p Change) -> io::Result<()> {
        let now = match fs::read(&change.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now.as_deref() != change.before.as_ref().map(String::as_bytes) {
            return Err(io::Error::other("another program has just changed it; try again"));
        }
        match self.temporary.get_mut(at).and_then(Option::take) {
            Some(temporary) => fs::rename(&temporary, &change.path).inspect_err(|_| {
                _ = fs::remove_file(&temporary);
            })?,
            None => fs::remove_file(&change.path)?,
        }
        self.replaced.push(change);
        Ok(())
    }

    /// Restores what was replaced. Errors are ignored: the first one is reported.
    fn undo(&mut self) {
        for temporary in self.temporary.iter().flatten() {
            _ = fs::remove_file(temporary);
        }
        for change in self.replaced.iter().rev() {
            _ = match &change.before {
                None => fs::remove_file(&change.path),
                Some(text) => write_temporary(&change.path, text.as_bytes(), change.mode)
                    .and_then(|temporary| fs::rename(temporary, &change.path)),
            };
        }
        for folder in self.folders.iter().rev() {
            _ = fs::remove_dir(folder);
        }
    }
}

/// Creates one folder: a private one for a private file.
fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    if mode & 0o077 == 0 {
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        return builder.create(path);
    }
    #[cfg(not(unix))]
    let _ = mode;
    fs::create_dir(path)
}

/// Writes a file next to `path`, with the owner and the mode of the file there, if it exists. Returns its path.
fn write_temporary(path: &Path, bytes: &[u8], mode: u32) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.tamis-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(&temporary)?;
    let mut write = || {
        file.write_all(bytes)?;
        if let Ok(old) = path.metadata() {
            keep_owner(&file, &old);
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()
    };
    write().inspect_err(|_| {
        _ = fs::remove_file(&temporary);
    })?;
    Ok(temporary)
}

/// Gives the file to the owner of the old one. Only root can, and only root needs to.
#[cfg(unix)]
fn keep_owner(file: &fs::File, old: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    if file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (old.uid(), old.gid())) {
        _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &fs::File, _: &fs::Metadata) {}
