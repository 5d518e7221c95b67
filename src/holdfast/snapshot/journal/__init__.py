"""The journal of a memory in its vault: every committed write, in sealed pieces that follow one another."""
