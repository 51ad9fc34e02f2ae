"""`python -m bench`: measure and print."""

from bench.run import main

main()
