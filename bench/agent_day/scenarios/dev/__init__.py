"""The half that Holdfast is built on."""
