"""What `recall/rank.py` weighs with: what stands beside a record, and the numbers that were fitted."""
