//! The hosts of an Ansible inventory, whatever made it: a list, a cloud's plugin, another program's output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use iostone_model::fleet::is_host_name;
use serde_json::Value;

use crate::error::{ANSIBLE, FleetError};

/// A host, and what can be a factor of what the inventory says of it. Nothing else is kept: inventories hold passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryHost {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whether it has an iostone of its own (`iostone_program`), so that none is pushed.
    pub has_program: bool,
    /// Whether its name cannot be used, because it would not be a file's name.
    pub bad_name: bool,
}

/// Variables of cloud inventories that say what a host is, as a path in them, and what they are called here.
const FACTS: [(&[&str], &str); 9] = [
    (&["instance_type"], "instance type"),
    (&["image_id"], "image"),
    (&["placement", "availability_zone"], "zone"),
    (&["availability_zone"], "zone"),
    (&["machineType"], "instance type"),
    (&["virtual_machine_size"], "instance type"),
    (&["server_type"], "instance type"),
    (&["zone"], "zone"),
    (&["location"], "zone"),
];

/// Labels are words, not documents.
const LONGEST_LABEL: usize = 120;

/// Reads an inventory by `ansible-inventory`; `limit` is Ansible's pattern of hosts.
///
/// # Errors
/// No Ansible, or an inventory that it cannot read or that names no host.
pub fn read_inventory(inventory: &Path, limit: Option<&str>) -> Result<Vec<InventoryHost>, FleetError> {
    let mut command = Command::new("ansible-inventory");
    command.arg("--inventory").arg(inventory).arg("--list");
    let output = output_of(command, "ansible-inventory")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = || said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned();
    if !output.status.success() {
        return Err(FleetError::Usage(format!("`{}` is no inventory: {}", inventory.display(), last())));
    }
    let listed: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| FleetError::Failed(format!("`ansible-inventory` printed no JSON: {error}")))?;
    let mut hosts = hosts_of(&listed);
    if let Some(limit) = limit {
        let meant = meant_by(inventory, limit)?;
        hosts.retain(|host| meant.contains(&host.name));
        if hosts.is_empty() {
            return Err(FleetError::Usage(format!("`{}` has no host of `{limit}`", inventory.display())));
        }
    }
    if hosts.is_empty() {
        return Err(FleetError::Usage(format!("`{}` names no host: {}", inventory.display(), last())));
    }
    Ok(hosts)
}

/// The hosts that a pattern means. `ansible-inventory` has no `--limit` before ansible-core 2.17.
fn meant_by(inventory: &Path, limit: &str) -> Result<BTreeSet<String>, FleetError> {
    let mut command = Command::new("ansible");
    command.arg("all").arg("--inventory").arg(inventory).arg("--limit").arg(limit).arg("--list-hosts");
    let output = output_of(command, "ansible")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        return Err(FleetError::Usage(format!("`--limit {limit}`: {last}")));
    }
    // The first line counts them.
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.lines().skip(1).map(|line| line.trim().to_owned()).collect())
}

fn output_of(mut command: Command, program: &'static str) -> Result<Output, FleetError> {
    command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => FleetError::NoProgram { program, help: ANSIBLE },
        _ => FleetError::Failed(format!("starting `{program}`: {error}")),
    })
}

/// The hosts of what `ansible-inventory --list` printed, in its order, each once.
fn hosts_of(listed: &Value) -> Vec<InventoryHost> {
    let mut seen = BTreeSet::new();
    let mut hosts = Vec::new();
    let groups = listed.as_object().into_iter().flatten();
    for name in groups.flat_map(|(_, group)| group["hosts"].as_array().into_iter().flatten()) {
        let Some(name) = name.as_str() else { continue };
        if seen.insert(name) {
            let variables = &listed["_meta"]["hostvars"][name];
            let bad_name = !is_host_name(name);
            let has_program = word(&variables["iostone_program"]).is_some();
            let labels = labels_of(variables);
            hosts.push(InventoryHost { name: name.to_owned(), labels, has_program, bad_name });
        }
    }
    hosts
}

fn labels_of(variables: &Value) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let own = variables["iostone_labels"].as_object().into_iter().flatten();
    for (name, value) in own {
        labels.extend(word(value).map(|word| (name.chars().take(LONGEST_LABEL).collect(), word)));
    }
    for (path, name) in FACTS {
        let value = path.iter().fold(variables, |value, key| &value[*key]);
        if let Some(word) = word(value) {
            // The last part of an address such as Google's, `.../machineTypes/n2-standard-4`.
            let word = word.rsplit('/').next().unwrap_or_default().to_owned();
            labels.entry(name.to_owned()).or_insert(word);
        }
    }
    labels
}

fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        _ => return None,
    };
    let fits = !text.is_empty() && text.len() <= LONGEST_LABEL && !text.chars().any(char::is_control);
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_taken_and_secrets_are_not() {
        let listed = serde_json::json!({
            "_meta": { "hostvars": {
                "db1": { "ansible_password": "secret", "instance_type": "c5.large",
                         "placement": { "availability_zone": "eu-west-1a" }, "iostone_labels": { "rack": 7, "long": "x".repeat(500) } },
                "fe80::1": {},
            } },
            "all": { "children": ["web"] },
            "web": { "hosts": ["db1", "fe80::1"] },
            "again": { "hosts": ["db1"] },
        });
        let hosts = hosts_of(&listed);
        let mut names: Vec<(&str, bool)> =
            hosts.iter().map(|host| (host.name.as_str(), host.bad_name)).collect();
        names.sort_unstable();
        assert_eq!(names, [("db1", false), ("fe80::1", true)]);
        let db1 = hosts.iter().find(|host| host.name == "db1").unwrap();
        let labels: Vec<(&str, &str)> =
            db1.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("instance type", "c5.large"), ("rack", "7"), ("zone", "eu-west-1a")]);
    }
}
