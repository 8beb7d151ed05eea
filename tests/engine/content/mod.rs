//! Content: hostile and random pages, and the rules on combining content with other rules.
//!
//! Documents with their text are cases: `tests/cases/content`.

mod hostile;
mod pages;
mod random;
mod rules;
