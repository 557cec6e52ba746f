//! What the installed fio is asked to do.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sentence;
use crate::units::Span;

/// The installed fio with a job file, read from its JSON+. iostone's own engine is the workload `io`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FioWorkload {
    /// The job file; either this or `job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_file: Option<PathBuf>,
    /// The job file's text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Sections to run; all when left out, `--section`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// A trial that takes longer is ended and counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl FioWorkload {
    /// In a line for people.
    pub fn summary(&self) -> String {
        let job = match &self.job_file {
            Some(path) => format!("fio {}", path.display()),
            None => "fio, its job in the experiment".to_owned(),
        };
        let plural = if self.sections.len() == 1 { "" } else { "s" };
        let sections =
            (!self.sections.is_empty()).then(|| format!("section{plural} {}", self.sections.join(", ")));
        sentence([Some(job), sections])
    }
}
