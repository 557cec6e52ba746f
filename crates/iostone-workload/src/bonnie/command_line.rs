//! What bonnie++ is started with.

use iostone_model::experiment::BonnieWorkload;
use iostone_model::units::Bytes;

use super::{CHUNK, FILES, SEEKS};

/// The whole command line.
pub(super) struct CommandLine<'a> {
    pub(super) spec: &'a BonnieWorkload,
    pub(super) file_size: Bytes,
    pub(super) seed: u32,
}

impl CommandLine<'_> {
    /// Program and arguments.
    pub(super) fn argv(&self) -> Vec<String> {
        let spec = self.spec;
        // The name stands in the first column of its lines, where a host's name says nothing of a trial.
        let mut argv: Vec<String> = ["bonnie++", "-q", "-d", ".", "-m", "iostone"].map(str::to_owned).into();
        let mut add = |option: &str, value: String| argv.extend([option.to_owned(), value]);
        let user = spec.user.clone().or_else(|| {
            // It refuses to work as root until it is told so.
            rustix::process::geteuid().is_root().then(|| "root".to_owned())
        });
        if let Some(user) = user {
            add("-u", user);
        }
        add("-s", self.size());
        if let Some(memory) = spec.memory {
            add("-r", (memory.0 >> 20).to_string());
        }
        add("-n", self.files());
        add("-z", self.seed.to_string());
        if spec.runs > 1 {
            add("-x", spec.runs.to_string());
        }
        for (set, option) in [(spec.fast, "-f"), (spec.no_write_buffering, "-b"), (spec.direct, "-D")] {
            argv.extend(set.then(|| option.to_owned()));
        }
        argv
    }

    /// `SIZE[:CHUNK[:SEEKS[:SEEKERS]]]`, the size in MiB.
    fn size(&self) -> String {
        let spec = self.spec;
        let mut parts = vec![self.file_size.0 >> 20];
        if spec.chunk.is_some() || spec.seeks.is_some() || spec.seekers.is_some() {
            parts.extend([spec.chunk.unwrap_or(CHUNK).0, u64::from(spec.seeks.unwrap_or(SEEKS))]);
        }
        parts.extend(spec.seekers.map(u64::from));
        joined(&parts)
    }

    /// `NUMBER[:LARGEST[:SMALLEST[:DIRECTORIES]]]`.
    fn files(&self) -> String {
        let spec = self.spec;
        let mut parts = vec![u64::from(spec.files.unwrap_or(FILES))];
        if spec.file_max.is_some() || spec.file_min.is_some() || spec.directories.is_some() {
            parts.extend([spec.file_max.unwrap_or_default().0, spec.file_min.unwrap_or_default().0]);
        }
        parts.extend(spec.directories.map(u64::from));
        joined(&parts)
    }
}

fn joined(parts: &[u64]) -> String {
    parts.iter().map(u64::to_string).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_value_that_is_asked_for_is_said_too() {
        let line = |spec: &BonnieWorkload| {
            let argv = CommandLine { spec, file_size: Bytes(1 << 30), seed: 7 }.argv();
            let after = |option: &str| argv[argv.iter().position(|word| word == option).unwrap() + 1].clone();
            (after("-s"), after("-n"))
        };
        let spec = super::super::tests::spec("");
        assert_eq!(line(&spec), ("1024".to_owned(), "16".to_owned()));
        let spec = super::super::tests::spec("seekers = 3\nfiles = 2\ndirectories = 4");
        assert_eq!(line(&spec), ("1024:8192:8192:3".to_owned(), "2:0:0:4".to_owned()));
        let spec = super::super::tests::spec("chunk = \"64KiB\"\nfile_max = \"4KiB\"\nfile_min = \"1KiB\"");
        assert_eq!(line(&spec), ("1024:65536:8192".to_owned(), "16:4096:1024".to_owned()));
    }
}
