"""Quotas of tenants: what is counted, and which writes are refused."""
