//! Which files a job uses, which part of them, and how they come into being.

use iostone_engine::{Service, ServiceOrder};
use iostone_model::load::RandomDistribution;
use iostone_model::units::Bytes;

use crate::number::{Amount, amount, whole};
use crate::values::KbBase;
use crate::values::distribution::skewed;

/// A file named by `filename`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The first directory in effect where the name was written; fio puts it in front even of an absolute name.
    pub directory: Option<String>,
    /// The name itself; `-` is standard input or output.
    pub name: String,
}

impl FileName {
    /// The path that fio opens.
    pub fn path(&self) -> String {
        match &self.directory {
            Some(directory) => format!("{directory}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Splits names at colons; `\:` is a colon of the name, colons at the start of a name are dropped.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    for letter in text.trim().chars() {
        match letter {
            ':' if name.is_empty() => {}
            ':' if name.ends_with('\\') => {
                name.pop();
                name.push(':');
            }
            ':' => names.push(std::mem::take(&mut name)),
            _ => name.push(letter),
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    names
}

/// How files without a name of their own are called; fio's `filename_format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilenameFormat(pub String);

impl Default for FilenameFormat {
    fn default() -> Self {
        Self("$jobname.$jobnum.$filenum".into())
    }
}

impl FilenameFormat {
    /// The name of one file: `number` counts a job's files, `clone` the jobs made by `numjobs`, both from 0.
    ///
    /// Keywords are found whatever their case, and in fio's order, so that what one puts in is looked through for the
    /// next. `$clientuid` is empty: there is no client.
    pub fn name(&self, job: &str, clone: u32, number: u32) -> String {
        if self.0.is_empty() {
            return format!("{job}.{clone}.{number}");
        }
        let words = [
            ("$clientuid", String::new()),
            ("$jobname", job.to_owned()),
            ("$jobnum", clone.to_string()),
            ("$filenum", number.to_string()),
        ];
        words.iter().fold(self.0.clone(), |text, (word, value)| replace_any_case(&text, word, value))
    }
}

fn replace_any_case(text: &str, word: &str, value: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(word) {
        replaced.push_str(&text[from..at]);
        replaced.push_str(value);
        from = at + found.len();
    }
    replaced.push_str(&text[from..]);
    replaced
}

/// Bytes, or a share of the file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// Bytes.
    Bytes(Bytes),
    /// Per cent of the file or device, up to 100.
    Percent(u8),
}

impl Portion {
    pub(crate) fn read(text: &str, kb_base: KbBase) -> Result<Self, String> {
        match amount(text, kb_base)? {
            Amount::Plain(value) => u64::try_from(value)
                .map(|bytes| Self::Bytes(Bytes(bytes)))
                .map_err(|_| "it cannot be negative".into()),
            Amount::Percent(percent) => u8::try_from(percent)
                .ok()
                .filter(|percent| *percent <= 100)
                .map(Self::Percent)
                .ok_or_else(|| "it cannot pass 100%".into()),
            Amount::Zones(_) => Err("zones exist on zoned devices only, which iostone does not drive".into()),
        }
    }
}

/// A size, or anything between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRange {
    /// The smallest.
    pub least: Bytes,
    /// The largest; the same for a single size.
    pub most: Bytes,
}

/// How a region is cut into zones; fio's `zonemode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZoneMode {
    /// It is not.
    #[default]
    None,
    /// `zonesize` bytes are moved within `zonerange`, then `zoneskip` is skipped.
    Strided,
}

/// Reads `random:8`, `zipf:1.2`. fio's users also write `zipf=1.2`, which fio refuses.
pub(crate) fn read_file_service(text: &str, kb_base: KbBase) -> Result<Service, String> {
    let (word, postfix) = text.split_once(':').map_or((text, None), |(word, postfix)| (word, Some(postfix)));
    let order = match word {
        "roundrobin" => ServiceOrder::RoundRobin,
        "random" => ServiceOrder::Random(RandomDistribution::Random),
        "sequential" => ServiceOrder::Sequential,
        "zipf" | "pareto" | "normal" | "gauss" => {
            return Ok(Service { order: ServiceOrder::Random(skewed(word, postfix)?), every: 1 });
        }
        _ => {
            return Err(
                "it must be one of roundrobin, random, sequential, zipf, pareto, normal, gauss".into()
            );
        }
    };
    let every = match postfix {
        None => 1,
        Some(postfix) => u32::try_from(whole(postfix, kb_base, 1, i64::from(u32::MAX))?).unwrap_or(u32::MAX),
    };
    Ok(Service { order, every })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_split_at_colons_that_are_not_escaped() {
        assert_eq!(split_names("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(split_names(r"/dev/dsk/foo@3,0\:c"), ["/dev/dsk/foo@3,0:c"]);
        assert_eq!(split_names(":a::b:"), ["a", "b"]);
        assert_eq!(split_names(""), Vec::<String>::new());
    }

    #[test]
    fn made_up_names_follow_the_format() {
        let name = |format: &str| FilenameFormat(format.into()).name("job", 2, 7);
        assert_eq!(FilenameFormat::default().name("job", 2, 7), "job.2.7");
        assert_eq!(name(""), "job.2.7");
        assert_eq!(name("a/b/$JobNum"), "a/b/2");
        assert_eq!(name("testfiles.$filenum$clientuid"), "testfiles.7");
        assert_eq!(name("$jobnumber"), "2ber");
    }

    #[test]
    fn files_are_served_as_asked() {
        let read = |text| read_file_service(text, KbBase::Binary);
        assert_eq!(
            read("random:8"),
            Ok(Service { order: ServiceOrder::Random(RandomDistribution::Random), every: 8 })
        );
        let order = ServiceOrder::Random(RandomDistribution::Zipf { theta: 1.2, center: None });
        assert_eq!(read("zipf:1.2"), Ok(Service { order, every: 1 }));
        assert!(read("zipf=1.2").is_err());
        assert!(read("random:0").is_err());
    }

    proptest! {
        #[test]
        fn no_name_panics(text in "\\PC{0,24}", format in "[$a-zA-Zé:]{0,40}") {
            prop_assert!(split_names(&text).iter().all(|name| !name.is_empty()));
            FilenameFormat(format).name(&text, 0, 0);
        }
    }
}
