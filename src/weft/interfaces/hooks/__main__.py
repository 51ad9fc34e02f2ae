"""`python -m weft.interfaces.hooks`, where the program `weft-hook` is not installed."""

from weft.interfaces.hooks.entry import main

main()
