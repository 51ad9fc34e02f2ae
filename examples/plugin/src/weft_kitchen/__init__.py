"""A tiny third-party package that adds a format, a source, an embedder and a tokenizer to Weft."""
