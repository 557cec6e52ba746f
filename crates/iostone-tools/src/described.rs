//! A described dataset: a TOML file that says what the columns of its tables mean, and what bounds the figures.
