//! The catalogue of cloud instances: what an hour of them costs, with source and date of each figure.
