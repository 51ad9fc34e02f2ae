"""Hooks for Claude Code: a process for every event, which answers within its deadline or says nothing."""
