//! `run --live` in a terminal of tmux: what a person sees while a run goes on.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::lab::{Lab, UNGATED, needs_tool};

const EXPERIMENT: &str = r#"name = "watched"
question = "Are larger blocks faster?"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "load"
levels = { small = { workload.bs = "4KiB" }, large = { workload.bs = "8KiB" } }
[workload]
kind = "io"
rw = "randwrite"
fdatasync = 1
size = "1MiB"
runtime = "500ms"
ramp_time = "0s"
[decide]
metric = "iops"
baseline = "small"
blocks = { min = 6, max = 8 }
"#;

/// A server of tmux of its own, which goes with everything in it.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn tmux(&self, arguments: &[&str]) -> String {
        let said = Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "live"])
    }

    /// Waits until the screen shows something, and gives it back.
    fn until(&self, shows: impl Fn(&str) -> bool, what: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if shows(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{what} in:\n{screen}");
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// A shell in which a run is watched, and which outlives an interrupt of it; it shows the code with which the run ended.
fn watched(lab: &Lab, name: &str) -> Terminal {
    lab.write("experiment.toml", &format!("{EXPERIMENT}{UNGATED}"));
    let terminal = Terminal { socket: format!("iostone-{name}-{}", std::process::id()) };
    let program = env!("CARGO_BIN_EXE_iostone");
    let line = format!(
        "trap : INT; cd {place} && IOSTONE_STATE_DIR={place}/state IOSTONE_RUNS={place}/runs IOSTONE_INDEX=off {program} run \
         experiment.toml --live; echo ended with $?; sleep 600",
        place = lab.path().display()
    );
    terminal.tmux(&["new-session", "-d", "-s", "live", "-x", "110", "-y", "40", "sh", "-c", &line]);
    terminal
}

#[test]
fn a_run_is_watched_as_it_goes_on() {
    needs_tool!("tmux");
    let lab = Lab::new();
    let terminal = watched(&lab, "watched");
    let screen = terminal.until(|screen| screen.contains("block 2: "), "the second block");
    for words in [
        "watched  Are larger blocks faster?",
        "of at most 8 blocks",
        "this host: CPU",
        "steal",
        "queue",
        "rate of the busiest",
    ] {
        assert!(screen.contains(words), "`{words}` is not in:\n{screen}");
    }
    terminal.until(|screen| screen.contains('\u{25cf}') && screen.contains("large"), "an interval");
    // The screen goes, and the report stands where it always does.
    let screen = terminal.until(|screen| screen.contains("ended with "), "the end");
    assert!(screen.contains("ended with 0") && screen.contains("report: runs/"), "{screen}");
    assert!(!screen.contains("this host: CPU"), "{screen}");
}

#[test]
fn an_interrupt_undoes_and_gives_the_terminal_back() {
    needs_tool!("tmux");
    let lab = Lab::new();
    let terminal = watched(&lab, "interrupted");
    terminal.until(|screen| screen.contains("block 1: "), "the first block");
    terminal.tmux(&["send-keys", "-t", "live", "C-c"]);
    let screen = terminal.until(|screen| screen.contains("ended with 130"), "the end");
    assert!(screen.contains("error: interrupted") && !screen.contains("this host: CPU"), "{screen}");
}

#[test]
fn without_a_terminal_there_is_nothing_to_draw_on() {
    let lab = Lab::new();
    lab.write("experiment.toml", &format!("{EXPERIMENT}{UNGATED}"));
    let said = lab.iostone(&["run", "experiment.toml", "--live"]).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("`--live` draws on the terminal"));
    assert!(!lab.runs().exists());
}
