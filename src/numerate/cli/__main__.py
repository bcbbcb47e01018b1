"""`python -m numerate.cli`."""

from numerate.cli import main

main()
