"""The knowledge service: one store over HTTP, for many tenants."""
