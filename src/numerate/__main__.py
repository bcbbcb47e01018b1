"""`python -m numerate`, and so `accelerate launch -m numerate train ...`."""

from __future__ import annotations

from numerate.cli import main

if __name__ == "__main__":
    main()
