"""Days in which most facts change, in other styles than those of dev: to fit on, beside dev."""
