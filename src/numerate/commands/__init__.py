"""What the command line does, one file for each command; `numerate.cli` only wires them up."""
