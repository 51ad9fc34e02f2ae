"""Configuration and build files: settings, packages, CI workflows, containers, makefiles and schemas."""

from weft.sources.configuration.format import Configuration

__all__ = ["Configuration"]
