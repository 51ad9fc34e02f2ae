"""`python -m weft.faces.hooks`, where the program `weft-hook` is not installed."""

from weft.faces.hooks.entry import main

main()
