"""Named bytes elsewhere, behind `ports.Vault`."""
