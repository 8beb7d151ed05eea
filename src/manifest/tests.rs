//! Tests of what is not visible from outside.
