//! What is varied: a factor with its levels, out of options of the command line.

use anyhow::{Result, anyhow, bail};
use iostone_model::units::Bytes;

use super::{argv_of, key, quoted};
use crate::comparison::Shell;

const COMMAND: &str = "command";
const FILESYSTEM: &str = "filesystem";
/// Every level is a trial of every block: nobody waits for more, and every pair of levels is looked at.
const MOST_LEVELS: usize = 100;

/// A factor of the experiment.
#[derive(Debug)]
pub(crate) struct Varied {
    /// The factor's name.
    pub(crate) name: String,
    /// Its levels in the order that they were given.
    pub(crate) levels: Vec<Level>,
}

/// A level, and what it sets.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) name: String,
    /// Paths with their values in TOML.
    settings: Vec<(String, String)>,
}

impl Varied {
    /// Mount options, those of each level as in fstab; `defaults` sets none.
    pub(crate) fn mount(options: &[String]) -> Result<Self> {
        let level = |text: &String| {
            let words: Vec<String> = text
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty() && *word != "defaults")
                .map(str::to_owned)
                .collect();
            let name = if words.is_empty() { "defaults".to_owned() } else { words.join(",") };
            Level::new(&name, "mount.options", &list(&words))
        };
        Self::new("mount", options.iter().map(level).collect())
    }

    /// Filesystems by their kind.
    pub(crate) fn filesystem(kinds: &[String]) -> Result<Self> {
        let level = |kind: &String| Level::new(kind, "filesystem.kind", &quoted(kind));
        Self::new(FILESYSTEM, kinds.iter().map(level).collect())
    }

    /// I/O schedulers.
    pub(crate) fn scheduler(names: &[String]) -> Result<Self> {
        let level = |name: &String| Level::new(name, "queue.scheduler", &quoted(name));
        Self::new("scheduler", names.iter().map(level).collect())
    }

    /// How far the kernel reads ahead, as sizes.
    pub(crate) fn readahead(sizes: &[String]) -> Result<Self> {
        let level = |text: &String| {
            let bytes: Bytes = text.parse().map_err(|error| anyhow!("`--readahead {text}`: {error}"))?;
            if !bytes.0.is_multiple_of(1024) {
                bail!("`--readahead {text}`: the kernel counts KiB; write a multiple of them, as `128KiB`");
            }
            Ok(Level::new(text, "queue.read_ahead_kb", &(bytes.0 / 1024).to_string()))
        };
        Self::new("readahead", sizes.iter().map(level).collect::<Result<_>>()?)
    }

    /// Whether its levels say of what they are, as two commands do.
    pub(super) fn is_named_by_its_levels(&self) -> bool {
        self.name == COMMAND
    }

    /// Whether it says which filesystem is made.
    pub(super) fn is_of_filesystems(&self) -> bool {
        self.name == FILESYSTEM
    }

    /// Whether it is about access times, which only reading many files shows.
    pub(crate) fn is_of_access_times(&self) -> bool {
        self.name == "mount" && self.levels.iter().any(|level| level.name.contains("atime"))
    }

    /// Any key of an experiment: `PATH=A,B`, the values as TOML where they are, text where not.
    pub(crate) fn setting(text: &str) -> Result<Self> {
        let Some((path, values)) = text.split_once('=') else {
            bail!(
                "`--set-factor {text}` has no `=`; write it like `--set-factor workload.direct=true,false`"
            );
        };
        let path = path.trim().trim_start_matches("stack.");
        let level = |value: &String| Level::new(value, path, &as_toml(value));
        Self::new(path, values_of(values).iter().map(level).collect())
    }

    /// Commands; `names` replaces the first of their names, `prepare` is one for all or one for each.
    pub(crate) fn commands(
        lines: &[String],
        names: &[String],
        prepare: &[String],
        shell: &Shell,
    ) -> Result<Self> {
        if names.len() > lines.len() {
            bail!("{} names for {} commands", names.len(), lines.len());
        }
        if prepare.len() > 1 && prepare.len() != lines.len() {
            bail!(
                "`--prepare` is given {} times for {} commands; give it once for all, or once for each",
                prepare.len(),
                lines.len()
            );
        }
        let mut levels = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let name = names.get(index).unwrap_or(line);
            let mut level = Level::new(name, "workload.argv", &list(&argv_of(line, shell)?));
            if prepare.len() > 1
                && let Some(own) = prepare.get(index)
            {
                let before = format!("[{}]", list(&argv_of(own, shell)?));
                level.settings.push(("workload.prepare".to_owned(), before));
            }
            levels.push(level);
        }
        Self::new(COMMAND, levels)
    }

    fn new(name: &str, levels: Vec<Level>) -> Result<Self> {
        if levels.len() < 2 {
            bail!("`{name}` has one level, so there is nothing to compare; give at least two");
        }
        if levels.len() > MOST_LEVELS {
            bail!("`{name}` has {} levels; at most {MOST_LEVELS} are compared in one line", levels.len());
        }
        for (index, level) in levels.iter().enumerate() {
            if level.name.is_empty() {
                bail!("a level of `{name}` has no name");
            }
            if levels.iter().take(index).any(|earlier| earlier.name == level.name) {
                bail!(
                    "`{}` is given twice; `--aa` measures this machine's noise by the first of two different ones",
                    level.name
                );
            }
        }
        Ok(Self { name: name.to_owned(), levels })
    }

    /// The factor as a file has it.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "[[factor]]".to_owned(),
            format!("name = {}", quoted(&self.name)),
            "[factor.levels]".to_owned(),
        ];
        lines.extend(self.levels.iter().map(Level::line));
        lines
    }
}

impl Level {
    /// A level of one setting. A comma would end its name in a list of levels.
    fn new(name: &str, path: &str, value: &str) -> Self {
        Self { name: name.trim().replace(',', "+"), settings: vec![(path.to_owned(), value.to_owned())] }
    }

    fn line(&self) -> String {
        let settings: Vec<String> =
            self.settings.iter().map(|(path, value)| format!("{path} = {value}")).collect();
        format!("{} = {{ {} }}", key(&self.name), settings.join(", "))
    }
}

/// Words as a list of TOML.
pub(super) fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A value that is TOML stays so; `1GiB` and `noatime` are text.
pub(super) fn as_toml(value: &str) -> String {
    let is_toml = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .is_ok_and(|table| table.len() == 1 && table.contains_key("value"));
    if is_toml { value.to_owned() } else { quoted(value) }
}

/// The values between commas that are in no brackets and no quotes.
fn values_of(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0_u32, None);
    for c in text.chars() {
        match (quote, c) {
            (None, ',') if depth == 0 => {
                values.push(std::mem::take(&mut value));
                continue;
            }
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        value.push(c);
    }
    values.push(value);
    values.iter().map(|value| value.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_outside_brackets_and_quotes() {
        assert_eq!(values_of("true, false"), ["true", "false"]);
        assert_eq!(values_of(r#"["a","b"],["c"]"#), [r#"["a","b"]"#, r#"["c"]"#]);
        assert_eq!(values_of(r#""a,b",c"#), [r#""a,b""#, "c"]);
    }

    #[test]
    fn values_are_toml_where_they_can_be() {
        for (typed, written) in [("false", "false"), ("4KiB", "\"4KiB\""), ("5", "5"), ("[1]", "[1]")] {
            assert_eq!(as_toml(typed), written);
        }
    }

    #[test]
    fn the_options_of_a_level_are_those_of_fstab() {
        let varied = Varied::mount(&["defaults".to_owned(), "noatime,discard".to_owned()]).unwrap();
        let lines = varied.lines();
        assert_eq!(lines[3], "defaults = { mount.options = [] }");
        assert_eq!(lines[4], r#""noatime+discard" = { mount.options = ["noatime", "discard"] }"#);
    }

    #[test]
    fn one_level_and_twins_are_refused() {
        let refused = |levels: &[&str]| {
            let levels: Vec<String> = levels.iter().map(|&level| level.to_owned()).collect();
            Varied::filesystem(&levels).unwrap_err().to_string()
        };
        assert!(refused(&["ext4"]).contains("at least two"));
        assert!(refused(&["ext4", "ext4"]).contains("given twice"));
    }
}
