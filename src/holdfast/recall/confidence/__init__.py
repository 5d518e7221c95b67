"""How sure it is that a hit answers the question, and that the memory answers it at all."""

from holdfast.recall.confidence.calibration import Calibration, calibration_of
from holdfast.recall.confidence.signs import ANSWERABLE, Confidence, HitSigns, QuestionSigns, confidences, signs_of

__all__ = [
    "ANSWERABLE",
    "Calibration",
    "Confidence",
    "HitSigns",
    "QuestionSigns",
    "calibration_of",
    "confidences",
    "signs_of",
]
