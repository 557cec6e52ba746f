//! What forged journals aim at in the playground: whole steps, and values for the fields of a good journal.

use serde_json::{Value, json};

use super::playground::{Playground, TOKEN, identity};

impl Playground {
    fn number(&self) -> (u32, u32) {
        self.device.as_ref().map_or((7, 0), |device| device.number)
    }

    fn device_path(&self) -> String {
        self.device.as_ref().map_or("/dev/loop0".to_owned(), |device| device.path.display().to_string())
    }

    fn uuid(&self) -> String {
        self.device.as_ref().map_or("0123abcd".to_owned(), |device| device.uuid.clone())
    }

    /// Steps that no session can have begun, and those that one can have, aimed at things that are not its own all the same.
    pub(super) fn steps(&self) -> (Vec<Value>, Vec<Value>) {
        let at = |name: &str| self.path(name).display().to_string();
        let name = format!("iostone-{TOKEN}");
        let (number, device, uuid) = (self.number(), self.device_path(), self.uuid());
        let node = device.trim_start_matches("/dev/").to_owned();
        let mut forged = Vec::new();
        let up = "../".repeat(12);
        for (setting, old) in [
            (format!("{up}{}", at("sys/queue/write_cache").trim_start_matches('/')), "write through"),
            (format!("queue/{up}{}", at("f1").trim_start_matches('/')), "evil"),
            (at("f1"), "evil"),
            ("queue/scheduler".to_owned(), "none"),
            ("queue/write_cache".to_owned(), "evil"),
            ("queue/scheduler".to_owned(), "none; evil"),
            ("queue/nr_requests".to_owned(), "-1"),
            ("queue/nomerges".to_owned(), "3"),
            ("queue/read_ahead_kb".to_owned(), "1 && true"),
            // In form, but of a device that the journal does not speak of.
            ("queue/write_cache".to_owned(), "write through"),
            ("queue/read_ahead_kb".to_owned(), "4"),
        ] {
            forged.push(json!({"kind": "queue", "name": node, "number": number, "diskseq": null, "setting": setting, "old": old}));
        }
        for path in [
            at("full"),
            at(&format!("{name}/../full")),
            at(&format!("x/{name}/../empty")),
            "/".to_owned(),
            "full".to_owned(),
        ] {
            forged.push(json!({"kind": "directory", "path": path, "content_is_ours": true}));
        }
        for path in [at("x/empty"), at("full/sub"), at("empty/../x/empty"), "relative".to_owned()] {
            forged.push(json!({"kind": "directory", "path": path, "content_is_ours": false}));
        }
        for path in [
            at("f1"),
            at(&format!("{name}/../f1")),
            at(&format!("x/{name}")),
            device.clone(),
            "/etc/hostname".to_owned(),
        ] {
            forged.push(json!({"kind": "image", "path": path}));
        }
        for backing in [at("disk.img"), at(&format!("{name}/../disk.img")), "/dev/disk/x".to_owned()] {
            forged.push(
                json!({"kind": "loop", "backing": backing, "identity": identity(&self.path("disk.img"))}),
            );
        }
        for (device, uuid) in
            [(device.clone(), uuid.clone()), (at("disk.img"), uuid.clone()), (device.clone(), String::new())]
        {
            forged.push(json!({"kind": "mkfs", "device": device, "size_bytes": 4_194_304, "uuid": uuid}));
        }
        for node in [
            at("f1"),
            device.clone(),
            "/dev/md0/../loop0".to_owned(),
            "/dev/md/x".to_owned(),
            "/dev/md999".to_owned(),
        ] {
            forged.push(json!({"kind": "md_array", "node": node, "uuid": crate::own_uuid::new_uuid(TOKEN).unwrap(), "members": [device]}));
        }
        forged.push(json!({"kind": "md_array", "node": "/dev/md0", "uuid": uuid, "members": [device]}));
        for group in ["rootvg", "", "../dev", "iostone-other-0123456789abcdef"] {
            forged.push(json!({"kind": "volume_group", "name": group, "members": [device]}));
        }
        forged.extend(self.steps_against_processes());
        forged.extend(self.steps_against_mounts_and_groups());
        (forged, self.admissible_steps())
    }

    fn steps_against_processes(&self) -> Vec<Value> {
        let at = |name: &str| self.path(name).display().to_string();
        let name = format!("iostone-{TOKEN}");
        let group = at("group");
        let mut forged = Vec::new();
        for kind in ["processes", "server"] {
            for (variable, value) in [
                ("PLAY", "1"),
                ("PLAY", TOKEN),
                ("IOSTONE_RUN", "other-0123456789abcdef"),
                ("IOSTONE_SERVER", "other-0123456789abcdef-1"),
                ("IOSTONE_ENGINE", "other-0123456789abcdef-2"),
                ("", ""),
            ] {
                forged.push(json!({"kind": kind, "variable": variable, "value": value}));
            }
        }
        let value = format!("{TOKEN}-1");
        for (variable, value, root, group) in [
            ("PLAY", "1", "/", format!("{name}-engine")),
            ("IOSTONE_ENGINE", value.as_str(), "/", format!("{name}-engine")),
            ("IOSTONE_ENGINE", "other-0123456789abcdef-2", "/gone", format!("{name}-engine")),
            ("IOSTONE_ENGINE", value.as_str(), at("mnt").as_str(), format!("{name}-engine")),
            ("IOSTONE_ENGINE", value.as_str(), &format!("/gone/{name}/e"), format!("../{group}")),
        ] {
            forged.push(json!({"kind": "engine", "variable": variable, "value": value, "roots": [root], "group": group}));
        }
        forged
    }

    fn steps_against_mounts_and_groups(&self) -> Vec<Value> {
        let at = |name: &str| self.path(name).display().to_string();
        let name = format!("iostone-{TOKEN}");
        let number = self.number();
        let group = self.group.as_ref().map_or_else(|| at("group"), |group| group.display().to_string());
        let mut forged = Vec::new();
        forged.push(json!({"kind": "nbd", "number": number, "socket": format!("/gone/{name}/s")}));
        for (name, old) in [
            ("vm.drop_caches", "1"),
            ("kernel.core_pattern", "0"),
            ("vm.swappiness/../drop_caches", "1"),
            ("vm.swappiness", "201"),
            ("vm.swappiness", "60\n"),
            ("vm.dirty_bytes", "1"),
        ] {
            forged.push(json!({"kind": "sysctl", "name": name, "old": old}));
        }
        forged.push(json!({"kind": "nbd", "number": [43, 0], "socket": at("f1")}));
        forged.push(json!({"kind": "fuse", "target": at("mnt")}));
        forged.push(json!({"kind": "mount", "target": at("mnt"), "number": [0, 1]}));
        forged.push(
            json!({"kind": "mount", "target": format!("/gone/{name}/../../{}", at("mnt")), "number": number}),
        );
        forged.push(json!({"kind": "layer_mount", "target": at("mnt")}));
        forged.push(
            json!({"kind": "layer_mount", "target": format!("/gone/{name}/m"), "number": [1, u32::MAX]}),
        );
        for (group, controller) in
            [(at("group"), "cpu -io"), (at("group"), "../cpu"), (format!("{group}/.."), "pids")]
        {
            forged.push(json!({"kind": "hand_down", "group": group, "controllers": [controller]}));
        }
        for path in [group.clone(), at("group"), format!("{group}/{name}/..")] {
            forged.push(json!({"kind": "control_group", "path": path, "home": at("group")}));
        }
        forged.push(json!({"kind": "btrfs_devices", "numbers": vec![number; 5000]}));
        forged
    }

    fn admissible_steps(&self) -> Vec<Value> {
        let at = |name: &str| self.path(name).display().to_string();
        let name = format!("iostone-{TOKEN}");
        vec![
            // Through a symbolic link that is named as a session's directory.
            json!({"kind": "directory", "path": at(&format!("x/{name}/sub")), "content_is_ours": true}),
            json!({"kind": "directory", "path": at(&format!("x/{name}")), "content_is_ours": true}),
            json!({"kind": "image", "path": at(&format!("x/{name}/f1"))}),
            // Not made by this journal's session, as no line confirms it.
            json!({"kind": "directory", "path": at("empty"), "content_is_ours": false}),
            // A directory that is no control group, with files as in one.
            json!({"kind": "control_group", "path": at(&format!("group/{name}")), "home": at("group")}),
            json!({"kind": "hand_down", "group": at("group"), "controllers": ["cpu", "io"]}),
            // Somebody else's loop device, of which only the number is in the journal.
            json!({"kind": "loop", "backing": self.device_path(), "identity": identity(&self.path("disk.img"))}),
            json!({"kind": "btrfs_devices", "numbers": [self.number()]}),
        ]
    }

    /// What fields of a good journal are replaced by.
    pub(super) fn values(&self) -> Vec<Value> {
        let at = |name: &str| Value::from(self.path(name).display().to_string());
        let number = self.number();
        vec![
            at("f1"),
            at("full"),
            at("empty"),
            at("mnt"),
            at("disk.img"),
            at("group"),
            at(&format!("group/iostone-{TOKEN}")),
            at(&format!("x/iostone-{TOKEN}")),
            at(&format!("x/iostone-{TOKEN}/sub")),
            at(&format!("iostone-{TOKEN}/../full")),
            self.device_path().into(),
            self.uuid().into(),
            "PLAY".into(),
            "1".into(),
            "other-0123456789abcdef".into(),
            "other-0123456789abcdef-1".into(),
            TOKEN.into(),
            "..".into(),
            "/".into(),
            "".into(),
            number.0.into(),
            number.1.into(),
            u64::MAX.into(),
            (-1).into(),
            true.into(),
            false.into(),
            Value::Null,
        ]
    }
}
