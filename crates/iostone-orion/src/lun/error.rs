//! What can be wrong with a `.lun` file and with what it names; each mistake has a message of its own.

use std::io;

use iostone_model::figures::{self, quoted};
use iostone_model::orion::{LunKind, shortened};
use iostone_model::units::Bytes;

/// What is wrong with a `.lun` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LunError {
    /// There is none.
    #[error(
        "there is no `{file}`, which `-testname {name}` looks for; write one file or block device a line into it, as in \
         `echo /path/to/file > {file}`", name = shortened(.name), file = shortened(.file))]
    Missing {
        /// The file looked for.
        file: String,
        /// The name of the test.
        name: String,
    },
    /// The name was given with the ending that is added to it.
    #[error("there is no `{file}`: `-testname` takes the name without `.lun`; say `-testname {name}`", name = shortened(.name), file = shortened(.file))]
    EndingTwice {
        /// The file looked for.
        file: String,
        /// The name that was probably meant.
        name: String,
    },
    /// It is a directory.
    #[error(
        "`{file}` is a directory; ORION takes a text file there that names one file or block device a line", file = shortened(.file))]
    IsDirectory {
        /// The directory.
        file: String,
    },
    /// It could not be read.
    #[error("cannot read `{file}`: {reason}", file = shortened(.file))]
    Unreadable {
        /// The file.
        file: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// Longer than any list of names.
    #[error(
        "`{file}` is longer than 1 MiB, which no list of names is; it has to name the files under test, not to be one \
         of them", file = shortened(.file))]
    NoList {
        /// The file.
        file: String,
    },
    /// Not in UTF-8.
    #[error(
        "`{file}` line {line} is not text in UTF-8{}; save it as plain text, one file or block device a line",
        if *.wide { " but in UTF-16, as Windows editors write it" } else { "" }, file = shortened(.file))]
    NotText {
        /// The file.
        file: String,
        /// The first such line, from 1.
        line: u64,
        /// Whether it begins with the mark of UTF-16.
        wide: bool,
    },
    /// Nothing in it.
    #[error("`{file}` names nothing; write one file or block device a line into it", file = shortened(.file))]
    Empty {
        /// The file.
        file: String,
    },
    /// A line of it is wrong, or what it names.
    #[error("`{file}` line {line}: {fault}", file = shortened(.file))]
    Entry {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        fault: EntryFault,
    },
    /// A LUN is smaller than an I/O.
    #[error(
        "`{}` has {}, less than one I/O of {} (`{option}`); take a larger file or device, or make a file with `--create \
         1GiB` after removing this one, or lower `{option}`", shortened(.name), .size.in_words(), .largest_io.in_words())]
    Small {
        /// The LUN.
        name: String,
        /// Its size.
        size: Bytes,
        /// The largest I/O of the test.
        largest_io: Bytes,
        /// ORION's option that sets it.
        option: &'static str,
    },
}

impl LunError {
    pub(super) fn entry(file: &str, line: u64, fault: EntryFault) -> Self {
        Self::Entry { file: file.to_owned(), line, fault }
    }
}

/// What is wrong with a line, or with what it names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// It begins with `#`.
    #[error("`{name}` is a comment, which ORION does not allow in a `.lun` file; remove the line", name = shortened(.name))]
    Comment {
        /// The line.
        name: String,
    },
    /// It ends in a comment.
    #[error("`{}` ends in a comment, which ORION does not allow in a `.lun` file; write `{}` alone", shortened(.name), shortened(.meant))]
    TrailingComment {
        /// The line.
        name: String,
        /// What stands before it.
        meant: String,
    },
    /// Several names on a line.
    #[error("there is no `{}`, in which a {sign} stands; write each name on a line of its own", shortened(.name))]
    SeveralNames {
        /// The line.
        name: String,
        /// What stands between them: `comma`, `semicolon`.
        sign: &'static str,
    },
    /// Quotes around a name that does not exist without them either.
    #[error("there is no `{}`, and quotes would be part of the name; write `{}`", shortened(.name), shortened(.bare))]
    Quotes {
        /// The line.
        name: String,
        /// Without them.
        bare: String,
    },
    /// Longer than any path.
    #[error("`{}` has {bytes} bytes, longer than Linux allows (4095, and 255 between slashes); correct the line", shortened(.name))]
    TooLong {
        /// The line.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// A character in it that no list of names holds.
    #[error(
        "{what} stands within the name `{name}`; write the name anew, and end the line with a newline alone", name = shortened(.name))]
    ControlCharacter {
        /// The name, with the character escaped.
        name: String,
        /// What the character is, with its article.
        what: &'static str,
    },
    /// A path of Windows.
    #[error("`{name}` is a path of Windows; name a block device as Linux does, as in `/dev/sdb`, or a file", name = shortened(.name))]
    WindowsPath {
        /// The name.
        name: String,
    },
    /// Nothing of that name.
    #[error(
        "there is no `{name}`; ORION takes files that exist and are filled: `iostone orion ... --create 1GiB` makes \
         those that are missing", name = shortened(.name))]
    Missing {
        /// The name.
        name: String,
    },
    /// Neither it nor the directory that it would lie in.
    #[error("there is no `{name}`, nor the directory `{directory}`; make the directory, or correct the name", name = shortened(.name), directory = shortened(.directory))]
    NoDirectory {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
    },
    /// A device that there is not.
    #[error("there is no device `{name}`; `lsblk --paths` lists those that there are", name = shortened(.name))]
    NoDevice {
        /// The name.
        name: String,
    },
    /// A symbolic link to what does not exist.
    #[error(
        "`{name}` is a symbolic link to `{target}`, which does not exist; make that file, or correct the link", name = shortened(.name), target = shortened(.target))]
    DanglingLink {
        /// The name.
        name: String,
        /// Where it points to.
        target: String,
    },
    /// Names that stand behind each other without a newline.
    #[error("{} stand on one line: a newline is missing between them, before `{}`", list(.names), last(.names))]
    Joined {
        /// Each of the names.
        names: Vec<String>,
    },
    /// Something around the name that does not belong to it.
    #[error("there is no `{name}`, but there is `{meant}`; write it without the {around} around it", name = shortened(.name), meant = shortened(.meant))]
    Decorated {
        /// As it was written.
        name: String,
        /// Without it.
        meant: String,
        /// What is around it: `blanks`, `quotes`.
        around: &'static str,
    },
    /// Blanks around a name that does not exist without them either.
    #[error("there is no `{name}`, which has blanks at its end or beginning, nor `{bare}`; correct the line", name = shortened(.name), bare = shortened(.bare))]
    Blanks {
        /// As it was written.
        name: String,
        /// Without them.
        bare: String,
    },
    /// What only a shell understands.
    #[error("there is no `{name}`: no shell expands `{sign}` in a `.lun` file; write the path in full", name = shortened(.name))]
    ShellSign {
        /// The name.
        name: String,
        /// `~`, `$` or `*`.
        sign: char,
    },
    /// A directory.
    #[error(
        "`{name}` is a directory; ORION takes files and block devices, not directories: name a file in it", name = shortened(.name))]
    Directory {
        /// The name.
        name: String,
    },
    /// A character device.
    #[error(
        "`{name}` is a character device; raw devices are gone from Linux, whose direct I/O takes the block device: name \
         that, as in `/dev/sdb`", name = shortened(.name))]
    CharacterDevice {
        /// The name.
        name: String,
    },
    /// A pipe or socket.
    #[error("`{name}` is a {what}; name a regular file or a block device", name = shortened(.name))]
    Other {
        /// The name.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// It cannot be read.
    #[error(
        "cannot open `{name}` to read: {reason}{}",
        if .reason.kind() == io::ErrorKind::PermissionDenied { "; run as a user who may, or as root" } else { "" }, name = shortened(.name))]
    Unreadable {
        /// The name.
        name: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// Nothing in it.
    #[error("`{name}` is empty (0 bytes); {}", match .kind {
        LunKind::File => "remove it, and let `iostone orion ... --create 1GiB` make it anew, filled",
        LunKind::Device => "put a medium into the device, or name another",
    }, name = shortened(.name))]
    Empty {
        /// The name.
        name: String,
        /// A file or a device.
        kind: LunKind,
    },
    /// The same LUN as on a line before.
    #[error("`{name}` is the same as `{first}` of line {line}; name each file or device once", name = shortened(.name), first = shortened(.first))]
    Twice {
        /// The name.
        name: String,
        /// How it was called before.
        first: String,
        /// Where.
        line: u64,
    },
}

fn list(names: &[String]) -> String {
    figures::list(&quoted(names.iter().map(|name| shortened(name))))
}

fn last(names: &[String]) -> &str {
    names.get(1).map_or("", String::as_str)
}
