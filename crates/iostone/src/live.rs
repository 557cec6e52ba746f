//! `run --live`: a screen that shows a run as it goes on, beside what the machine does meanwhile.
//!
//! A thread looks at the counters of this host and draws, twice a second; that is a tenth of what the probe reads. The terminal
//! stays in its usual mode, so that Ctrl-C interrupts the run as ever.

mod scene;

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use anyhow::{Result, bail};
use iostone_lab::conclude::Subject;
use iostone_lab::{Observer, Progress};
use iostone_model::run::Plan;
use iostone_probe::Root;
use iostone_probe::glance::Glance;
use iostone_report::clean;

use scene::Scene;

/// The other screen of the terminal, cursor hidden, and back (xterm's control sequences, `console_codes(4)`).
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Where the terminal does not tell its size.
const USUAL_SIZE: (usize, usize) = (80, 24);

const DRAW_EVERY: Duration = Duration::from_millis(500);
/// How soon the end of a run is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The screen of a run. It goes when this is dropped.
pub(crate) struct Live<'a> {
    plan: &'a Plan,
    subject: Subject,
    scene: Arc<Mutex<Scene>>,
    over: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
}

/// Makes sure that there is a screen to draw on.
///
/// # Errors
/// That standard error is no terminal.
pub(crate) fn check_terminal() -> Result<()> {
    if !stderr().is_terminal() {
        bail!("`--live` draws on the terminal, and standard error is none; leave it out");
    }
    Ok(())
}

impl<'a> Live<'a> {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The terminal's.
    pub(crate) fn start(plan: &'a Plan) -> Result<Self> {
        let scene = Arc::new(Mutex::new(Scene::of(plan)));
        let over = Arc::new(AtomicBool::new(false));
        let mut live = Self { plan, subject: Subject::of(plan), scene, over, painter: None };
        // From here on the screen is given back whatever fails.
        write(ENTER)?;
        let (scene, over) = (Arc::clone(&live.scene), Arc::clone(&live.over));
        let painter = std::thread::Builder::new().name("screen".to_owned());
        live.painter = Some(painter.spawn(move || paint(&scene, &over))?);
        Ok(live)
    }

    fn change(&self, change: impl FnOnce(&mut Scene)) {
        change(&mut self.scene.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes to the terminal at once.
fn write(text: &str) -> io::Result<()> {
    let mut terminal = stderr().lock();
    terminal.write_all(text.as_bytes())?;
    terminal.flush()
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    let told = rustix::termios::tcgetwinsize(stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    told.map_or(USUAL_SIZE, |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Looks and draws until the run is over. A screen that cannot be drawn takes nothing from the run.
fn paint(scene: &Mutex<Scene>, over: &AtomicBool) {
    let root = Root::live();
    let mut before = Glance::take(&root).ok();
    while !over.load(Ordering::Relaxed) {
        let now = Glance::take(&root).ok();
        let (width, height) = size();
        let lines = {
            let mut scene = scene.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(now), Some(before)) = (&now, &before) {
                scene.saw(now.since(before));
            }
            scene.lines(width, height)
        };
        // Each line over the old one, in one piece, so that nothing flickers.
        let _ = write(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")));
        before = now;
        let mut waited = Duration::ZERO;
        while waited < DRAW_EVERY && !over.load(Ordering::Relaxed) {
            sleep(LOOK_EVERY);
            waited += LOOK_EVERY;
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            // It ends by itself; that it failed is nobody's affair any more.
            let _ = painter.join();
        }
        let _ = write(LEAVE);
    }
}

impl Observer for Live<'_> {
    fn observe(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Checked { notes } => self.change(|scene| {
                for note in notes {
                    scene.say(clean(note));
                }
            }),
            Progress::WarmUp { configuration } => {
                self.change(|scene| scene.begin(format!("warm-up: {}", clean(configuration))));
            }
            Progress::Repeated { configuration, reason } => {
                self.change(|scene| {
                    scene.say(format!("{} once more: {}", clean(configuration), clean(reason)));
                });
            }
            Progress::PilotBegun { configuration, runtime } => {
                self.change(|scene| scene.begin(format!("pilot of {runtime}: {}", clean(configuration))));
            }
            Progress::PilotRecorded { record } => {
                self.change(|scene| scene.say(format!("pilot of {} recorded", clean(&record.configuration))));
            }
            Progress::CovariatesDeclared { covariates } => self.change(|scene| {
                for declared in covariates {
                    scene.say(format!("declared: {}", clean(&declared.to_string())));
                }
            }),
            Progress::RampDeclared { ramp } => {
                self.change(|scene| scene.say(format!("declared: {} of warm-up in every trial", ramp.ramp)));
            }
            Progress::TrialBegun { block, configuration } => {
                self.change(|scene| scene.begin(format!("block {block}: {}", clean(configuration))));
            }
            Progress::TrialRecorded { record, blocks, budget, at_most, .. } => {
                let figure =
                    self.subject.describe(self.plan, record).unwrap_or_else(|| "no figure".to_owned());
                let failed: Vec<String> = record
                    .gates
                    .iter()
                    .filter(|gate| !gate.passed)
                    .map(|gate| clean(&gate.message))
                    .collect();
                let doubt =
                    if failed.is_empty() { String::new() } else { format!("  ! {}", failed.join("; ")) };
                let line = format!("{}  {figure}{doubt}", clean(&record.configuration));
                self.change(|scene| {
                    scene.say(line);
                    scene.counted(blocks, budget, at_most);
                });
            }
            Progress::BlockDiscarded { reason } => {
                self.change(|scene| scene.say(format!("discarded and repeated: {}", clean(reason))));
            }
            Progress::Unfit { failed, begun } => {
                self.change(|scene| {
                    scene.say(format!("machine too busy: {failed} of {begun} blocks failed a gate"));
                });
            }
            Progress::Looked { verdicts } => self.change(|scene| scene.looked(verdicts)),
        }
    }
}
