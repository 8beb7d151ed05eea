//! Where filters come from: flags, manifests, the catalog, files of other kinds. And what they do to samples.

pub(crate) mod by_name;
pub(crate) mod command_rules;
pub(crate) mod gateway_file;
pub(crate) mod patch_files;
pub(crate) mod samples;
