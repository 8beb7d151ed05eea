#![cfg_attr(fuzzing, no_main)]
tamis_fuzz::fuzz!(patch_vs_tree);
