"""`python -m weft` is `weft`."""

from weft.faces.cli import main

if __name__ == "__main__":
    main()
