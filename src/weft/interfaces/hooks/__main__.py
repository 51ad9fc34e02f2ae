"""`python -m weft.interfaces.hooks`: the same as the program `weft-hook`, for where that is not installed."""

from weft.interfaces.hooks.entry import main

main()
