//! The reports of filters of all kinds.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::report::Report;

/// The report of a filter of any kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The report of a filter on JSON.
    Filter(Box<Report>),
    /// Any other report: a `TextReport` of a filter on lines of text, or that of a filter of another package.
    Other(Arc<dyn OtherReport>),
}

impl Outcome {
    /// Wraps the report of a filter that another package defines.
    #[must_use]
    pub fn other(report: impl OtherReport) -> Self {
        Self::Other(Arc::new(report))
    }

    /// Returns the report of a filter on JSON.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Filter(report) => Some(report),
            _ => None,
        }
    }

    /// Returns any other report, if it has this type.
    #[must_use]
    pub fn downcast_ref<R: OtherReport>(&self) -> Option<&R> {
        match self {
            Self::Other(report) => report.as_any().downcast_ref(),
            _ => None,
        }
    }

    pub(in crate::http) fn into_report(self) -> Option<Report> {
        match self {
            Self::Filter(report) => Some(*report),
            _ => None,
        }
    }
}

impl PartialEq for Outcome {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Filter(one), Self::Filter(other)) => one == other,
            (Self::Other(one), Self::Other(other)) => one.equals(&**other),
            _ => false,
        }
    }
}

/// A report of another package: any type that can be shown and compared.
pub trait OtherReport: Any + Debug + Send + Sync {
    /// Returns the report as a value of any type.
    fn as_any(&self) -> &dyn Any;

    /// Returns whether another report has the same type and is equal.
    fn equals(&self, other: &dyn OtherReport) -> bool;
}

impl<R: Any + Debug + PartialEq + Send + Sync> OtherReport for R {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn OtherReport) -> bool {
        other.as_any().downcast_ref::<R>() == Some(self)
    }
}
