//! What a run was measured on, of all that its environment has.

use std::collections::BTreeMap;

use iostone_model::evidence::RunEvidence;
use iostone_model::platform::Platform;
use iostone_model::run::RunRecord;
use iostone_model::summary::{DeviceSummary, MachineSummary};
use iostone_stats::median::median;

pub(super) fn of_run(run: &RunRecord) -> MachineSummary {
    let environment = &run.environment;
    let (cpu, virtualisation) = (&environment.cpu, &environment.virtualisation);
    MachineSummary {
        host: environment.host.clone(),
        kernel: environment.kernel.release.clone(),
        os: environment.os.clone(),
        cpu: cpu.model.clone(),
        architecture: cpu.architecture.clone(),
        logical_cpus: cpu.logical,
        cpu_governor: cpu.governor.clone(),
        memory_bytes: environment.memory.total_bytes,
        hypervisor: virtualisation.hypervisor.clone(),
        container: virtualisation.container.clone(),
        platform: environment
            .platform
            .as_ref()
            .map(|platform| Platform { evidence: Vec::new(), ..platform.clone() }),
        devices: devices(run),
        tools: environment
            .tools
            .iter()
            .filter_map(|(name, version)| Some((name.clone(), version.clone()?)))
            .collect(),
        steal: steal(run),
    }
}

/// Devices that trials saw and that stood before the run: those that it made for itself are no other run's.
fn devices(run: &RunRecord) -> BTreeMap<String, DeviceSummary> {
    let seen = run.trials.iter().flat_map(|trial| &trial.signals.devices);
    let known = seen.filter_map(|device| {
        let described = run.environment.block_devices.iter().find(|known| {
            // An empty loop device is one that the run took.
            known.name == device.name && known.size_bytes > 0
        })?;
        let summary = DeviceSummary {
            role: device.role.clone(),
            model: described.model.clone(),
            firmware: described.firmware.clone(),
            scheduler: described.scheduler.clone(),
            write_cache: described.write_cache.clone(),
            size_bytes: described.size_bytes,
        };
        Some((device.name.clone(), summary))
    });
    known.collect()
}

/// Without a sample nothing was seen, which is not the same as nothing having been stolen.
fn steal(run: &RunRecord) -> Option<f64> {
    let evidence = RunEvidence::of(&run.plan, &run.trials, &run.blocks);
    let trials = evidence.groups.iter().flat_map(|group| &group.trials);
    let seen = trials.filter(|trial| trial.signals.samples > 0).filter_map(|trial| trial.signals.steal);
    median(seen)
}
