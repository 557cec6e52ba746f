//! ORION's test: its points, its record, its files.

mod conduct;
mod files;
mod lun;
mod written;
