//! README.md and docs are true: their examples run, and what they name exists. CONTRIBUTING.md gives the rules.

mod compare;
mod examples;
mod names;
mod pages;
mod tables;
