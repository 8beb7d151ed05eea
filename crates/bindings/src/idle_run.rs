//! A run that waits for the next small document, so that its buffers are not created again.

use std::sync::{Arc, Mutex};

use tamis::{Filter, Program};

use crate::error::BindingError;
use crate::options::BindingCall;
use crate::program::text_of;

/// Creating a run takes about as long as filtering five kilobytes. For longer documents that does not matter, and a run that
/// has held one would keep its memory.
pub(crate) const SMALL: usize = 32 << 10;

type Run = Filter<Vec<u8>>;

/// At most one idle run of a program. Threads that find none create their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleRun(Arc<Mutex<Option<Box<Run>>>>);

impl IdleRun {
    /// Filters a document with the idle run. `take` gets the output, which the next run overwrites.
    pub(crate) fn filter<R>(
        &self,
        program: &Program,
        document: &[u8],
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, BindingError> {
        let idle = self.0.try_lock().ok().and_then(|mut idle| idle.take());
        let mut filter = idle.unwrap_or_else(|| {
            let BindingCall(options) = BindingCall::default();
            Box::new(Filter::new(program.with_options(&options), Vec::new()))
        });
        match filter.write(document).and_then(|()| filter.finish()) {
            Ok(()) => {
                let taken = take(filter.sink());
                let output = filter.sink_mut();
                output.clear();
                // Templates and TOON can be longer than the document.
                output.shrink_to(SMALL);
                filter.restart();
                if let Ok(mut idle) = self.0.try_lock() {
                    *idle = Some(filter);
                }
                Ok(taken)
            }
            // A failed run is not used again.
            Err(error) => {
                Err(BindingError::of_run(&error, Vec::new(), Some(text_of(&filter.report()))))
            }
        }
    }
}
