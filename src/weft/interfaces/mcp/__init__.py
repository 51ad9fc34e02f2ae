"""The MCP server: `weft context`, `search` and `show` as tools, resources and prompts."""
