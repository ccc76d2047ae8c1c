"""Models that give every training row a risk, by which a card is taught."""

from netbenefit.teachers.crossfit import Teaching, teach

__all__ = ["TEACHERS", "Teaching", "teach"]

#: Teachers that are known by name.
TEACHERS = ("auto", "logistic", "boosting")
