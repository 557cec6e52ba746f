//! What is wrong with a job file, each with the line it is about.

use crate::place::Place;

/// One thing wrong with a job file or command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub reason: Reason,
}

impl Problem {
    /// A problem at a place.
    pub fn new(place: &Place, reason: Reason) -> Self {
        Self { place: place.clone(), reason }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A job file or an included file that cannot be opened or read.
    #[error("`{path}` cannot be read: {why}")]
    CannotRead {
        /// The path as it was written.
        path: String,
        /// What the system said.
        why: String,
    },
    /// A line that is no text.
    #[error("this line is not text: {why}")]
    NotText {
        /// Which bytes are in the way.
        why: String,
    },
    /// More than any job file needs.
    #[error("this job file is too large: {why}")]
    TooLarge {
        /// Which limit was passed.
        why: String,
    },
    /// An option before the first section.
    #[error("`{text}` stands before the first section; write `[global]` or `[a job's name]` above it")]
    OutsideSection {
        /// The line.
        text: String,
    },
    /// A section's line that is not `[name]`.
    #[error("`{text}` is no section: {why}")]
    BadSection {
        /// The line.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// An `include` that cannot be followed.
    #[error("`include` is refused: {why}")]
    BadInclude {
        /// What is wrong.
        why: String,
    },
    /// A word that is no option of fio.
    #[error("`{name}` is not an option of fio{}", nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?")))]
    UnknownOption {
        /// The word.
        name: String,
        /// The option nearest to it.
        nearest: Option<&'static str>,
    },
    /// A value that its option does not take.
    #[error("{} is refused: {why}", written(name, value.as_deref()))]
    BadValue {
        /// The option as it was written.
        name: String,
        /// Its value after expansion; none where nothing followed the name.
        value: Option<String>,
        /// What is wrong and what would be right.
        why: String,
    },
    /// An option of fio that iostone does not honour.
    #[error("{} is not honoured: {why}", written(name, value.as_deref()))]
    NotHonoured {
        /// The option as it was written.
        name: String,
        /// Its value after expansion.
        value: Option<String>,
        /// Why not, and what to use.
        why: String,
    },
    /// An option that belongs to other engines than the one chosen; fio calls it unknown.
    #[error("`{name}` belongs to {owners}, and the engine here is `{engine}`")]
    OtherEngine {
        /// The option as it was written.
        name: String,
        /// The engines that know it.
        owners: String,
        /// The engine in effect at the end of the section.
        engine: String,
    },
    /// Options that cannot hold together.
    #[error("{why}")]
    Contradiction {
        /// Which, and what would be right.
        why: String,
    },
}

/// `name=value` in backquotes, cut where it is long.
fn written(name: &str, value: Option<&str>) -> String {
    const LONGEST: usize = 80;
    match value {
        None => format!("`{name}`"),
        Some(value) if value.chars().count() > LONGEST => {
            format!("`{name}={}...`", value.chars().take(LONGEST).collect::<String>())
        }
        Some(value) => format!("`{name}={value}`"),
    }
}
