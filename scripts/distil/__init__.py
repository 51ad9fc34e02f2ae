"""The steps that make the static embedding model; run by distil_embedding.py."""
