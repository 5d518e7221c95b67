"""A data folder whose tenants are moved: all of a tenant in a file, and many tenants in one."""
