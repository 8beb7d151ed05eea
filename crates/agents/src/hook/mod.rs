//! What an agent calls before or after a tool.
