//! What a result file tells of a system: its hardware and software as lists of `Name: value`.

use iostone_model::dataset::Observation;

use super::document::System;

/// Names within `Software`, with the circumstances they are.
const SOFTWARE: &[(&str, &str)] =
    &[("OS", "os"), ("Kernel", "kernel"), ("File-System", "filesystem"), ("System Layer", "hypervisor")];

/// Puts it into labels and facts.
pub(super) fn describe(system: &System, observation: &mut Observation) {
    let hardware = items(&system.hardware);
    let software = items(&system.software);
    let find = |list: &[(String, String)], wanted: &str| {
        list.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    let mut label = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            observation.labels.insert(name.to_owned(), value);
        }
    };
    for (name, circumstance) in SOFTWARE {
        label(circumstance, find(&software, name));
    }
    let machine = ["Processor", "Motherboard", "Memory"].iter().filter_map(|name| find(&hardware, name));
    label("instance", Some(machine.collect::<Vec<_>>().join(", ")));
    label("storage", find(&hardware, "Disk"));
    label("tool_version", Some(system.client_version.clone()));
    label("date", Some(system.timestamp.clone()));
    observation.facts.memory_bytes = find(&hardware, "Memory").and_then(|memory| bytes(&memory));
    observation.facts.cpus = find(&hardware, "Processor").and_then(|processor| cpus(&processor));
}

/// `Processor: a, b, Memory: c` as pairs: a value may have commas, a name stands before the first colon.
fn items(text: &str) -> Vec<(String, String)> {
    let mut items: Vec<(String, String)> = Vec::new();
    for part in text.split(", ") {
        match (part.split_once(": "), items.last_mut()) {
            (Some((name, value)), _) => items.push((name.trim().to_owned(), value.trim().to_owned())),
            (None, Some((_, value))) => *value = format!("{value}, {}", part.trim()),
            (None, None) => {}
        }
    }
    items
}

/// `16384MB`, `8GB`, `2 x 16 GB DDR4-3200`: capacities in powers of two, as memory is sold and as the kernel tells it.
fn bytes(memory: &str) -> Option<u64> {
    let (modules, size) = match memory.split_once(" x ") {
        Some((modules, size)) => (modules.trim().parse::<u64>().ok()?, size),
        None => (1, memory),
    };
    let size = size.trim();
    let end = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at_checked(end)?;
    let unit = unit.trim_start();
    let factor = [("MB", 1u64 << 20), ("GB", 1 << 30), ("TB", 1 << 40)]
        .iter()
        .find(|(name, _)| unit.starts_with(name))
        .map(|(_, factor)| factor)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)?.checked_mul(modules)
}

/// `... (6 Cores / 12 Threads)`, `... (2 Cores)`: what the system schedules on.
fn cpus(processor: &str) -> Option<f64> {
    let (_, inner) = processor.rsplit_once('(')?;
    let counts = inner.trim_end_matches(')').split('/').filter_map(|part| part.trim().split_once(' '));
    let counts: Vec<(&str, &str)> = counts.collect();
    let of = |unit: &str| counts.iter().find(|(_, name)| name.starts_with(unit));
    let (count, _) = of("Thread").or_else(|| of("Core"))?;
    count.parse::<f64>().ok().filter(|count| count.is_finite() && *count > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory_are_read_in_every_spelling() {
        assert_eq!(bytes("16384MB"), Some(16 << 30));
        assert_eq!(bytes("8GB"), Some(8 << 30));
        assert_eq!(bytes("2 x 16 GB DDR4-3200MT/s"), Some(32 << 30));
        assert_eq!(bytes("some"), None);
        assert_eq!(bytes("99999999999999999999GB"), None);
    }

    #[test]
    fn threads_are_counted_before_cores() {
        assert_eq!(cpus("AMD Ryzen 7 (8 Cores / 16 Threads)"), Some(16.0));
        assert_eq!(cpus("ARMv8 Cortex-A72 @ 1.50GHz (4 Cores)"), Some(4.0));
        assert_eq!(cpus("unknown"), None);
    }

    #[test]
    fn a_value_may_have_commas() {
        let items = items("OS: Debian 12, Kernel: 6.1.0, patched, File-System: ext4");
        assert_eq!(items[1], ("Kernel".to_owned(), "6.1.0, patched".to_owned()));
        assert_eq!(items.len(), 3);
    }
}
