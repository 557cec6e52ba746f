//! A session's directory for a file that is to lie among the user's own only once it is whole.

use std::path::{Path, PathBuf};

use crate::error::StackError;
use crate::session::Session;

impl Session {
    /// Makes a directory of mode 0700 within another, hidden by the dot that its name begins with. It goes with the session;
    /// what a crash leaves of it, with the next cleanup.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be made, [`StackError::Unexpected`] after the end of the session.
    pub fn private_directory(&mut self, parent: &Path) -> Result<PathBuf, StackError> {
        self.site_mut()?.hidden_directory(parent)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::{Registry, Session, SessionOptions};

    #[test]
    fn a_private_directory_is_written_down_and_goes_with_its_session() {
        let place = tempfile::tempdir().unwrap();
        let registry = Registry::at(&place.path().join("state")).unwrap();
        let options = SessionOptions {
            run_token: "image".to_owned(),
            work_directory: place.path().to_owned(),
            ..SessionOptions::default()
        };
        let mut session = Session::begin(&registry, options).unwrap();
        let directory = session.private_directory(place.path()).unwrap();
        assert!(directory.file_name().unwrap().to_str().unwrap().starts_with(".iostone-image-"));
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        let journal = fs::read_dir(registry.directory()).unwrap().next().unwrap().unwrap().path();
        let name = directory.to_str().unwrap();
        assert!(fs::read_to_string(journal).unwrap().contains(name), "{name}");
        fs::write(directory.join("half"), "x").unwrap();
        fs::write(place.path().join("beside"), "x").unwrap();
        session.finish().unwrap();
        assert!(!directory.exists() && place.path().join("beside").exists());
    }
}
