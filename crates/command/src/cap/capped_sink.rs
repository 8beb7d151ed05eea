//! [`CappedSink`]: a sink with a cap before it.

use tamis_json::Sink;

use super::CapRun;

/// The sink, and the cap of the call before it.
pub(crate) struct CappedSink<S> {
    pub(crate) inner: S,
    pub(crate) cap: Option<Box<CapRun>>,
}

impl<S: Sink> Sink for CappedSink<S> {
    fn write(&mut self, bytes: &[u8]) {
        match &mut self.cap {
            None => self.inner.write(bytes),
            Some(cap) => cap.write(bytes, &mut self.inner),
        }
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }
}
