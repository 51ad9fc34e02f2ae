"""Tana workspaces, from an export file or from the running desktop program."""
