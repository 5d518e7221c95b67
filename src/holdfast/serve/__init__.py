"""The edge: HTTP, MCP and live connections in front of the operations."""
