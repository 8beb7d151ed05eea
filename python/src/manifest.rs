//! The class `tamis.Manifest`.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tamis_bindings::BindingManifest;

use crate::error::raised;
use crate::program::Program;

/// A file with the filters of many tools.
///
/// `source` is a path object, or a string without a line break, which names a file; any other string is the text.
///
/// >>> manifest = tamis.Manifest("version: 1\nfilters: {crm.list: {select: [id]}}\n")
/// >>> manifest.program("mcp__crm__list").filter('[{"id": 1, "x": 2}]')
/// b'[{"id":1}]'
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Manifest(BindingManifest);

#[pymethods]
impl Manifest {
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = source.cast::<PyString>() {
            let text = text.to_str()?;
            if text.contains('\n') {
                return Self::parse(py, text, "manifest");
            }
        }
        Self::load(py, source.extract()?)
    }

    /// Read a manifest from text. Errors call it `name`.
    #[staticmethod]
    #[pyo3(signature = (text, name="manifest"))]
    fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Self> {
        let parsed = py.detach(|| BindingManifest::parse(name, text));
        parsed.map(Self).map_err(|error| raised(py, error))
    }

    /// Read a manifest from a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = py.detach(|| BindingManifest::load(path));
        loaded.map(Self).map_err(|error| raised(py, error))
    }

    /// Return the built-in filters for common APIs.
    #[staticmethod]
    fn catalog(py: Python<'_>) -> PyResult<Self> {
        let catalog = py.detach(BindingManifest::catalog);
        catalog.map(Self).map_err(|error| raised(py, error))
    }

    /// Combine manifests into one. Raise `tamis.Error` if two of them have a filter for one name.
    #[staticmethod]
    #[pyo3(signature = (*manifests))]
    fn merge(py: Python<'_>, manifests: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let merged = BindingManifest::merge(manifests.iter().map(|manifest| &manifest.0));
        merged.map(Self).map_err(|error| raised(py, error))
    }

    /// Return the filters of a service, `NAME@VERSION`, and those that are bound to no service.
    fn for_service(&self, py: Python<'_>, service: &str) -> PyResult<Self> {
        self.0.for_service(service).map(Self).map_err(|error| raised(py, error))
    }

    /// Return the filter of a tool. Raise `tamis.Error` if there is none.
    fn program(&self, py: Python<'_>, tool: &str) -> PyResult<Program> {
        self.0.program(tool).map(Program).map_err(|error| raised(py, error))
    }

    /// Return the filter of a tool, or `None`.
    fn find(&self, py: Python<'_>, tool: &str) -> PyResult<Option<Program>> {
        let found = self.0.find(tool).map_err(|error| raised(py, error))?;
        Ok(found.map(Program))
    }

    /// The names of all filters.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    /// Warnings about the filters, each with its place.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn __repr__(&self) -> String {
        format!("<tamis.Manifest with {} filters>", self.0.names().len())
    }

    fn __len__(&self) -> usize {
        self.0.names().len()
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __contains__(&self, tool: &str) -> bool {
        self.0.program(tool).is_ok()
    }
}
