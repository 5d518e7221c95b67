"""Working days of coding agents, played through the commands that `holdfast connect` wrote."""
