"""`make docs`: write the generated pages of `docs/reference`."""

from __future__ import annotations

import sys

from scripts.reference.pages import FOLDER, pages
from scripts.reference.text import NoWords


def main() -> int:
    try:
        written = pages()
    except NoWords as missing:
        print(missing, file=sys.stderr)
        return 1
    for name, text in written.items():
        (FOLDER / name).write_text(text, "utf-8")
        print(f"docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
