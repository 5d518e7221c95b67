"""What is kept at addresses that follow from its source: items of applications, lines of rule files."""
