//! Experiments by their names: the files of `experiments/`, built in, so that the binary alone asks the everyday questions.

use std::path::Path;

use anyhow::{Result, bail};
use iostone_model::diagnostic::nearest;

/// An experiment that has a name.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// Its name, that of its file without the extension.
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
    /// Whether its question is one of every day, or one of a published investigation.
    pub(crate) kind: RecipeKind,
}

/// Where its question comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecipeKind {
    /// What users of any machine ask.
    Everyday,
    /// What an engineer's published measurements left open, and further examples.
    Field,
}

/// A file that an experiment needs beside it.
#[derive(Debug)]
pub(crate) struct Companion {
    /// Its path, as the experiment names it.
    pub(crate) path: &'static str,
    /// Its content.
    pub(crate) bytes: &'static [u8],
}

macro_rules! recipes {
    ($($kind:ident: $($name:literal),+;)+) => {
        &[$($(Recipe {
            name: $name,
            text: include_str!(concat!("../../../experiments/", $name, ".toml")),
            kind: RecipeKind::$kind,
        }),+),+]
    };
}

/// All of them.
pub(crate) const RECIPES: &[Recipe] = recipes! {
    Everyday:
        "noatime", "scheduler", "filesystem", "readahead", "nr-requests", "discard", "journal-mode", "commit-interval",
        "dirty-ratio", "raid-level", "buffered-or-direct", "postgresql-commit", "mysql-commit", "container-place",
        "two-programs", "flush-price";
    Field:
        "barrier", "barrier-dbench", "build-by-instance", "copy-up", "cpu-limit", "cpu-limit-sweep", "disk", "ephemeral",
        "filesystem-container", "filesystems", "flat-writes", "instance-bandwidth", "kernel", "open-loop", "orion",
        "orion-throttled", "raid0", "raid0-instances", "storage-driver", "throttled-volume", "volatile-layer";
};

/// The sources that the experiments of builds compile.
const SOURCES: Companion = Companion {
    path: "build/lua-5.4.4.tar.gz",
    bytes: include_bytes!("../../../experiments/build/lua-5.4.4.tar.gz"),
};

impl Recipe {
    /// The recipe of that name; else `missing` with what was meant.
    pub(crate) fn named(name: &str, missing: &str) -> Result<&'static Self> {
        if let Some(recipe) = RECIPES.iter().find(|recipe| recipe.name == name) {
            return Ok(recipe);
        }
        match nearest(name, RECIPES.iter().map(|recipe| recipe.name)) {
            Some(near) => bail!("{missing}; did you mean the recipe `{near}`?"),
            None => bail!("{missing}; `iostone new` lists recipes"),
        }
    }

    /// What it asks.
    pub(crate) fn question(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("question = \""));
        line.and_then(|rest| rest.strip_suffix('"')).unwrap_or(self.name)
    }

    /// The file that it needs beside it.
    pub(crate) fn companion(&self) -> Option<&'static Companion> {
        self.text.contains(SOURCES.path).then_some(&SOURCES)
    }
}

/// The recipe that a word on the command line names where no file does.
///
/// # Errors
/// It is neither; what was meant is named. Or a recipe that needs another file beside it.
pub(crate) fn instead_of_file(file: &Path) -> Result<&'static Recipe> {
    let text = file.to_string_lossy();
    let recipe = Recipe::named(&text, &format!("`{text}` is neither a file nor a recipe"))?;
    match recipe.companion() {
        Some(companion) => bail!(
            "the recipe `{text}` needs `{}` beside it; `iostone new {text}` writes both, then `iostone run {text}.toml`",
            companion.path
        ),
        None => Ok(recipe),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_built_in_and_has_a_question() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
            .collect();
        let mut names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        files.sort_unstable();
        names.sort_unstable();
        assert_eq!(files, names);
        for recipe in RECIPES {
            assert!(recipe.question().ends_with('?'), "{}", recipe.name);
            iostone_model::experiment::read(recipe.text, &[])
                .unwrap_or_else(|errors| panic!("{}: {errors:?}", recipe.name));
        }
    }
}
