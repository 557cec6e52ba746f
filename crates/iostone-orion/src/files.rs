//! ORION's output files: summary, tables, trace, histograms, under its names and in the layouts of 11.1 and of 12.
