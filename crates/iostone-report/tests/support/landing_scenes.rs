//! A made-up run of one filesystem seen from the host, a mounted directory and two layers of containers.

use iostone_model::run::RunRecord;
use iostone_model::trial::{ContainerFacts, FileSpace, SpaceRecord, TrialRecord};
use iostone_model::verdict::Flag;

use super::judged;
use crate::synthetic::Scene;

const LAYER: &str = "412 371 0:58 / / rw,relatime - overlay overlay rw,lowerdir=/dr/overlay2/l/AB:/dr/overlay2/l/CD,upperdir=/dr/\
                     overlay2/ef/diff,workdir=/dr/overlay2/ef/work";
const BIND: &str = "433 412 7:3 /bind /bind rw,noatime - ext4 /dev/loop3 rw,barrier=1";

fn facts(level: &str) -> Option<ContainerFacts> {
    let (kind, version, place) = match level {
        "bind" => ("docker", "20.10.24", "bind"),
        "layer" => ("docker", "20.10.24", "layer"),
        "podman --rm" => ("podman", "4.3.1", "layer"),
        _ => return None,
    };
    let volatile = kind == "podman";
    let mount_line = match (place, volatile) {
        ("bind", _) => BIND.to_owned(),
        (_, false) => LAYER.to_owned(),
        (_, true) => format!("{LAYER},fsync=volatile"),
    };
    Some(ContainerFacts {
        kind: kind.to_owned(),
        engine_version: Some(version.to_owned()),
        runtime: Some("runc 1.1.5".to_owned()),
        driver: if volatile { "overlay" } else { "overlay2" }.to_owned(),
        backing_filesystem: "ext4".to_owned(),
        place: place.to_owned(),
        directory: if place == "bind" { "/bind" } else { "/work" }.to_owned(),
        mount_line,
        volatile,
        device: Some("loop3".to_owned()),
        daemon_seconds: (!volatile).then_some(1.4),
        import_seconds: Some(0.6),
        start_seconds: Some(0.4),
        unheld_limits: None,
    })
}

fn place(trial: &mut TrialRecord) {
    let level = trial.configuration.clone();
    trial.container = facts(&level).map(Box::new);
    let extents = if level == "host" { 37 } else { 41 };
    let files = FileSpace {
        count: 4,
        bytes: 512 << 20,
        allocated_bytes: 512 << 20,
        extents: Some(extents),
        encoded_extents: 0,
        shared_extents: 0,
    };
    trial.space = Some(Box::new(SpaceRecord {
        filesystem: "ext4".to_owned(),
        capacity_bytes: 1 << 30,
        used_made_bytes: 36 << 20,
        used_prepared_bytes: 549 << 20,
        used_after_bytes: 549 << 20,
        files_prepared: files,
        files,
        ..SpaceRecord::default()
    }));
    let (cores, cpu_per_io, written) = match level.as_str() {
        "host" => (0.31, 11.2e-6, 1.52),
        "bind" => (0.32, 11.4e-6, 1.53),
        "layer" => (0.44, 16.9e-6, 1.55),
        _ => (0.97, 18.4e-6, 0.21),
    };
    let figures = [
        ("space_per_file_byte", 1.002),
        ("written_per_claimed_byte", written),
        ("read_per_claimed_byte", 0.0),
        ("cores_used", cores),
        ("cpu_per_io", cpu_per_io),
    ];
    trial.metrics.extend(figures.map(|(name, value)| (name.to_owned(), value)));
}

/// Four places on one filesystem, one of which drops what is synced.
pub(crate) fn containers() -> RunRecord {
    let scene = Scene {
        name: "filesystem-container",
        question: Some("What does a container's layer cost, and where do its bytes land?"),
        metric: "iops",
        levels: [("host", 2480.0), ("bind", 2500.0), ("layer", 2310.0), ("podman --rm", 41_200.0)]
            .map(|(level, iops)| (level.to_owned(), iops))
            .to_vec(),
        blocks: 9,
        discarded: Vec::new(),
        latency: false,
        ..Scene::barrier()
    };
    let mut run = judged(
        &scene,
        1.02,
        "bind is equivalent to host; layer is slower, and `podman --rm` is faster because it drops fsync.",
    );
    run.trials.iter_mut().for_each(place);
    if let Some(verdicts) = &mut run.verdicts {
        for comparison in &mut verdicts.comparisons {
            if comparison.level == "podman --rm" {
                comparison.flags.push(Flag::new(
                    "sync-dropped",
                    "fsync is dropped under `podman --rm` by the layer of its container, which is mounted volatile: nothing that was \
                     synced there is durable: 41200 syncs a second, 16.6 times as many as under `host`",
                ));
            }
        }
    }
    run
}

/// The same with words from outside that try to be markup.
pub(crate) fn hostile_containers() -> RunRecord {
    let mut run = containers();
    let bad = "\"><script>alert(9)</script>\u{1b}[2J";
    for trial in &mut run.trials {
        if let Some(container) = &mut trial.container {
            for text in [
                &mut container.kind,
                &mut container.driver,
                &mut container.backing_filesystem,
                &mut container.place,
                &mut container.mount_line,
            ] {
                text.push_str(bad);
            }
            container.runtime = Some(bad.to_owned());
            container.device = Some(bad.to_owned());
        }
        trial.metrics.insert("cores_used".to_owned(), f64::NAN);
        trial.metrics.insert("cpu_per_io".to_owned(), f64::INFINITY);
    }
    run
}
