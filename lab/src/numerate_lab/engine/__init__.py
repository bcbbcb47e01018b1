"""One experiment engine: trials, grids, results and pages."""
