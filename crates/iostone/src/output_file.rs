//! `--overwrite` and the output files of commands: checked before the work whose result they get.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use iostone_report::clean;
use iostone_stack::{OutputFile, Permit, Placing, quote};

use crate::printer::Printer;

/// Permission to replace an output file; the same option in every command that writes one.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Overwrite {
    /// Replace the output file although iostone did not create it or it was changed since; repeat its name
    #[arg(long, value_name = "FILE")]
    overwrite: Option<PathBuf>,
}

/// Writes the output file and says so.
pub(crate) fn write_out(output: OutputFile, content: impl AsRef<[u8]>, printer: &mut Printer) -> Result<()> {
    let path = clean(&quote(output.path().as_os_str()));
    output.write(content)?;
    printer.note(format_args!("wrote {path}"));
    Ok(())
}

impl Overwrite {
    /// Whether it is given.
    pub(crate) fn is_given(&self) -> bool {
        self.overwrite.is_some()
    }

    /// Opens the output file, if one is named.
    ///
    /// # Errors
    /// A file that may not be replaced or cannot be written, and a name that is not the output's.
    pub(crate) fn open(&self, output: Option<&Path>) -> Result<Option<OutputFile>> {
        if let Some(typed) = self.overwrite.as_deref().filter(|typed| Some(*typed) != output) {
            let typed = clean(&quote(typed.as_os_str()));
            match output {
                Some(output) => {
                    let output = clean(&quote(output.as_os_str()));
                    bail!("`--overwrite {typed}` is not the output file, which is `{output}`");
                }
                None => bail!("`--overwrite {typed}` needs an output file; none is named"),
            }
        }
        let permit = Permit::new("--overwrite", self.overwrite.iter().cloned().collect());
        let open = |path| OutputFile::open(path, Placing::Replace, &permit);
        Ok(output.map(open).transpose()?)
    }
}
