"""What hooks need on this machine: the project of a folder, the spool and the launcher. Standard library only."""
