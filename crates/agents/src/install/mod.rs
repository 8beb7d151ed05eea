//! Changes to the files of an agent.
