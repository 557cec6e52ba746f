//! Exceptions from the full combination: factors that go together level by level, and combinations left out.

use std::collections::BTreeMap;

use toml::Table;

use super::CombineFile;
use super::combine::{Places, RawFactor, list};
use crate::diagnostic::{Diagnostic, nearest};

/// Turns each list of factors that go together into one factor at the place of its first.
pub(super) fn zip(
    mut factors: Vec<RawFactor>,
    combining: Option<&CombineFile>,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<RawFactor> {
    let mut taken = Vec::new();
    for (index, names) in combining.into_iter().flat_map(|combining| &combining.zip).enumerate() {
        let path = format!("combine.zip[{index}]");
        match zip_one(&mut factors, names, &taken, &path, places) {
            Ok(()) => taken.push(names.as_slice()),
            Err(error) => errors.push(error),
        }
    }
    factors
}

fn zip_one(
    factors: &mut Vec<RawFactor>,
    names: &[String],
    taken: &[&[String]],
    path: &str,
    places: &Places<'_>,
) -> Result<(), Diagnostic> {
    let wrong = |message: String, path: &str, label: &str| {
        Err(places.at_value(Diagnostic::new("io0007", message), path, label))
    };
    if names.is_empty() {
        return wrong("the list names no factors".to_owned(), path, "name two or more factors");
    }
    if names.len() < 2 {
        return wrong("the list names only one factor".to_owned(), path, "name two or more factors");
    }
    let mut found = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let path = format!("{path}[{place}]");
        if let Some(earlier) = taken.iter().find(|earlier| earlier.contains(name)) {
            let message = format!("`{name}` is already in another list: `{}`", earlier.join("+"));
            return wrong(message, &path, "name it in one list only");
        }
        let Some(index) = factors.iter().position(|factor| factor.name == *name) else {
            return Err(unknown(name, factors, &path, places));
        };
        if found.contains(&index) {
            return wrong(format!("`{name}` is named twice"), &path, "the second of them");
        }
        found.push(index);
    }
    let parts: Vec<&RawFactor> = found.iter().filter_map(|&index| factors.get(index)).collect();
    let counts: Vec<usize> = parts.iter().map(|part| part.levels.len()).collect();
    if counts.iter().any(|count| counts.first() != Some(count)) {
        let each: Vec<String> =
            parts.iter().map(|part| format!("`{}` has {}", part.name, part.levels.len())).collect();
        let message =
            format!("factors that vary together need the same number of levels: {}", each.join(", "));
        return wrong(message, path, "another number of levels");
    }
    let joined = RawFactor {
        name: parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("+"),
        levels: (0..counts.first().copied().unwrap_or_default())
            .map(|level| join_levels(&parts, level))
            .collect(),
        sweep: None,
    };
    let first = found.iter().copied().min().unwrap_or_default();
    let mut index = 0;
    factors.retain(|_| {
        index += 1;
        !found.contains(&(index - 1))
    });
    factors.insert(first.min(factors.len()), joined);
    Ok(())
}

/// The levels at one place of every part as one; a name that all of them have is said once.
fn join_levels(parts: &[&RawFactor], level: usize) -> (String, Vec<(Table, String)>) {
    let of: Vec<_> = parts.iter().filter_map(|part| part.levels.get(level)).collect();
    let mut names: Vec<&str> = of.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    (names.join("+"), of.iter().flat_map(|(_, settings)| settings.clone()).collect())
}

/// A combination that is left out.
pub(super) struct Exclusion(BTreeMap<String, String>);

impl Exclusion {
    /// Whether a combination of levels is one of those.
    pub(super) fn holds(&self, levels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(factor, level)| levels.get(factor) == Some(level))
    }
}

/// What is left out, each factor and level of it known.
pub(super) fn exclusions(
    factors: &[RawFactor],
    combining: Option<&CombineFile>,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Exclusion> {
    let mut exclusions = Vec::new();
    for (index, excluded) in combining.into_iter().flat_map(|combining| &combining.exclude).enumerate() {
        let path = format!("combine.exclude[{index}]");
        if excluded.is_empty() {
            let error = Diagnostic::new("io0007", "an exclusion without a level excludes everything");
            errors.push(places.at_value(error, &path, "name levels, as in { volumes = \"4\" }"));
            continue;
        }
        let found = excluded.iter().map(|(name, level)| {
            let path = format!("{path}.{name}");
            let factor = factors.iter().find(|factor| factor.name == *name);
            let factor = factor.ok_or_else(|| unknown(name, factors, &path, places))?;
            let levels: Vec<&str> = factor.levels.iter().map(|(level, _)| level.as_str()).collect();
            if levels.contains(&level.as_str()) {
                return Ok(());
            }
            let error = Diagnostic::new("io0007", format!("`{name}` has no level `{level}`"));
            let error = places.at_value(error, &path, "not one of its levels");
            Err(error.note(format!("expected {}", list(&levels))))
        });
        match found.collect::<Result<(), Diagnostic>>() {
            Ok(()) => exclusions.push(Exclusion(excluded.clone())),
            Err(error) => errors.push(error),
        }
    }
    exclusions
}

fn unknown(name: &str, factors: &[RawFactor], path: &str, places: &Places<'_>) -> Diagnostic {
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    let error = Diagnostic::new("io0007", format!("there is no factor `{name}`"));
    let error = places.at_value(error, path, "not a factor");
    match nearest(name, names.iter().copied()) {
        Some(near) => error.fix(format!("\"{near}\"")),
        None => error.note(format!("expected {}", list(&names))),
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, read};

    fn experiment(combining: &str) -> Result<Experiment, String> {
        let text = format!(
            "name = \"x\"\n[stack]\nvolume = {{ kind = \"emulated\", size = \"64MiB\" }}\n\
             array = {{ kind = \"md\", level = \"raid0\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
             [[factor]]\nname = \"volumes\"\npath = \"volume.count\"\nvalues = [1, 2, 4]\n\
             [[factor]]\nname = \"readahead\"\npath = \"queue.readahead\"\nvalues = [256, 512, 1024]\n\
             [[factor]]\nname = \"kernel\"\n[factor.levels]\nold = {{ machine = {{ kernel = \"/a\" }} }}\n\
             new = {{ machine.kernel = \"/b\" }}\n{combining}\n\
             [workload]\nkind = \"io\"\nrw = \"read\"\nsize = \"1MiB\"\nruntime = \"1s\"\n\
             [decide]\nmetric = \"throughput\"\nbaseline = \"old\"\n\
             [machine]\nkind = \"guest\"\nkernel = \"host\"\n"
        );
        read(&text, &[]).map_err(|found| {
            let words: Vec<String> = found.iter().map(|one| format!("{one:?}")).collect();
            words.join("\n")
        })
    }

    fn names(combining: &str) -> Vec<String> {
        let experiment = experiment(combining).unwrap();
        experiment.configurations.iter().map(|configuration| configuration.name.clone()).collect()
    }

    #[test]
    fn factors_that_go_together_are_one() {
        assert_eq!(names("").len(), 18);
        let zipped = names("[combine]\nzip = [[\"volumes\", \"readahead\"]]");
        assert_eq!(
            zipped,
            ["1+256, old", "1+256, new", "2+512, old", "2+512, new", "4+1024, old", "4+1024, new"]
        );
        let experiment = experiment("[combine]\nzip = [[\"volumes\", \"readahead\"]]").unwrap();
        let last = experiment.configurations.last().unwrap();
        assert_eq!((last.stack.volume.members(), last.stack.queue.readahead), (4, Some(1024)));
        assert_eq!(last.machine.guest().unwrap().kernel, "/b");
    }

    #[test]
    fn what_is_excluded_is_not_there() {
        let left =
            names("[combine]\nexclude = [{ volumes = \"4\" }, { volumes = \"1\", readahead = \"512\" }]");
        assert_eq!(left.len(), 18 - 6 - 2);
        assert!(!left.iter().any(|name| name.starts_with('4')));
    }

    #[test]
    fn what_cannot_be_combined_is_refused_with_its_reason() {
        let refused = |combining: &str, words: &str| {
            let error = experiment(combining).unwrap_err();
            assert!(error.contains(words), "{combining}: {error}");
        };
        refused("[combine]\nzip = [[\"volumes\", \"kernel\"]]", "same number of levels");
        refused("[combine]\nzip = [[\"volumes\", \"readahed\"]]", "there is no factor");
        refused("[combine]\nzip = [[\"volumes\"]]", "only one factor");
        refused("[combine]\nzip = [[\"volumes\", \"volumes\"]]", "named twice");
        refused("[combine]\nzip = [[]]", "names no factors");
        let twice = "[combine]\nzip = [[\"volumes\", \"readahead\"], [\"readahead\", \"kernel\"]]";
        refused(twice, "`readahead` is already in another list: `volumes+readahead`");
        refused(
            "[combine]\nexclude = [{ kernel = \"new\", volumes = \"4\" }]",
            "`4, 256, old` would be measured but compared with nothing",
        );
        refused("[combine]\nexclude = [{ kernel = \"new\" }]", "no comparison is left");
        refused("[combine]\nexclude = [{ volumes = \"3\" }]", "has no level `3`");
        refused("[combine]\nexclude = [{}]", "excludes everything");
        refused("[combine]\nexclude = [{ kernel = \"old\", volumes = \"4\" }]", "its baseline is excluded");
        refused("[combine]\nexlude = []", "exlude");
    }
}
