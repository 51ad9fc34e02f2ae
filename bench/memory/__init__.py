"""Does the memory stay true? One command for each measure; the figures are in docs/learning.md."""
