"""What clients of other memories call, as they call it: Anthropic's memory tool, the MCP memory server's graph."""
