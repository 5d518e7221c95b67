"""How agents share work: what may be done next, who does it, what it waits for, what they tell each other."""
