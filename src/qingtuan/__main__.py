"""`python -m qingtuan`."""

from __future__ import annotations

import sys

from qingtuan.cli import main

if __name__ == "__main__":
    sys.exit(main())
