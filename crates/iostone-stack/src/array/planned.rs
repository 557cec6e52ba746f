//! The steps of an array in words, for a dry run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Array, Stack};

use super::{lvm, mapped_name, md};
use crate::site::own_directory_name;
use crate::tool::command_line;

/// What an array adds to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedArray {
    /// The node of the device that it makes.
    pub(crate) device: String,
    /// The commands, in their order.
    pub(crate) steps: Vec<String>,
    /// What takes it apart again, in its order.
    pub(crate) undo: Vec<String>,
}

/// The steps for an array over those members; none where the stack has none, or where it cannot be built.
pub(crate) fn plan(stack: &Stack, members: &[String]) -> Option<PlannedArray> {
    let paths: Vec<PathBuf> = members.iter().map(PathBuf::from).collect();
    match &stack.array {
        Array::None | Array::Btrfs(_) => None,
        Array::Md(array) => {
            let node = "/dev/mdN";
            // The UUID is drawn at random when the array is made.
            let words: Vec<OsString> = md::create_words(array, Path::new(node), "", &paths)
                .into_iter()
                .map(|word| match word.to_str() {
                    Some("--uuid=") => "--uuid=UUID".into(),
                    Some("--name=iostone-") => "--name=iostone-UUID".into(),
                    _ => word,
                })
                .collect();
            Some(PlannedArray {
                device: node.to_owned(),
                steps: vec![command_line(Path::new("mdadm"), &words)],
                undo: vec![
                    format!("mdadm --stop {node}"),
                    format!("mdadm --zero-superblock {}", members.join(" ")),
                ],
            })
        }
        Array::Lvm(array) => {
            let group = own_directory_name("TOKEN");
            let commands = lvm::commands(array, &group, &paths).ok()?;
            let steps = commands.iter().map(|words| command_line(Path::new("lvm"), words)).collect();
            let name = mapped_name(&group);
            Some(PlannedArray {
                device: format!("/dev/mapper/{name}"),
                steps,
                undo: vec![
                    format!("dmsetup remove {name}"),
                    format!("wipe the labels of {group} off {}", members.join(" ")),
                ],
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{BlockVolume, LvmArray, MdArray, MdLevel, Volume};
    use iostone_model::units::Bytes;

    use super::*;

    fn planned(array: Array) -> PlannedArray {
        let stack = Stack { array, ..Stack::of(Volume::Block(BlockVolume { devices: Vec::new() })) };
        plan(&stack, &["/dev/sdb".to_owned(), "/dev/sdc".to_owned()]).unwrap()
    }

    #[test]
    fn a_software_raid_is_planned_as_mdadm_would_be_typed() {
        let level = MdLevel::Raid0;
        let planned = planned(Array::Md(MdArray { level, chunk: Some(Bytes(256 << 10)), metadata: None }));
        assert_eq!(
            planned.steps,
            ["mdadm --create /dev/mdN --run --config=none --homehost=any --name=iostone-UUID --uuid=UUID \
              --level=raid0 --raid-devices=2 --chunk=256K /dev/sdb /dev/sdc"]
        );
        assert_eq!(planned.undo, ["mdadm --stop /dev/mdN", "mdadm --zero-superblock /dev/sdb /dev/sdc"]);
    }

    #[test]
    fn a_volume_group_is_planned_with_its_members() {
        let planned = planned(Array::Lvm(LvmArray { stripes: None, stripe_size: None }));
        assert_eq!(planned.steps.len(), 4);
        assert_eq!(planned.device, "/dev/mapper/iostone--TOKEN-volume");
    }
}
