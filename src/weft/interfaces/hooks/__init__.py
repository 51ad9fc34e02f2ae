"""Hooks for Claude Code: one process for each event, which answers within its deadline or prints nothing.

`entry` runs the process, `events` reads what the client sends, `commands` recognises tests and builds, `outcomes`
judges them, and `answers` writes the text that the model reads.
"""
