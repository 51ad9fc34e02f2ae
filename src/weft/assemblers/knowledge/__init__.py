"""Answer the knowledge service's requests: entry points, the context around them and entities, as lists."""
