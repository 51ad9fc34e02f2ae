"""The MCP server: what `weft context`, `search` and `show` answer, as tools, resources and prompts."""
