"""The servers of one memory: which of them does a job, and what the others did."""
