"""Fuzzers for every parser we wrote and every format we print; `python -m fuzz` runs them for as long as asked."""
