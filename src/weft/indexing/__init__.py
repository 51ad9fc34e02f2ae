"""Bring sources into the store: read, prepare, write, link; and copy, embed again and view what is stored."""
