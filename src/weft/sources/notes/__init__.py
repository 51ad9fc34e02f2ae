"""Folders of Markdown notes."""
