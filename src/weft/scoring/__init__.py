"""Arithmetic of ranking without I/O: BM25, vectors, centrality and near-duplicate sketches."""
