//! Tests of the store: writing, scopes, limits, windows.
