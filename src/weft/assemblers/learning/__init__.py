"""Assemble context and premortems from what a coding agent has learned."""
