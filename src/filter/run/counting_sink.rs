//! A sink that counts what it passes on.

use tamis_json::sink::Sink;

/// Counts the bytes written.
pub(super) struct CountingSink<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) bytes: u64,
}

impl Sink for CountingSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sink.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
