//! Signatures of run directories: `ssh-keygen -Y` over the manifest, with keys that everybody has already.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::archive::Bounds;
use crate::error::FleetError;
use crate::manifest::{self, MANIFEST};

/// The signature's name in a run directory, as `ssh-keygen` calls it.
pub const SIGNATURE: &str = "manifest.json.sig";
/// What a signature is for: one of a mail or a commit does not pass here.
pub const NAMESPACE: &str = "iostone-run";

const HELP: &str = "install it with `apt-get install openssh-client`";

/// Signs a run directory with a private key, or with the public half of one that an agent holds.
///
/// # Errors
/// No `ssh-keygen`, a key that it does not take, files that were changed after the manifest was written.
pub fn sign(run: &Path, key: &Path) -> Result<(), FleetError> {
    if !run.join("plan.json").is_file() {
        let reason = format!("`{}` is no run directory: it has no `plan.json`", run.display());
        return Err(FleetError::Refused(reason));
    }
    if manifest::check(run, &Bounds::default())?.is_none() {
        manifest::write(run, "", "")?;
    }
    let path = run.join(MANIFEST);
    let old = run.join(SIGNATURE);
    match std::fs::remove_file(&old) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(FleetError::file("replacing", &old, error));
        }
        _ => {}
    }
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(path);
    let said = run_keygen(command.stdin(Stdio::inherit()))?;
    said.map(|_| ())
        .map_err(|reason| FleetError::Failed(format!("signing with `{}`: {reason}", key.display())))
}

/// Checks a run directory against its manifest, and the manifest's signature against the signers who are allowed, as in
/// `ssh-keygen(1)`, ALLOWED SIGNERS. Gives the signer's name.
///
/// # Errors
/// No manifest or signature, a changed file, one that is none of a run's, a signer who is not in the file.
pub fn verify(run: &Path, allowed: &Path) -> Result<String, FleetError> {
    if manifest::check(run, &Bounds::default())?.is_none() {
        return Err(FleetError::Refused(format!("it has no `{MANIFEST}`; `iostone fleet sign` writes one")));
    }
    if let Some(name) = manifest::uncovered(run, &Bounds::default())? {
        return Err(FleetError::Refused(format!("`{name}` is no file of a run: no signature covers it")));
    }
    let signature = run.join(SIGNATURE);
    if !signature.is_file() {
        return Err(FleetError::Refused(format!("it has no signature `{SIGNATURE}`")));
    }
    let mut find = Command::new("ssh-keygen");
    find.args(["-Y", "find-principals", "-f"]).arg(allowed).arg("-s").arg(&signature);
    let refused = |reason: String| {
        FleetError::Refused(format!("nobody in `{}` signed it: {reason}", allowed.display()))
    };
    let signers = run_keygen(find.stdin(Stdio::null()))?.map_err(refused)?;
    let signer = signers.lines().next().unwrap_or_default().to_owned();
    let path = run.join(MANIFEST);
    let content = File::open(&path).map_err(|error| FleetError::file("reading", &path, error))?;
    let mut verify = Command::new("ssh-keygen");
    verify
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", &signer, "-f"])
        .arg(allowed)
        .arg("-s")
        .arg(&signature);
    match run_keygen(verify.stdin(content))? {
        Ok(_) => Ok(signer),
        Err(reason) => Err(FleetError::Refused(format!("the signature is not of this manifest: {reason}"))),
    }
}

/// What it printed, or the last line of what it complained of.
fn run_keygen(command: &mut Command) -> Result<Result<String, String>, FleetError> {
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => FleetError::NoProgram { program: "ssh-keygen", help: HELP },
        _ => FleetError::Failed(format!("starting `ssh-keygen`: {error}")),
    })?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(Err(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned()))
}
