#![cfg_attr(fuzzing, no_main)]
tamis_fuzz::fuzz!(filter_vs_model);
