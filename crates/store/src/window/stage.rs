//! The interface of the stages of a window.

use super::report::WindowFacts;

/// One stage of a window. It passes bytes on to the next stage, which it owns.
pub(super) trait Stage {
    /// Takes the next bytes.
    fn write(&mut self, bytes: &[u8]);

    /// Ends the stage and those after it, and adds its facts.
    fn end(&mut self, facts: &mut WindowFacts);

    /// Whether no later byte can change the window.
    fn is_closed(&self) -> bool;
}

impl Stage for Box<dyn Stage + '_> {
    fn write(&mut self, bytes: &[u8]) {
        (**self).write(bytes);
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        (**self).end(facts);
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }
}
