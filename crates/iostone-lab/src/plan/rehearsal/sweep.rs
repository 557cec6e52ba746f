//! Which levels of a sweep a rehearsal keeps: the lowest, the middle one and the highest.

use std::collections::BTreeSet;

use iostone_model::experiment::Experiment;

/// Leaves the levels between out: each takes the same steps with another figure, and one block of three shows that the ends
/// work, where a setting is most likely to be refused.
pub(super) fn keep_three(experiment: &mut Experiment) {
    let Some(factor) = experiment.factors.iter_mut().find(|factor| factor.sweep.is_some()) else { return };
    let last = factor.levels.len().saturating_sub(1);
    let kept = [0, last / 2, last];
    let keep = |index: usize| kept.contains(&index);
    let mut index = 0;
    let mut left_out = BTreeSet::new();
    factor.levels.retain(|level| {
        index += 1;
        let keeps = keep(index - 1);
        if !keeps {
            left_out.insert(level.clone());
        }
        keeps
    });
    if let Some(positions) = &mut factor.sweep {
        let mut index = 0;
        positions.retain(|_| {
            index += 1;
            keep(index - 1)
        });
    }
    let name = factor.name.clone();
    experiment.configurations.retain(|configuration| {
        !configuration.levels.get(&name).is_some_and(|level| left_out.contains(level))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::experiment::read;

    #[test]
    fn the_ends_and_the_middle_are_kept_with_their_places() {
        let text = "name = \"t\"\n[stack]\nvolume = { kind = \"directory\" }\n[[factor]]\nname = \"quota\"\npath = \
                    \"limit.cpu\"\nsweep = \"10%..100%\"\n[workload]\nkind = \"command\"\nargv = [\"true\"]\n[decide]\n\
                    metric = \"wall_time\"\n";
        let mut experiment = read(text, &[]).unwrap();
        keep_three(&mut experiment);
        let names: Vec<&str> = experiment.configurations.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["10%", "50%", "100%"]);
        let (factor, positions) = experiment.sweep().unwrap();
        assert_eq!(
            (factor.levels.as_slice(), positions),
            (&["10%", "50%", "100%"].map(str::to_owned)[..], &[0.1, 0.5, 1.0][..])
        );
    }
}
