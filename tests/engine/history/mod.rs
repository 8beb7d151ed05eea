//! Pruning of histories: every shape, through every driver, cut at every byte, compared with a simple model.

mod hostile;
mod jumble;
mod random;
