#![cfg_attr(fuzzing, no_main)]
tamis_fuzz::fuzz!(factor);
