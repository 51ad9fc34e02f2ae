"""Conversations between people and assistants."""
