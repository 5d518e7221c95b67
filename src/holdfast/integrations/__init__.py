"""Adapters for agent frameworks: each module puts the Python client behind the memory interface of one of them.

A framework is an extra of the package and is imported by its own module alone, so nothing is loaded unless asked for.
"""
