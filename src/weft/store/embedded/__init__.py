"""The embedded search index: tantivy and vector files in a folder beside the store."""
