"""Weft weaves what is known into what a model reads."""
