//! The sysctl layer: how the kernel keeps and writes back dirty pages (Documentation/admin-guide/sysctl/vm.rst).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SettingProblem;
use crate::units::Bytes;

/// Settings of the kernel, machine-wide for the length of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sysctl {
    /// Those of memory management, `/proc/sys/vm`.
    #[serde(default, skip_serializing_if = "VmSettings::is_empty")]
    pub vm: VmSettings,
}

/// Settings below `/proc/sys/vm`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmSettings {
    /// Dirty pages at which a writer has to write back itself, in percent of the memory available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub dirty_ratio: Option<u32>,
    /// Dirty pages at which writeback begins in the background, in percent of the memory available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub dirty_background_ratio: Option<u32>,
    /// As `dirty_ratio`, as a size, in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<Bytes>,
    /// As `dirty_background_ratio`, as a size, in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_bytes: Option<Bytes>,
    /// The age at which dirty data is written back, in hundredths of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_expire_centisecs: Option<u32>,
    /// The time from one look for old dirty data to the next, in hundredths of a second; 0 for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_writeback_centisecs: Option<u32>,
    /// How readily anonymous memory is swapped out rather than page cache given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 200))]
    pub swappiness: Option<u32>,
    /// How readily cached directory entries and inodes are given up, in percent of what is fair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vfs_cache_pressure: Option<u32>,
}

/// What the kernel takes for one setting (`vm_table`, kernel/sysctl.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysctlRow {
    /// As sysctl(8) names it: `vm.dirty_ratio`.
    pub name: &'static str,
    least: u64,
    most: u64,
    /// What may be written, in words.
    expected: &'static str,
    /// The setting that says the same in another unit: setting either to another value makes the other 0.
    pub twin: Option<&'static str>,
}

/// Numbers are C's `int`.
const INT_MAX: u64 = i32::MAX as u64;
const ROWS: &[SysctlRow] = &[
    row("vm.dirty_ratio", 0, 100, "0 to 100, in percent", Some("vm.dirty_bytes")),
    row("vm.dirty_background_ratio", 0, 100, "0 to 100, in percent", Some("vm.dirty_background_bytes")),
    // Two pages; where pages are larger, the kernel refuses what is too small.
    row("vm.dirty_bytes", 8192, i64::MAX as u64, "at least 8KiB, two pages", Some("vm.dirty_ratio")),
    row("vm.dirty_background_bytes", 1, i64::MAX as u64, "at least 1B", Some("vm.dirty_background_ratio")),
    row("vm.dirty_expire_centisecs", 0, INT_MAX, "0 to 2147483647", None),
    row("vm.dirty_writeback_centisecs", 0, INT_MAX, "0 to 2147483647", None),
    row("vm.swappiness", 0, 200, "0 to 200", None),
    row("vm.vfs_cache_pressure", 0, INT_MAX, "0 to 2147483647", None),
];

const fn row(
    name: &'static str,
    least: u64,
    most: u64,
    expected: &'static str,
    twin: Option<&'static str>,
) -> SysctlRow {
    SysctlRow { name, least, most, expected, twin }
}

impl SysctlRow {
    /// The row of a name; none of a setting that iostone does not change.
    pub fn of(name: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.name == name)
    }

    /// Whether the kernel can show that value: of a pair the one that is not in force shows 0.
    pub fn is_possible(&self, value: &str) -> bool {
        // A number as the kernel writes it, so that it can be told from another by its text.
        let number = value.parse::<u64>().ok().filter(|number| number.to_string() == value);
        number.is_some_and(|number| self.takes(number) || (number == 0 && self.twin.is_some()))
    }

    /// Whether it is the size of a pair, which is never set to 0.
    pub fn is_size(&self) -> bool {
        self.twin.is_some() && self.least > 0
    }

    fn takes(&self, value: u64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

impl VmSettings {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Sysctl {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is set, by its row.
    pub fn settings(&self) -> Vec<(&'static SysctlRow, u64)> {
        let vm = &self.vm;
        let (bytes, number) =
            (|value: Option<Bytes>| value.map(|bytes| bytes.0), |value| Option::map(value, u64::from));
        let values: [Option<u64>; 8] = [
            number(vm.dirty_ratio),
            number(vm.dirty_background_ratio),
            bytes(vm.dirty_bytes),
            bytes(vm.dirty_background_bytes),
            number(vm.dirty_expire_centisecs),
            number(vm.dirty_writeback_centisecs),
            number(vm.swappiness),
            number(vm.vfs_cache_pressure),
        ];
        ROWS.iter().zip(values).filter_map(|(row, value)| Some((row, value?))).collect()
    }

    /// What no kernel takes, or takes for another value.
    pub fn problems(&self) -> Vec<SettingProblem> {
        let mut problems = Vec::new();
        let mut add = |key, message: String, expected: &str| {
            problems.push(SettingProblem { key, message, expected: expected.to_owned() });
        };
        let settings = self.settings();
        let value_of =
            |name: &str| settings.iter().find(|(row, _)| row.name == name).map(|(_, value)| *value);
        for (index, (row, value)) in settings.iter().enumerate() {
            if !row.takes(*value) {
                add(row.name, format!("the kernel does not accept {} = {value}", row.name), row.expected);
            }
            let earlier = settings.iter().take(index).find(|(earlier, _)| row.twin == Some(earlier.name));
            if let Some((earlier, _)) = earlier {
                let message =
                    format!("`{}` would set `{}` to 0: only one of the two holds", row.name, earlier.name);
                add(row.name, message, "leave out one of the two");
            }
        }
        for (background, whole) in
            [("vm.dirty_background_ratio", "vm.dirty_ratio"), ("vm.dirty_background_bytes", "vm.dirty_bytes")]
        {
            if let (Some(low), Some(high)) = (value_of(background), value_of(whole))
                && low >= high
            {
                let message = format!("from {low} on the kernel would use half of `{whole}` in its place");
                add(background, message, &format!("less than `{whole}`"));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_rows_and_impossible_ones_are_named() {
        let vm = VmSettings {
            dirty_ratio: Some(5),
            dirty_background_ratio: Some(5),
            dirty_bytes: Some(Bytes(4096)),
            swappiness: Some(201),
            ..VmSettings::default()
        };
        let found: Vec<String> = Sysctl { vm }
            .problems()
            .into_iter()
            .map(|one| format!("{}: {}", one.key, one.expected))
            .collect();
        assert_eq!(
            found,
            [
                "vm.dirty_bytes: at least 8KiB, two pages",
                "vm.dirty_bytes: leave out one of the two",
                "vm.swappiness: 0 to 200",
                "vm.dirty_background_ratio: less than `vm.dirty_ratio`",
            ]
        );
        let vm = VmSettings {
            vfs_cache_pressure: Some(50),
            dirty_background_bytes: Some(Bytes(1)),
            ..VmSettings::default()
        };
        let settings = Sysctl { vm }.settings();
        let names: Vec<_> = settings.iter().map(|(row, value)| (row.name, *value)).collect();
        assert_eq!(names, [("vm.dirty_background_bytes", 1), ("vm.vfs_cache_pressure", 50)]);
    }

    #[test]
    fn a_journal_names_only_values_that_the_kernel_shows() {
        let is_possible =
            |name: &str, value: &str| SysctlRow::of(name).is_some_and(|row| row.is_possible(value));
        assert!(is_possible("vm.dirty_bytes", "0") && is_possible("vm.dirty_bytes", "8192"));
        assert!(is_possible("vm.swappiness", "0"));
        for (name, value) in [
            ("vm.dirty_bytes", "1"),
            ("vm.swappiness", "201"),
            ("vm.swappiness", "060"),
            ("vm.swappiness", "60\n"),
            ("vm.swappiness", ""),
            ("vm.drop_caches", "1"),
            ("kernel.core_pattern", "0"),
        ] {
            assert!(!is_possible(name, value), "{name} {value}");
        }
    }
}
