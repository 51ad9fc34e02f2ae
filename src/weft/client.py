"""The public door of the client for a running service: `from weft.client import WeftClient`."""

from weft.interfaces.client import AsyncWeftClient, ServiceError, WeftClient

__all__ = ["AsyncWeftClient", "ServiceError", "WeftClient"]
