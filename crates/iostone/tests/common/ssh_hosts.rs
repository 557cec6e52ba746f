//! Real SSH servers as hosts of a fleet, their inventory, and a look at whether they were left as found.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lab::Lab;

/// Hosts in namespaces, which go when this is dropped.
pub(crate) struct SshHosts {
    server: Child,
    namespace: String,
    place: PathBuf,
    addresses: Vec<String>,
    pub(crate) names: Vec<String>,
}

impl SshHosts {
    /// So many hosts, each in a network namespace of its own if `apart`.
    pub(crate) fn start(lab: &Lab, number: usize, apart: bool) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("iof{}x{count}", std::process::id());
        let place = lab.path().join("h");
        std::fs::create_dir_all(&place).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sshd-hosts.sh");
        let mut command = Command::new(script);
        command.arg(&place).arg(number.to_string()).arg(&namespace);
        if apart {
            command.arg("apart");
        }
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready", "the SSH servers did not start");
        let address = |host: usize| {
            if apart {
                format!("10.213.{host}.2")
            } else {
                format!("127.1.{}.{}", host / 250, host % 250 + 1)
            }
        };
        Self {
            server,
            namespace,
            addresses: (1..=number).map(address).collect(),
            names: (1..=number).map(|host| format!("host{host}")).collect(),
            place,
        }
    }

    /// What belongs to a host.
    pub(crate) fn host(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// Writes the inventory; `extra` are variables of single hosts, as YAML's flow style has them.
    pub(crate) fn inventory(&self, extra: &[(&str, &str)]) -> PathBuf {
        let place = self.place.display();
        let mut text = format!(
            "all:\n  vars:\n    ansible_user: root\n    ansible_ssh_private_key_file: {place}/keys/id\n    \
             ansible_ssh_common_args: \"-o UserKnownHostsFile={place}/known_hosts -o IdentitiesOnly=yes\"\n    \
             ansible_python_interpreter: /usr/bin/python3\n  hosts:\n"
        );
        for (name, address) in self.names.iter().zip(&self.addresses) {
            let own = extra
                .iter()
                .filter(|(of, _)| of == name)
                .fold(String::new(), |own, (_, more)| own + ", " + more);
            // What is said of a host alone stands instead of what is said of all.
            let usual = [
                ("ansible_host", address.clone()),
                ("iostone_base", format!("{place}/{name}/fleet")),
                (
                    "iostone_environment",
                    format!("{{IOSTONE_STATE_DIR: {place}/{name}/state, IOSTONE_NO_METADATA: '1'}}"),
                ),
            ];
            let usual: Vec<String> = usual
                .iter()
                .filter(|(key, _)| !own.contains(&format!(", {key}:")))
                .map(|(key, value)| format!("{key}: {value}"))
                .collect();
            writeln!(text, "    {name}: {{{}{own}}}", usual.join(", ")).unwrap();
        }
        let path = self.place.join("hosts.yml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A program as the controller starts it: on the hosts' network.
    pub(crate) fn controller(&self, lab: &Lab, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]).args(arguments).current_dir(lab.path());
        command
            .env("IOSTONE_STATE_DIR", lab.path().join("state"))
            .env("IOSTONE_RUNS", lab.runs())
            .env("NO_COLOR", "1");
        for variable in
            ["ANSIBLE_CONFIG", "ANSIBLE_SSH_ARGS", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_STDOUT_CALLBACK"]
        {
            command.env_remove(variable);
        }
        command
    }

    /// The status that a host's run has written last.
    pub(crate) fn status(&self, name: &str) -> Option<serde_json::Value> {
        let fleets = std::fs::read_dir(self.host(name).join("fleet")).ok()?;
        let text = fleets.flatten().find_map(|fleet| std::fs::read(fleet.path().join("status.json")).ok())?;
        serde_json::from_slice(&text).ok()
    }

    /// Fails if anything of a fleet is left on a host.
    pub(crate) fn assert_as_found(&self) {
        for name in &self.names {
            let host = self.host(name);
            assert!(!host.join("fleet").exists(), "{name}: the fleet's directory is left");
            let journals =
                std::fs::read_dir(host.join("state/journals")).map_or(0, |entries| entries.flatten().count());
            assert_eq!(journals, 0, "{name}: a journal is left");
        }
        let here = self.place.display().to_string();
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
            let is_run = line.contains("fleet\0host") && line.contains(&here);
            assert!(!is_run, "a run is left: {}", line.replace('\0', " "));
        }
    }
}

impl Drop for SshHosts {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}
