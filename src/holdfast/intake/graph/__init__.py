"""A knowledge graph as the MCP memory server has it: entities, observations and relations, a memory each."""
