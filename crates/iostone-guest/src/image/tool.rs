//! Asking qemu-img(1): by argv, with files as JSON nodes, so that no name is taken for an option, a protocol or a format.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use serde_json::{Value, json};

use super::chain::Parts;
use super::{ImageError, ImageFormat, Opened};
use crate::locate;
use crate::process::{self, Output};

/// As much of what qemu-img complains of as is repeated.
const COMPLAINT: usize = 600;
/// qemu-img check: corruption was found, only leaks were found, the format has no check (qemu-img(1)).
const CORRUPT: i32 = 2;
const LEAKS: i32 = 3;
const NO_CHECK: i32 = 63;

/// A file as qemu-img is to open it.
pub(super) struct Node {
    text: String,
    path: String,
}

impl Node {
    /// A file by itself in a format that is known; nothing below it is opened.
    ///
    /// # Errors
    /// [`ImageError::Usage`] for a name that is not UTF-8, which JSON cannot hold.
    pub(super) fn of(path: &Path, format: ImageFormat) -> Result<Self, ImageError> {
        Ok(Self { text: format!("json:{}", node(path, format, None)?), path: utf8(path)?.to_owned() })
    }

    /// An image with those below it, each stated: QEMU looks for none by itself.
    ///
    /// # Errors
    /// Those of [`Node::of`].
    pub(super) fn of_layers(layers: &[(Opened, Parts)]) -> Result<Self, ImageError> {
        let mut below = None;
        for (image, parts) in layers.iter().rev() {
            let mut this = node(&image.path, image.format, below.take())?;
            if let (Some((path, _)), Some(this)) = (&parts.data, this.as_object_mut()) {
                this.insert("data-file".to_owned(), file_node(path)?);
            }
            below = Some(this);
        }
        let path = layers.first().map_or(Path::new(""), |(image, _)| &image.path);
        Ok(Self { text: format!("json:{}", below.unwrap_or_default()), path: utf8(path)?.to_owned() })
    }

    fn word(&self) -> OsString {
        self.text.clone().into()
    }
}

fn node(path: &Path, format: ImageFormat, below: Option<Value>) -> Result<Value, ImageError> {
    let mut node = json!({ "driver": format.driver(), "file": file_node(path)? });
    if let Some(node) = node.as_object_mut() {
        if matches!(format, ImageFormat::Qcow2 | ImageFormat::Vmdk) {
            node.insert("backing".to_owned(), below.unwrap_or_default());
        }
        // Of makers that it does not know, QEMU takes cylinders, heads and sectors, which cut the end off (block/vpc.c).
        if format == ImageFormat::Vhd {
            node.insert("force_size_calc".to_owned(), json!("current_size"));
        }
    }
    Ok(node)
}

fn file_node(path: &Path) -> Result<Value, ImageError> {
    Ok(json!({ "driver": "file", "filename": utf8(path)? }))
}

/// A name as JSON can hold it.
///
/// # Errors
/// [`ImageError::Usage`] for one that is not UTF-8.
pub(super) fn utf8(path: &Path) -> Result<&str, ImageError> {
    path.to_str().ok_or_else(|| {
        ImageError::Usage(format!(
            "`{}`: its name is not UTF-8, so it cannot be passed to qemu-img safely; next: rename it",
            path.display()
        ))
    })
}

/// qemu-img, and what stops it.
pub(super) struct QemuImg<'a> {
    program: std::path::PathBuf,
    stop: &'a AtomicBool,
}

/// What `qemu-img info --output=json` tells, as far as it is used.
#[derive(Debug, Deserialize)]
pub(super) struct Info {
    #[serde(rename = "virtual-size")]
    pub(super) virtual_bytes: u64,
    #[serde(rename = "format-specific", default)]
    specific: Option<Specific>,
}

#[derive(Debug, Deserialize)]
struct Specific {
    #[serde(default)]
    data: Value,
}

impl Info {
    /// Of a `VMware` disk: `monolithicSparse`, `streamOptimized`.
    pub(super) fn create_type(&self) -> Option<String> {
        self.specific.as_ref()?.data.get("create-type")?.as_str().map(str::to_owned)
    }
}

#[derive(Debug, Deserialize)]
struct Measured {
    required: u64,
}

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    Sound,
    /// Sound but for room that is lost within it.
    Leaks,
    /// The format has no check.
    Unsupported,
}

impl<'a> QemuImg<'a> {
    /// Finds it.
    ///
    /// # Errors
    /// [`ImageError::Missing`] with the command that installs it.
    pub(super) fn find(stop: &'a AtomicBool) -> Result<Self, ImageError> {
        let program = locate::program("qemu-img").map_err(|error| ImageError::Missing(error.to_string()))?;
        Ok(Self { program, stop })
    }

    fn run(&self, arguments: &[OsString], told: &mut dyn FnMut(&str)) -> Result<Output, ImageError> {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        Ok(process::run_watched(command, self.stop, told)?)
    }

    fn run_well(&self, what: &str, arguments: &[OsString], nodes: &[&Node]) -> Result<String, ImageError> {
        let output = self.run(arguments, &mut |_| {})?;
        if output.success { Ok(output.stdout) } else { Err(complaint(what, &output, nodes)) }
    }

    pub(super) fn info(&self, node: &Node) -> Result<Info, ImageError> {
        let arguments = ["info".into(), "--output=json".into(), node.word()];
        let text = self.run_well("read", &arguments, &[node])?;
        serde_json::from_str(&text).map_err(|error| strange("info", &error))
    }

    pub(super) fn check(&self, node: &Node) -> Result<Checked, ImageError> {
        let output = self.run(&["check".into(), "-q".into(), node.word()], &mut |_| {})?;
        match output.code {
            Some(0) => Ok(Checked::Sound),
            Some(LEAKS) => Ok(Checked::Leaks),
            Some(NO_CHECK) => Ok(Checked::Unsupported),
            Some(CORRUPT) => Err(ImageError::Failed(format!(
                "`{}` is damaged according to qemu-img check: {}; next: download or create it again",
                node.path,
                said(&output, &[node])
            ))),
            _ => Err(complaint("check", &output, &[node])),
        }
    }

    /// Bytes that the content takes up in a sparse image. qemu-img reckons them for qcow2, of any source; the others
    /// take up about as much.
    pub(super) fn measure(&self, node: &Node) -> Result<u64, ImageError> {
        let arguments = ["measure".into(), "--output=json".into(), "-O".into(), "qcow2".into(), node.word()];
        let text = self.run_well("measure", &arguments, &[node])?;
        let measured: Measured = serde_json::from_str(&text).map_err(|error| strange("measure", &error))?;
        Ok(measured.required)
    }

    /// The first bytes of the disk within, into a file that is replaced.
    pub(super) fn copy_head(&self, node: &Node, mib: u64, target: &Path) -> Result<(), ImageError> {
        let named = |option: &str, value: &std::ffi::OsStr| {
            let mut word = OsString::from(option);
            word.push(value);
            word
        };
        let arguments = [
            "dd".into(),
            "-O".into(),
            "raw".into(),
            "bs=1048576".into(),
            format!("count={mib}").into(),
            named("if=", &node.word()),
            named("of=", target.as_os_str()),
        ];
        self.run_well("read", &arguments, &[node]).map(|_| ())
    }

    /// Turns a source into a target, an absolute path; `told` gets percents as they come.
    pub(super) fn convert(
        &self,
        source: &Node,
        target: &Path,
        format: ImageFormat,
        options: &[String],
        told: &mut dyn FnMut(f64),
    ) -> Result<(), ImageError> {
        let mut arguments: Vec<OsString> =
            vec!["convert".into(), "-p".into(), "-O".into(), format.driver().into()];
        if !options.is_empty() {
            arguments.extend(["-o".into(), options.join(",").into()]);
        }
        arguments.extend([source.word(), target.into()]);
        let output = self.run(&arguments, &mut |piece| {
            if let Some(percent) = percent(piece) {
                told(percent);
            }
        })?;
        if output.success { Ok(()) } else { Err(complaint("convert", &output, &[source])) }
    }

    /// Whether two hold the same bytes.
    pub(super) fn compare(&self, left: &Node, right: &Node) -> Result<(), ImageError> {
        let output = self.run(&["compare".into(), left.word(), right.word()], &mut |_| {})?;
        match output.code {
            Some(0) => Ok(()),
            Some(1) => Err(ImageError::Failed(format!(
                "the new image differs from `{}`: {}; the target was not created",
                left.path,
                output.stdout.trim()
            ))),
            _ => Err(complaint("compare", &output, &[left, right])),
        }
    }
}

/// The last of what `-p` printed: `    (12.34/100%)`.
fn percent(piece: &str) -> Option<f64> {
    let last = piece.rsplit('(').find_map(|part| part.split_once("/100%"))?;
    last.0.trim().parse().ok()
}

fn strange(command: &str, error: &serde_json::Error) -> ImageError {
    ImageError::Failed(format!("cannot parse the output of `qemu-img {command}`: {error}"))
}

fn complaint(action: &str, output: &Output, nodes: &[&Node]) -> ImageError {
    let said = said(output, nodes);
    let path = nodes.first().map(|node| node.path.as_str()).unwrap_or_default();
    // QEMU's own locks: block/file-posix.c.
    if said.contains("lock") && said.contains("Is another process using the image") {
        return ImageError::Refused(format!(
            "`{path}` is in use by a virtual machine or another qemu-img; next: stop that first"
        ));
    }
    let next = if said.contains("No space left on device") {
        "free space for the target"
    } else if action == "convert" {
        "check with `dmesg` whether a disk has failed"
    } else {
        "download or create it again if it was truncated or damaged"
    };
    ImageError::Failed(format!("qemu-img could not {action} `{path}`: {said}; next: {next}"))
}

/// What it printed on standard error, on one line, files by their names instead of as nodes.
fn said(output: &Output, nodes: &[&Node]) -> String {
    let mut text = output.stderr.clone();
    for node in nodes {
        text = text.replace(&node.text, &node.path);
    }
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("qemu-img: "))
        .filter(|line| !line.is_empty())
        .collect();
    let text: String = lines.join("; ").chars().take(COMPLAINT).collect();
    match (text.is_empty(), output.code) {
        (false, _) => text.trim_end_matches('.').to_owned(),
        (true, Some(code)) => format!("it ended with status {code}"),
        (true, None) => "it was killed by a signal".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_pieces() {
        assert_eq!(percent("    (1.00/100%)\r    (12.34/100%)\r"), Some(12.34));
        assert_eq!(percent("    (1.00/100%)\r    (12.3"), Some(1.0));
        assert_eq!(percent("noise"), None);
    }

    #[test]
    fn a_name_is_data_whatever_it_looks_like() {
        let name = "/x/nbd:host:1,driver=raw \"-O\".img";
        let json_of = |format| -> Value {
            let node = Node::of(Path::new(name), format).unwrap();
            serde_json::from_str(node.text.strip_prefix("json:").unwrap()).unwrap()
        };
        let json = json_of(ImageFormat::Qcow2);
        assert_eq!(json["file"]["filename"], name);
        assert_eq!(json["file"]["driver"], "file");
        assert!(json["backing"].is_null() && json.as_object().unwrap().contains_key("backing"));
        assert_eq!(json_of(ImageFormat::Vhd)["force_size_calc"], "current_size");
    }

    #[test]
    fn a_lock_is_a_refusal_and_complaints_name_the_file() {
        let node = Node::of(Path::new("/x/a.qcow2"), ImageFormat::Qcow2).unwrap();
        let output = |stderr: String| Output { success: false, code: Some(1), stdout: String::new(), stderr };
        let locked = format!(
            "qemu-img: Could not open '{}': Failed to get shared \"write\" lock\nIs another process using the image \
             [/x/a.qcow2]?\n",
            node.text
        );
        assert!(matches!(complaint("read", &output(locked), &[&node]), ImageError::Refused(_)));
        let broken = format!("qemu-img: Could not open '{}': Image is corrupt\n", node.text);
        assert_eq!(
            complaint("read", &output(broken), &[&node]).to_string(),
            "qemu-img could not read `/x/a.qcow2`: Could not open '/x/a.qcow2': Image is corrupt; next: download or create it \
             again if it was truncated or damaged"
        );
        let full = output("qemu-img: error while writing at byte 0: No space left on device\n".to_owned());
        assert!(
            complaint("convert", &full, &[&node]).to_string().ends_with("; next: free space for the target")
        );
    }
}
