//! Text filters: cases as data (`tests/cases/text/*.toml`), a model that reads the operations off the whole text, and input that
//! nobody sends in good faith.

mod hostile;
mod random;
mod release;
