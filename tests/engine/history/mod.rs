//! Pruning of histories: every shape, through every driver, at every cut, beside a model that is obviously right.

mod hostile;
mod jumble;
mod random;
