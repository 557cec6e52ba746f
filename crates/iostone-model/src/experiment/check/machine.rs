//! What types cannot say of machines: guests that cannot boot, agents that cannot be varied.

use super::Findings;
use crate::experiment::{
    Configuration, EmulatedInstance, Experiment, FASTEST_EMULATION, FASTEST_SPEED, Governed, Guest, Link,
    LocalMachine, MachineSpec, Volume,
};
use crate::units::Bytes;

/// Less does not hold a kernel, the agent and a filesystem's cache.
const SMALLEST_MEMORY: Bytes = Bytes(96 << 20);
/// QEMU's q35 takes 288.
const MOST_CPUS: u32 = 255;

pub(super) fn check(configuration: &Configuration, findings: &mut Findings<'_>) {
    super::stack::check_link(&configuration.stack, &configuration.machine, findings);
    let machine = &configuration.machine;
    if machine.usd_per_hour().is_some_and(|price| !price.is_finite() || price < 0.0) {
        findings.value("machine.usd_per_hour", "not a price", "US dollars per hour, as in 0.40");
    }
    if let Some(link) = machine.link() {
        check_link(&link, findings);
    }
    match machine {
        MachineSpec::Guest(guest) => check_guest(guest, configuration, findings),
        MachineSpec::Agent(agent) => {
            if agent.argv.first().is_none_or(String::is_empty) {
                let example = "expected [\"ssh\", \"host\", \"iostone\", \"agent\"]";
                findings.value("machine.argv", "there is no program to start the agent", example);
            }
        }
        MachineSpec::Local(local) => check_local(local, findings),
        MachineSpec::Governed(governed) => check_governed(governed, findings),
        MachineSpec::Emulate(emulated) => check_emulated(emulated, configuration, findings),
    }
}

/// A link that carries something, and whose bursts are above what it carries in the long run.
fn check_link(link: &Link, findings: &mut Findings<'_>) {
    if link.throughput.0 == 0 {
        findings.value("machine.link", "a link of 0B/s moves no data", "as 500Mbps");
    }
    if link.iops == Some(0) {
        findings.value("machine.link.iops", "a link of 0 IOPS moves no data", "1 or more");
    }
    if let Some(burst) = &link.burst {
        let base = (link.iops, Some(link.throughput));
        super::stack::check_burst_of(burst, base, "machine.link", findings);
    }
}

/// Which allowances are known is for the plan to say, which has the catalogue.
fn check_governed(governed: &Governed, findings: &mut Findings<'_>) {
    if !(governed.speed.is_finite() && (1.0..=FASTEST_SPEED).contains(&governed.speed)) {
        let message = format!("an allowance cannot be emulated at {} times its speed", governed.speed);
        findings.value("machine.speed", message, &format!("1 to {FASTEST_SPEED}"));
    }
}

/// Which instances are known is for the plan to say, which has the catalogue.
fn check_emulated(emulated: &EmulatedInstance, configuration: &Configuration, findings: &mut Findings<'_>) {
    if !matches!(configuration.stack.volume, Volume::Emulated(_)) {
        let message = "an emulated instance needs emulated volumes, and there are none";
        let label = "add `volume = { kind = \"emulated\", type = \"gp2\", size = \"220GiB\" }`";
        findings.key("machine.emulate", message, label);
    }
    if !(emulated.speed.is_finite() && (1.0..=FASTEST_EMULATION).contains(&emulated.speed)) {
        let message = format!("an instance cannot be emulated at {} times its speed", emulated.speed);
        findings.value("machine.speed", message, &format!("1 to {FASTEST_EMULATION}"));
    }
}

/// What is asked of a kernel that runs already, and could never be met.
fn check_local(local: &LocalMachine, findings: &mut Findings<'_>) {
    if let Some(kernel) = &local.kernel {
        let is_of_a_guest = kernel == "host" || kernel.starts_with("debian:") || kernel.contains('/');
        if is_of_a_guest {
            let message = format!("`{kernel}` is not a kernel release but names a kernel for a guest");
            findings.value("machine.kernel", message, "for that, set `kind = \"guest\"`");
        } else if !is_word(kernel) {
            let message = format!("`{}` is not a kernel release", kernel.escape_debug());
            let label = "as in `uname -r`; to boot a kernel, set `kind = \"guest\"`";
            findings.value("machine.kernel", message, label);
        }
    }
    check_kernel_arguments(&local.kernel_arguments, findings);
}

fn check_kernel_arguments(words: &[String], findings: &mut Findings<'_>) {
    for (index, word) in words.iter().enumerate().filter(|(_, word)| !is_word(word)) {
        let message = format!("`{}` is not one parameter of a kernel command line", word.escape_debug());
        findings.value(&format!("machine.kernel_arguments[{index}]"), message, "one parameter per entry");
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn check_guest(guest: &Guest, configuration: &Configuration, findings: &mut Findings<'_>) {
    if guest.kernel.is_empty() {
        let example = "a path, `host`, or `debian:6.1`";
        findings.value("machine.kernel", "no kernel is named", example);
    }
    if guest.memory < SMALLEST_MEMORY {
        let message = format!("a guest cannot boot with {} of memory", guest.memory);
        findings.value("machine.memory", message, &format!("at least {SMALLEST_MEMORY}"));
    }
    if guest.cpus == 0 || guest.cpus > MOST_CPUS {
        findings.value("machine.cpus", format!("{} processors is out of range", guest.cpus), "1 to 255");
    }
    let paths = [("rootfs", &guest.rootfs), ("modules", &guest.modules)];
    for (key, path) in paths.iter().filter_map(|(key, path)| path.as_ref().map(|path| (key, path))) {
        if !path.is_absolute() {
            findings.value(&format!("machine.{key}"), "not an absolute path", "start it with /");
        }
    }
    for (index, path) in guest.carry.iter().enumerate() {
        if !path.is_absolute() {
            findings.value(&format!("machine.carry[{index}]"), "not an absolute path", "start it with /");
        }
    }
    check_kernel_arguments(&guest.kernel_arguments, findings);
    let container = &configuration.stack.container;
    if container.has_engine() {
        let message = format!("{} is not available in a guest", container.kind());
        let label = "leave `machine` out, or use `kind = \"overlay\"`, which needs no engine";
        findings.key("stack.container", message, label);
    }
    if let Volume::Directory(volume) = &configuration.stack.volume
        && volume.path.is_some()
    {
        let message = "a directory of this host is not visible in a guest";
        findings.value("stack.volume.path", message, "leave it out, or use a `loop` volume");
    }
}

/// An agent is connected once for the whole run, so that it is the same for every configuration.
pub(super) fn check_all(experiment: &Experiment, findings: &mut Findings<'_>) {
    let differs = |configuration: &Configuration| {
        let agents = [&configuration.machine, &experiment.machine];
        agents.iter().any(|machine| matches!(machine, MachineSpec::Agent(_))) && agents[0] != agents[1]
    };
    if let Some(guilty) = experiment.configurations.iter().find(|configuration| differs(configuration)) {
        let message = format!("`{}` cannot vary an agent: it is connected once per run", guilty.name);
        findings.key("machine", message, "`local` and `guest` can be varied");
    }
}
