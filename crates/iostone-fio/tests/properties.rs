//! Whatever a job file holds, it is understood or refused at a line that is there.

use std::sync::LazyLock;

use crate::support::{InMemory, read_among};
use iostone_fio::{Look, Place, Planning, Problem, Request, Targets, options, plan, split_arguments};
use proptest::prelude::*;

struct Anything;

impl Targets for Anything {
    fn look(&self, path: &str) -> Look {
        match path.len() % 3 {
            0 => Look::Missing,
            1 => Look::File(1 << 30),
            _ => Look::Device(1 << 33),
        }
    }
}

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| options().flat_map(iostone_fio::FioOption::names).collect());

fn check_places(problems: &[Problem], bytes: &[u8]) {
    assert!(!problems.is_empty());
    let lines = bytes.split(|byte| *byte == b'\n').count();
    for problem in problems {
        let Place::File { line, column, .. } = &problem.place else { panic!("{problem}") };
        assert!((1..=lines).contains(&(*line as usize)) && *column >= 1, "{problem}");
        let line = String::from_utf8_lossy(
            bytes.split(|byte| *byte == b'\n').nth(*line as usize - 1).unwrap_or_default(),
        );
        assert!(*column as usize <= line.chars().count() + 2, "{problem}: {line:?}");
    }
}

fn read_and_plan(bytes: &[u8]) {
    let memory = InMemory([("job.fio".to_owned(), bytes.to_vec())].into());
    let names = ["job.fio".to_owned()];
    for lenient in [false, true] {
        let request = Request { files: &names, lenient, ..Request::default() };
        match read_among(&memory, &request) {
            Err(problems) => check_places(&problems, bytes),
            Ok(jobs) => {
                // A plan of thousands of clones takes its time, and is no other plan.
                let clones: u64 =
                    jobs.sections.iter().map(|section| u64::from(section.options.numjobs.unwrap_or(1))).sum();
                if clones > 64 {
                    continue;
                }
                let planning = Planning { targets: &Anything, lenient, entropy: 1 };
                match plan(&jobs, &planning) {
                    Err(problems) => check_places(&problems, bytes),
                    Ok(plan) => {
                        let made: usize = plan.phases.iter().map(|phase| phase.jobs.len()).sum();
                        assert_eq!(made as u64, clones);
                    }
                }
            }
        }
    }
}

/// Values that options take, and others.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}[kmgt%z]?",
        "(0|1)",
        "(rand)?(read|write|rw|trim)(:[0-9]k)?",
        "[0-9]k(/[0-9]{1,2})?(:[0-9]k(/[0-9]{1,2})?){0,2}",
        "(zipf|pareto|normal|zoned)(:[0-9.]{1,4}){0,2}",
        "(libaio|io_uring|psync|mmap|null|sync)",
        "[0-9]{1,2}(ms|s|us|m)",
        "\\PC{0,12}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_and_plan(&bytes);
    }

    #[test]
    fn any_options_are_read_planned_or_refused(
        lines in prop::collection::vec((0..NAMES.len(), prop::option::of(value())), 0..12),
    ) {
        let mut text = String::from("[global]\nsize=1m\n[job]\n");
        for (name, value) in lines {
            text.push_str(NAMES[name]);
            if let Some(value) = value {
                text.push('=');
                text.push_str(&value.replace(['\n', '\r'], ""));
            }
            text.push('\n');
        }
        read_and_plan(text.as_bytes());
    }

    #[test]
    fn any_lines_are_read_or_refused(text in "(\\[(global|[a-c]{0,2})\\]?|include job.fio|[a-z_]{1,8} ?=? ?[0-9a-z]{0,3}|[;#].*|\\$\\{X\\}|\n){0,20}") {
        read_and_plan(text.as_bytes());
    }

    #[test]
    fn any_arguments_are_split_or_refused(arguments in prop::collection::vec("-{0,2}(name|bs|rw|x|thread)?(=?[a-z0-9]{0,4})", 0..6)) {
        if let Ok((arguments, _)) = split_arguments(&arguments) {
            let request = Request { arguments: &arguments, ..Request::default() };
            let _ = read_among(&InMemory::default(), &request);
        }
    }
}
