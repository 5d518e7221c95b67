"""Durable truth behind one port."""
