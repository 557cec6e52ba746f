//! fio's job files, with files to include: each is planned, or refused at a line that is there.
#![no_main]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;

use iostone_fio::{
    Files, Look, MachineFacts, Place, Planning, Problem, Request, Targets, World, plan, read, split_arguments,
};
use libfuzzer_sys::fuzz_target;

/// More clones than this only take longer.
const MOST_CLONES: u64 = 64;

struct InMemory<'a>(HashMap<String, &'a [u8]>);

impl Files for InMemory<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.get(path).map(|bytes| bytes.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn exists(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

impl Targets for InMemory<'_> {
    fn look(&self, path: &str) -> Look {
        match path.len() % 4 {
            0 => Look::Missing,
            1 => Look::File(1 << 30),
            2 => Look::Device(1 << 40),
            _ => Look::Other,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    // The job file `a`, and after each NUL a file that it may include: `b`, `c`, `d`.
    let parts = bytes.split(|byte| *byte == 0).take(4);
    let files = InMemory(["a", "b", "c", "d"].map(String::from).into_iter().zip(parts).collect());
    let variable = |name: &str| (name == "X").then(|| OsString::from("64m"));
    let machine = MachineFacts { page_bytes: 4096, memory_mib: 1024, cpus: 4 };
    let world = World { files: &files, variable: &variable, machine };
    let names = ["a".to_owned()];
    for lenient in [false, true] {
        let request = Request { files: &names, lenient, ..Request::default() };
        let jobs = match read(&request, &world) {
            Ok(jobs) => jobs,
            Err(problems) => {
                check(&problems, &files);
                continue;
            }
        };
        assert!(lenient || jobs.dropped.is_empty());
        let clones = |section: &iostone_fio::Section| u64::from(section.options.numjobs.unwrap_or(1));
        if jobs.sections.iter().map(clones).sum::<u64>() > MOST_CLONES {
            continue;
        }
        match plan(&jobs, &Planning { targets: &files, lenient, entropy: 1 }) {
            Ok(plan) => {
                for planned in plan.phases.iter().flat_map(|phase| &phase.jobs) {
                    planned.job.check().expect("the plan holds what the engine takes");
                }
            }
            Err(problems) => check(&problems, &files),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let arguments: Vec<String> = text.split(['\n', '\0']).map(str::to_owned).collect();
        if let Ok((arguments, _)) = split_arguments(&arguments) {
            let _ = read(&Request { arguments: &arguments, ..Request::default() }, &world);
        }
    }
});

fn check(problems: &[Problem], files: &InMemory<'_>) {
    assert!(!problems.is_empty(), "refused without a reason");
    for problem in problems {
        let Place::File { path, line, column } = &problem.place else { panic!("{problem}") };
        let text = files.0.get(&**path).copied().unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').count();
        assert!((1..=lines).contains(&(*line as usize)) && *column >= 1, "{problem}");
        assert!(!problem.to_string().is_empty());
    }
}
