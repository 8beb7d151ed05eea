//! Files with the filters of many tools.

use napi::bindgen_prelude::{ClassInstance, Null};
use napi_derive::napi;
use tamis_bindings::BindingManifest;

use crate::failure::{Outcome, outcome};
use crate::program::NativeProgram;

/// A file with the filters of many tools.
#[napi]
pub struct NativeManifest(BindingManifest);

/// Reads a manifest from text.
#[napi]
pub fn parse_manifest(name: String, text: String) -> Outcome<NativeManifest> {
    outcome(BindingManifest::parse(&name, &text).map(NativeManifest))
}

/// Reads a manifest from a file.
#[napi]
pub fn load_manifest(path: String) -> Outcome<NativeManifest> {
    outcome(BindingManifest::load(path).map(NativeManifest))
}

/// Returns the built-in filters.
#[napi]
pub fn catalog() -> Outcome<NativeManifest> {
    outcome(BindingManifest::catalog().map(NativeManifest))
}

/// Combines manifests into one.
#[napi]
pub fn merge_manifests(
    manifests: Vec<ClassInstance<'_, NativeManifest>>,
) -> Outcome<NativeManifest> {
    let merged = BindingManifest::merge(manifests.iter().map(|manifest| &manifest.0));
    outcome(merged.map(NativeManifest))
}

#[napi]
impl NativeManifest {
    /// Returns the filters of a service.
    #[napi]
    pub fn for_service(&self, service: String) -> Outcome<NativeManifest> {
        outcome(self.0.for_service(&service).map(NativeManifest))
    }

    /// Returns the filter of a tool.
    #[napi]
    pub fn program(&self, tool: String) -> Outcome<NativeProgram> {
        outcome(self.0.program(&tool).map(NativeProgram))
    }

    /// Returns the filter of a tool, or null.
    #[napi]
    pub fn find(&self, tool: String) -> Outcome<napi::Either<NativeProgram, Null>> {
        let found = self.0.find(&tool);
        outcome(found.map(|found| match found {
            Some(program) => napi::Either::A(NativeProgram(program)),
            None => napi::Either::B(Null),
        }))
    }

    /// The names of all filters.
    #[napi(getter)]
    pub fn names(&self) -> Vec<String> {
        self.0.names().into_iter().map(str::to_owned).collect()
    }

    /// Warnings about the filters.
    #[napi(getter)]
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }
}
