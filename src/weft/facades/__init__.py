"""The documented Python entry points of each design, thin over the one engine."""
