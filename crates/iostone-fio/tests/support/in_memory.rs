//! Files in memory and short ways to read them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;

use iostone_fio::{Files, JobFile, MachineFacts, Problem, Request, World, read};

/// Files by path.
#[derive(Debug, Default)]
pub(crate) struct InMemory(pub(crate) HashMap<String, Vec<u8>>);

impl Files for InMemory {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn exists(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

/// A machine of round figures.
pub(crate) const MACHINE: MachineFacts = MachineFacts { page_bytes: 4096, memory_mib: 1000, cpus: 8 };

/// Files of these names and texts.
pub(crate) fn files(texts: &[(&str, &str)]) -> InMemory {
    InMemory(texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect())
}

/// Reads a request in a world of these files, with `SIZE` set to `64m`.
pub(crate) fn read_among(files: &InMemory, request: &Request<'_>) -> Result<JobFile, Vec<Problem>> {
    let variable = |name: &str| (name == "SIZE").then(|| OsString::from("64m"));
    read(request, &World { files, variable: &variable, machine: MACHINE })
}

/// Reads one job file, called `job.fio`.
pub(crate) fn read_text(text: &str) -> Result<JobFile, Vec<Problem>> {
    let names = ["job.fio".to_owned()];
    read_among(&files(&[("job.fio", text)]), &Request { files: &names, ..Request::default() })
}

/// The problems of one job file, as they are printed.
#[allow(dead_code, reason = "not every test has problems")]
pub(crate) fn problems_of(text: &str) -> Vec<String> {
    read_text(text).map_or_else(|problems| problems.iter().map(ToString::to_string).collect(), |_| Vec::new())
}
