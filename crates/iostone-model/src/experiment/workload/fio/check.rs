//! Whether fio can be asked for a job.

use crate::experiment::FioWorkload;
use crate::experiment::check::Findings;

pub(super) fn check(fio: &FioWorkload, findings: &mut Findings<'_>) {
    match (&fio.job_file, &fio.job) {
        (Some(_), Some(_)) => {
            findings.key("workload.job", "the job is given twice", "either `job_file` or `job`");
        }
        (None, None) => findings.key(
            "workload",
            "there is no job for fio",
            "add `job_file = \"/path\"` or `job = \"\"\"...\"\"\"`",
        ),
        _ => {}
    }
    if fio.job_file.as_ref().is_some_and(|path| !path.is_absolute()) {
        findings.value("workload.job_file", "the job file is not an absolute path", "start it with /");
    }
    if fio.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        findings.value("workload.timeout", "the timeout is 0", "longer than the job runs");
    }
}
