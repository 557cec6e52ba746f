//! What the machine of a run tells: labels of all its trials, memory, quota.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iostone_model::environment::{Cgroup, Environment};
use iostone_model::trial::TrialRecord;

/// The machine that a trial's workload saw: the host, or the guest as it told of itself. Limits of the host's control
/// groups and what DMI tells of it are not the guest's.
pub(super) fn of_trial<'a>(host: &'a Environment, trial: &TrialRecord) -> Cow<'a, Environment> {
    let Some(guest) = trial.guest.as_deref() else { return Cow::Borrowed(host) };
    let is_emulated = guest.accelerator != "kvm";
    let mut environment = host.clone();
    environment.kernel.release.clone_from(&guest.kernel_release);
    environment.os.clone_from(&guest.os);
    environment.memory.total_bytes = guest.memory_bytes;
    environment.cpu.logical = guest.cpus;
    if is_emulated {
        // Which processor QEMU plays is not told, and the host's executes none of its instructions.
        environment.cpu.model.clear();
    }
    let hypervisor = if is_emulated { "qemu" } else { "kvm" };
    hypervisor.clone_into(&mut environment.virtualisation.hypervisor);
    environment.dmi.clear();
    environment.cgroup = Cgroup::default();
    Cow::Owned(environment)
}

/// What does not change within a run, by the names of [`iostone_model::dataset::CIRCUMSTANCES`].
pub(super) fn labels(environment: &Environment) -> BTreeMap<String, String> {
    let known = [
        ("host", Some(environment.host.as_str())),
        ("kernel", Some(environment.kernel.release.as_str())),
        ("os", environment.os.as_deref()),
        ("hypervisor", Some(environment.virtualisation.hypervisor.as_str())),
        ("instance", instance(environment)),
        ("cpu_model", Some(environment.cpu.model.as_str())),
        ("tool_version", Some(environment.iostone_version.as_str())),
    ];
    let told = known
        .into_iter()
        .filter_map(|(label, value)| Some((label, value.filter(|value| !value.is_empty())?)));
    told.map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
}

/// The instance type where DMI gives it away, as EC2 does: `m5.large`.
fn instance(environment: &Environment) -> Option<&str> {
    let product = environment.dmi.get("product_name")?;
    let (family, size) = product.split_once('.')?;
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    (word(family) && word(size) && family.starts_with(|c: char| c.is_ascii_lowercase())).then_some(product)
}

/// Memory that the page cache can take, bytes: the machine's, or less under a control group's limit.
pub(super) fn memory(environment: &Environment) -> Option<u64> {
    let total = environment.memory.total_bytes;
    let limits = limits(environment, &["memory.max", "memory.limit_in_bytes"]);
    let smallest = limits.filter_map(|limit| limit.trim().parse::<u64>().ok()).min();
    (total > 0).then(|| smallest.map_or(total, |limit| limit.min(total)))
}

/// The tightest quota of CPU time in force, in CPUs: `cpu.max` of version 2 is quota and period in microseconds, of
/// version 1 they are two files (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst).
pub(super) fn cpu_quota(environment: &Environment) -> Option<f64> {
    let share = |quota: &str, period: &str| {
        let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    let second = limits(environment, &["cpu.max"]).filter_map(|limit| {
        let (quota, period) = limit.trim().split_once(' ')?;
        share(quota, period.trim())
    });
    let all = &environment.cgroup.limits;
    let first = all.iter().filter_map(|(file, quota)| {
        let group = file.strip_suffix("cpu.cfs_quota_us")?;
        share(quota.trim(), all.get(&format!("{group}cpu.cfs_period_us"))?.trim())
    });
    second.chain(first).min_by(f64::total_cmp)
}

/// The limits in these files, of the group and of its ancestors.
fn limits<'a>(environment: &'a Environment, files: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let named = |file: &str| files.contains(&file.rsplit('/').next().unwrap_or(file));
    let limits = environment.cgroup.limits.iter();
    limits.filter(move |(file, _)| named(file)).map(|(_, limit)| limit.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(limits: &[(&str, &str)]) -> Environment {
        let mut environment = Environment::default();
        environment.memory.total_bytes = 16 << 30;
        environment.cgroup.limits =
            limits.iter().map(|(file, limit)| ((*file).to_owned(), (*limit).to_owned())).collect();
        environment
    }

    #[test]
    fn the_tightest_limit_of_all_groups_counts() {
        let environment = limited(&[
            ("cpu.max", "200000 100000"),
            ("../cpu.max", "50000 100000"),
            ("../../memory.max", "1073741824"),
        ]);
        assert_eq!(cpu_quota(&environment), Some(0.5));
        assert_eq!(memory(&environment), Some(1 << 30));
        let first = limited(&[("cpu.cfs_quota_us", "250000"), ("cpu.cfs_period_us", "1000000")]);
        assert_eq!(cpu_quota(&first), Some(0.25));
        assert_eq!(cpu_quota(&limited(&[("cpu.max", "max 100000"), ("cpu.cfs_quota_us", "-1")])), None);
        assert_eq!(memory(&Environment::default()), None);
    }

    #[test]
    fn an_instance_type_is_told_from_other_products() {
        let of = |product: &str| {
            let mut environment = Environment::default();
            environment.dmi.insert("product_name".to_owned(), product.to_owned());
            instance(&environment).map(str::to_owned)
        };
        assert_eq!(of("m5.large").as_deref(), Some("m5.large"));
        assert_eq!(of("u-6tb1.112xlarge").as_deref(), Some("u-6tb1.112xlarge"));
        assert_eq!(of("Standard PC (i440FX + PIIX, 1996)"), None);
        assert_eq!(of("20.04"), None);
        assert!(labels(&Environment::default()).is_empty());
    }
}
