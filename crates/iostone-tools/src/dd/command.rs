//! dd's command line, where it stands in the log: what was copied from where, and whether it was flushed.

use std::collections::BTreeMap;

use iostone_model::dataset::{DataKind, Observation};

use crate::transcript;

/// `dd if=/dev/zero of=x bs=1M count=1024 conv=fsync`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Command {
    text: String,
    operands: BTreeMap<String, String>,
    /// It stands in a loop, so that the same command prints several times.
    pub(super) repeated: bool,
    /// The copy goes through a pipe into, or out of, a network program.
    network: Option<&'static str>,
}

impl Command {
    /// Of a line from `dd` on; None without operands, as in prose.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut operands = BTreeMap::new();
        for word in transcript::words(text).into_iter().skip(1) {
            if let Some((name, value)) = word.split_once('=') {
                operands.insert(name.to_owned(), value.to_owned());
            }
        }
        if !["if", "of", "bs", "ibs", "obs", "count"].iter().any(|name| operands.contains_key(*name)) {
            return None;
        }
        let network = ["ssh ", "nc ", "netcat ", "ncat ", "socat ", "curl "];
        let network =
            network.iter().find(|program| text.contains(&format!("| {program}"))).map(|name| name.trim());
        let repeated = text.split([';', '\n']).any(|part| part.trim().trim_end_matches(')') == "done");
        // What follows the command on its line is no part of it.
        let end = text.find([';', '|', '&', ')']).unwrap_or(text.len());
        let end = text[..end].find(" 2>").unwrap_or(end);
        Some(Self { text: text[..end].trim_end().to_owned(), operands, repeated, network })
    }

    fn operand(&self, name: &str) -> Option<&str> {
        self.operands.get(name).map(String::as_str)
    }

    fn has_flag(&self, operand: &str, flags: &[&str]) -> bool {
        self.operand(operand).is_some_and(|given| given.split(',').any(|flag| flags.contains(&flag)))
    }

    /// The bytes it was asked for, where both a block's size and their number are given.
    pub(super) fn bytes(&self) -> Option<u64> {
        let count = self.operand("count")?;
        if count.ends_with('B')
            && !count.ends_with("iB")
            && count.trim_end_matches('B').parse::<u64>().is_ok()
        {
            // Since 9.1, `count=100KiB` and `count=100B` are bytes.
            return size(count);
        }
        if self.has_flag("iflag", &["count_bytes"]) || count.ends_with("iB") {
            return size(count);
        }
        let block = self.operand("bs").or_else(|| self.operand("ibs")).unwrap_or("512");
        size(block)?.checked_mul(size(count)?)
    }

    /// Writes down what it tells of an observation; `bytes` are those that were copied, absent if it did not begin.
    pub(super) fn describe(&self, observation: &mut Observation, bytes: Option<u64>) {
        let labels = &mut observation.labels;
        if let Some(block) = self.operand("bs").or_else(|| self.operand("obs")) {
            labels.insert("block_size".to_owned(), block.to_owned());
        }
        let flags = ["conv", "iflag", "oflag"].iter();
        let flags: Vec<String> =
            flags.filter_map(|name| Some(format!("{name}={}", self.operand(name)?))).collect();
        labels.insert("flags".to_owned(), if flags.is_empty() { "none".to_owned() } else { flags.join(" ") });
        let facts = &mut observation.facts;
        facts.command = Some(self.text.clone());
        facts.work = Some(self.text.clone());
        facts.network = self.network.map(|program| format!("the copy goes through `{program}`"));
        let source = self.operand("if");
        facts.source = source.map(str::to_owned);
        facts.data = match source {
            Some("/dev/zero") => Some(DataKind::Zeros),
            Some("/dev/urandom" | "/dev/random") => Some(DataKind::Random),
            _ => None,
        };
        let generated = matches!(source, None | Some("/dev/zero" | "/dev/urandom" | "/dev/random"));
        let target = self.operand("of").filter(|target| !is_nowhere(target));
        if target.is_some() {
            let direct = self.has_flag("oflag", &["direct"]);
            let flushed =
                self.has_flag("conv", &["fsync", "fdatasync"]) || self.has_flag("oflag", &["sync", "dsync"]);
            facts.direct = Some(direct);
            facts.flushed = Some(flushed || direct);
        } else if !generated {
            facts.direct = Some(self.has_flag("iflag", &["direct"]));
        }
        let Some(bytes) = bytes else { return };
        if !generated {
            facts.claimed_read_bytes = Some(bytes);
        }
        if target.is_some() {
            facts.claimed_written_bytes = Some(bytes);
        }
        if target.is_some() || !generated {
            facts.working_set_bytes = Some(bytes);
        }
        if let Some(asked) = self.bytes().filter(|asked| bytes < *asked) {
            facts.remarks.push(format!("{bytes} bytes were copied of the {asked} asked for"));
        }
    }
}

/// Where bytes go to be forgotten.
fn is_nowhere(target: &str) -> bool {
    matches!(target, "/dev/null" | "/dev/zero" | "/dev/stdout" | "-")
}

/// A number with dd's suffixes (dd(1)): `c` 1, `w` 2, `b` 512, `kB` 1000, `K` and `KiB` 1024 and so on; `x` multiplies.
fn size(text: &str) -> Option<u64> {
    if let Some((first, rest)) = text.split_once('x') {
        return size(first)?.checked_mul(size(rest)?);
    }
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let suffix = &text[end..];
    let factor = match suffix {
        "" | "c" | "B" => 1,
        "w" => 2,
        "b" => 512,
        _ => {
            let power = "KMGTPE".find(suffix.chars().next()?.to_ascii_uppercase())? + 1;
            let base: u64 = match &suffix[1..] {
                "" | "iB" => 1024,
                "B" => 1000,
                _ => return None,
            };
            base.checked_pow(u32::try_from(power).ok()?)?
        }
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(command: &str) -> Observation {
        let mut observation = Observation::default();
        Command::parse(command).unwrap().describe(&mut observation, Some(1 << 20));
        observation
    }

    #[test]
    fn sizes_have_the_suffixes_of_dd() {
        let sizes = [
            ("1M", 1 << 20),
            ("1MB", 1_000_000),
            ("4k", 4096),
            ("8b", 4096),
            ("2x4k", 8192),
            ("1GiB", 1 << 30),
        ];
        for (text, expected) in sizes {
            assert_eq!(size(text), Some(expected), "{text}");
        }
        assert_eq!(size("1Q"), None);
        assert_eq!(size("99999999999E"), None);
        assert_eq!(size("1é"), None);
        assert_eq!(Command::parse("dd if=a bs=4k count=1M").unwrap().bytes(), Some(4 << 30));
        assert_eq!(Command::parse("dd if=a bs=4k count=100KiB").unwrap().bytes(), Some(102_400));
    }

    #[test]
    fn flags_tell_whether_it_was_flushed() {
        assert_eq!(described("dd if=/dev/zero of=x bs=1M count=1").facts.flushed, Some(false));
        assert_eq!(described("dd if=/dev/zero of=x bs=1M conv=notrunc,fdatasync").facts.flushed, Some(true));
        assert_eq!(described("dd if=/dev/zero of=x bs=1M oflag=dsync").facts.flushed, Some(true));
        let direct = described("dd if=/dev/urandom of=x bs=1M oflag=direct").facts;
        assert_eq!(
            (direct.direct, direct.flushed, direct.data),
            (Some(true), Some(true), Some(DataKind::Random))
        );
        assert_eq!(direct.claimed_written_bytes, Some(1 << 20));
        assert_eq!(direct.claimed_read_bytes, None);
    }

    #[test]
    fn a_pipe_into_the_network_is_told() {
        let facts = described("dd if=/dev/sda bs=1M | ssh backup 'cat > x'").facts;
        assert_eq!(facts.network.as_deref(), Some("the copy goes through `ssh`"));
        assert_eq!(facts.command.as_deref(), Some("dd if=/dev/sda bs=1M"));
        assert_eq!(facts.flushed, None);
    }
}
