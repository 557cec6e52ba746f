//! A directory on a filesystem that is already there: the workload gets a new one of its own within it.

use std::path::{Path, PathBuf};

use iostone_model::experiment::DirectoryVolume;
use iostone_model::trial::Check;

use crate::below::describe_filesystem;
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;
use crate::step::Scope;

/// The layer of a `directory` volume.
#[derive(Debug)]
pub(crate) struct DirectoryLayer {
    parent: Option<PathBuf>,
    made: Option<PathBuf>,
}

impl DirectoryLayer {
    pub(crate) fn new(volume: &DirectoryVolume) -> Self {
        Self { parent: volume.path.clone(), made: None }
    }
}

impl Layer for DirectoryLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let parent = self.parent.clone().unwrap_or_else(|| site.work_directory.clone());
        let own = site.own_directory(&parent)?;
        // A new one for every trial, so that no trial sees what its predecessor left.
        let directory = own.join("data");
        site.make_directory(&directory, Scope::Trial, true)?;
        site.notes.push(format!("directory on {}", describe_filesystem(&directory)?));
        site.stands_on = Some(directory.clone());
        site.directory = Some(directory.clone());
        self.made = Some(directory);
        Ok(())
    }

    fn verify(&self, _site: &Site) -> Result<Vec<Check>, StackError> {
        let made = self.made.as_deref().unwrap_or(Path::new(""));
        let there = std::fs::symlink_metadata(made).is_ok_and(|metadata| metadata.is_dir());
        if !there {
            return Err(StackError::NotApplied {
                layer: "volume",
                asked: format!("directory {}", made.display()),
                read_back: "no directory there".to_owned(),
                from: "lstat".to_owned(),
            });
        }
        Ok(vec![Check {
            layer: "volume".to_owned(),
            asked: "a new directory".to_owned(),
            read_back: made.display().to_string(),
            from: "lstat".to_owned(),
        }])
    }
}
