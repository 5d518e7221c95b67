"""Working days of coding agents, played through the commands that `holdfast connect` wrote, and what is known next morning."""
