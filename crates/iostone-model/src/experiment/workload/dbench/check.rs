//! Whether dbench can be asked for such a load.

use crate::experiment::DbenchWorkload;
use crate::experiment::check::Findings;

pub(super) fn check(dbench: &DbenchWorkload, findings: &mut Findings<'_>) {
    if dbench.clients == 0 {
        findings.value("workload.clients", "no clients do nothing", "at least 1");
    }
    if dbench.seconds < 10 {
        let message =
            format!("{} s are too short: dbench's figure is that of the last whole second", dbench.seconds);
        findings.value("workload.seconds", message, "at least 10");
    }
    if dbench
        .clients_per_process
        .is_some_and(|clients| clients == 0 || !dbench.clients.is_multiple_of(clients))
    {
        let message = "the clients do not divide into such processes";
        findings.value("workload.clients_per_process", message, "a divisor of `clients`");
    }
    if dbench.target_rate.is_some_and(|rate| rate.0 == 0 || !rate.0.is_multiple_of(1_000_000)) {
        findings.value("workload.target_rate", "dbench takes whole MB/s", "as in `10MB/s`");
    }
    if dbench.loadfile.as_ref().is_some_and(|path| !path.is_absolute()) {
        findings.value("workload.loadfile", "the loadfile is not an absolute path", "start it with /");
    }
}
