"""The knowledge service's answer: entry points, context and entities as lists."""
