//! Which levels a rehearsal keeps: all, but three of those that take the same steps with other shares of the processor.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::experiment::{Configuration, CpuLimit, Experiment, Factor, Governed, MachineSpec};

/// Of levels that only differ in CPU time, so many are rehearsed: the baseline, and the ends of the others.
const KEPT: usize = 3;

/// Leaves levels out where the steps of those that stay are theirs too. What a rehearsal is for is to see every step done
/// once, so other levels, which may need other programs or other devices, are never left out; but a share of the processor
/// cannot be shrunk as sizes can, and each level takes as long as it does in earnest. A sweep has its own levels.
pub(super) fn thin(experiment: &mut Experiment) {
    let left_out: Vec<(String, BTreeSet<String>)> = experiment
        .factors
        .iter()
        .filter(|factor| factor.sweep.is_none() && factor.levels.len() > KEPT)
        .filter(|factor| only_processors_differ(&experiment.configurations, &factor.name))
        .map(|factor| (factor.name.clone(), superfluous(experiment, factor)))
        .collect();
    for (name, levels) in left_out {
        experiment.configurations.retain(|configuration| {
            !configuration.levels.get(&name).is_some_and(|level| levels.contains(level))
        });
        for factor in experiment.factors.iter_mut().filter(|factor| factor.name == name) {
            factor.levels.retain(|level| !levels.contains(level));
        }
    }
}

/// Levels between the ends of those that are no baseline; where the factor has none, between the first, the middle and
/// the last.
fn superfluous(experiment: &Experiment, factor: &Factor) -> BTreeSet<String> {
    let is_baseline =
        |level: &&String| factor.name == experiment.baseline_factor && **level == experiment.baseline_level;
    let others: Vec<&String> = factor.levels.iter().filter(|level| !is_baseline(level)).collect();
    let mut kept = vec![0, others.len() - 1];
    if others.len() == factor.levels.len() {
        kept.push(others.len() / 2);
    }
    let beside = others.iter().enumerate().filter(|(index, _)| !kept.contains(index));
    beside.map(|(_, level)| (*level).clone()).collect()
}

/// Whether configurations that differ in no other factor differ in nothing but the CPU time that they get.
fn only_processors_differ(configurations: &[Configuration], factor: &str) -> bool {
    let mut alike: BTreeMap<BTreeMap<String, String>, Configuration> = BTreeMap::new();
    configurations.iter().all(|configuration| {
        let mut others = configuration.levels.clone();
        others.remove(factor);
        let bare = without_processor(configuration);
        *alike.entry(others).or_insert_with(|| bare.clone()) == bare
    })
}

fn without_processor(configuration: &Configuration) -> Configuration {
    let mut bare =
        Configuration { name: String::new(), levels: BTreeMap::new(), price: None, ..configuration.clone() };
    bare.stack.limit.cpu = CpuLimit::None;
    if let MachineSpec::Governed(governed) = &mut bare.machine {
        *governed = Governed { cpu: String::new(), law: None, usd_per_hour: None, ..governed.clone() };
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::experiment::read;

    fn levels_of(factor: &str, rest: &str, baseline: &str) -> Vec<String> {
        let text = format!(
            "name = \"t\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"f\"\n{factor}\n\
             [workload]\nkind = \"command\"\nargv = [\"true\"]\n[decide]\nmetric = \"wall_time\"\nbaseline = \
             \"{baseline}\"\n{rest}"
        );
        let mut experiment = read(&text, &[]).unwrap();
        thin(&mut experiment);
        assert_eq!(experiment.configurations.len(), experiment.factors[0].levels.len());
        experiment.factors[0].levels.clone()
    }

    #[test]
    fn of_cpu_limits_the_baseline_and_the_ends_are_kept() {
        let factor = |values: &str| format!("path = \"limit.cpu\"\nvalues = [{values}]");
        let five = factor("\"none\", \"20%\", \"25%\", \"30%\", \"40%\"");
        assert_eq!(levels_of(&five, "", "none"), ["none", "20%", "40%"]);
        let three = factor("\"none\", \"25%\", \"40%\"");
        assert_eq!(levels_of(&three, "", "none"), ["none", "25%", "40%"]);
        assert_eq!(levels_of(&five, "", "40%"), ["none", "30%", "40%"]);
    }

    #[test]
    fn of_governed_machines_too_and_of_nothing_else() {
        let machine = "[machine]\nkind = \"governed\"\ncpu = \"a\"";
        let cpus = "path = \"machine.cpu\"\nvalues = [\"a\", \"b\", \"c\", \"d\", \"e\"]";
        assert_eq!(levels_of(cpus, machine, "c"), ["a", "c", "e"]);
        let commands = "path = \"workload.timeout\"\nvalues = [\"1s\", \"2s\", \"3s\", \"4s\"]";
        assert_eq!(levels_of(commands, "", "1s").len(), 4);
        let memory = "path = \"limit.memory\"\nvalues = [\"1GiB\", \"2GiB\", \"3GiB\", \"4GiB\"]";
        assert_eq!(levels_of(memory, "", "1GiB").len(), 4);
    }
}
