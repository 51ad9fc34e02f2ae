"""Weft beside LanceDB and bare tantivy, on the same records and questions, in one run."""
