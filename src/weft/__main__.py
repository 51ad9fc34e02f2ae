"""`python -m weft` is `weft`."""

from weft.interfaces.cli import main

if __name__ == "__main__":
    main()
