"""Remote storage of named bytes, behind `ports.Vault`."""
