"""Correct what is stored: entities of stories, nodes, and kinds of pages; every correction can be undone."""
