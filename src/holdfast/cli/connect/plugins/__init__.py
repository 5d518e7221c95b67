"""Files that agents load as plugins, extensions or memory providers; each starts `holdfast hook` and nothing else."""
