//! `iostone disk plan`: a server for another process, which says what to serve and lives longer than it.

use std::io::{BufRead, Read};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use iostone_disk::{DiskPlan, Server, Store};
use iostone_engine::Pins;
use iostone_machine::Failure;
use rustix::process::Signal;

use crate::commands::target::{Found, Held};
use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

pub(super) fn plan(printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    // Should whoever started this die without closing its end of standard input, a child of its holding it for one.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
        .context("cannot set the parent-death signal")?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("cannot read the plan from standard input")?;
    let plan: DiskPlan = serde_json::from_str(&line).context(
        "standard input does not begin with a plan; to serve a volume by hand, use `iostone disk serve`",
    )?;
    let server = Server::bind_pinned(&plan, &hold(&plan)?)?;
    printer.data("ready\n");
    let ended = stop.clone();
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Whatever follows means nothing; its end is what counts, and an error is as good as the end.
        let mut rest = [0; 512];
        while std::io::stdin().lock().read(&mut rest).is_ok_and(|read| read > 0) {}
        ended.store(true, Ordering::Relaxed);
    })?;
    server.run(&stop)?;
    Ok(ExitCode::Success)
}

/// Finds the images of the plan, each once, and holds them.
fn hold(plan: &DiskPlan) -> Result<Pins> {
    let mut pins = Pins::default();
    for volume in &plan.volumes {
        let Store::File { path, .. } = &volume.store else { continue };
        match Held::find(path).map_err(Failure::from)? {
            Found::Held(held) => pins.insert(path.clone(), held.pin().clone()),
            Found::Nothing(_) => bail!("cannot open `{}`: it does not exist", path.display()),
        }
    }
    Ok(pins)
}
