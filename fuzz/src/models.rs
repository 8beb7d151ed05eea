//! Models of the tests that are in a module of their own there.

#[path = "../../tests/tail/budget.rs"]
pub(crate) mod budget;
#[path = "../../tests/tail/generate.rs"]
pub(crate) mod generate;
#[path = "../../tests/tail/text.rs"]
pub(crate) mod text;
