"""Statements: sentences worth keeping, and which newer one replaces which older one."""
