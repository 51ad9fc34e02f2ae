"""Hooks of coding agents: one process for each event, which answers within its deadline or prints nothing.

`entry` runs the process, `events` reads what the client sends, `local_socket` asks a server that runs already and
`service` is its side of that; `commands` recognises tests and builds, `outcomes` judges them, and `answers` writes
the text that the model reads.
"""
