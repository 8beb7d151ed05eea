//! Content: input that nobody sends in good faith, random pages, and the rules on how content combines with other rules.
//!
//! Documents with their text are cases: `tests/cases/content`.

mod hostile;
mod pages;
mod random;
mod rules;
