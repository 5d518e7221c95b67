"""The half that is looked at only for the figures."""
