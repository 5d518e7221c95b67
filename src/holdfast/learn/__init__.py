"""What is drawn from many records: digests, recurring facts and procedures, reflections, profiles."""
