//! What people and programs see of the binary, wherever no root is needed.

mod support;
mod wrong_files;
