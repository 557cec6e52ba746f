//! Plans and pilots, conducted on machines that are made up.

mod machines;
mod pilots;
