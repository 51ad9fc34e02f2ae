"""Write every page of docs/reference/ and docs/request.md."""

from pathlib import Path

from scripts import request_reference
from scripts.reference.pages import PAGES

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Write the pages that differ from what the code says, and name them."""
    written = {DOCS / "reference" / name: make for name, make in PAGES.items()}
    written[request_reference.PAGE] = request_reference.reference
    for path, make in written.items():
        text = make()
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
