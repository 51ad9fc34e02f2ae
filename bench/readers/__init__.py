"""Blind readers: make packs of questions with pages of two kinds, and grade what readers answered from them."""
