//! Shared code of the tests, fuzz targets and benches of tamis.
