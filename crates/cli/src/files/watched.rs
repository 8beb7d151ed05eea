//! A file whose bytes are watched while they are read: counted, copied, shown by a progress bar.

use std::fs::File;
use std::io::{self, Read};

use tamis::FileReader;

/// A file, and a reader around the same file.
pub(crate) struct WatchedFile {
    file: File,
    reader: Box<dyn Read>,
}

impl WatchedFile {
    /// Puts a reader around the file.
    ///
    /// # Errors
    /// The file cannot be opened a second time.
    pub(crate) fn new(
        file: File,
        around: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
    ) -> io::Result<Self> {
        // Both have one position.
        let same = file.try_clone()?;
        Ok(Self { file, reader: around(Box::new(same)) })
    }
}

impl Read for WatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl FileReader for WatchedFile {
    fn file(&mut self) -> &mut File {
        &mut self.file
    }
}
