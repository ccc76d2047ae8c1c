"""What cards with fewer and more questions than the one that was learnt would keep."""

from __future__ import annotations

from dataclasses import dataclass

from netbenefit.cards import share_text
from netbenefit.common import InputError, Remedy, Table, Tabular
from netbenefit.estimators.training import Learned
from netbenefit.problem import MaxQuestions, Problem
from netbenefit.solvers import best_of_every_size, limit_size

#: The most questions of a card where nothing else is asked for: a person can add these up.
ADDABLE = 8
#: Numbers of questions that are worth a look; of these two below the card's own, and one above.
_LADDER = (1, 2, 3, 5, 8, 12, 18, 25)
#: Seconds that looking for these cards may take.
_QUICK = 2.0


@dataclass(frozen=True, repr=False)
class OtherSizes(Tabular):
    """What cards of other sizes keep of the net benefit, in training; prints as lines.

    Attributes
    ----------
    own : int
        Questions of the card that was learnt.
    kept : dict of int to float
        By the number of questions: the share that the best card with at most so many keeps of the
        teacher's net benefit; without a teacher, of that of the card that was learnt.
    own_share : float
        What the card itself keeps.
    taught : bool
    limit : Remedy
        How to get one of these cards.
    """

    own: int
    kept: dict[int, float]
    own_share: float
    taught: bool
    limit: Remedy

    def to_table(self) -> Table:
        """One row per size, the card's own included."""
        shares = sorted({**self.kept, self.own: self.own_share}.items())
        return Table({"questions": [k for k, _ in shares], "kept": [share for _, share in shares]})

    def lines(self, *, options: bool = False) -> str:
        """The lines; with ``options`` in the words of the command line.  Empty if there is none."""
        if not self.kept:
            return ""
        whole = "the teacher's net benefit" if self.taught else "this card's net benefit"
        sizes = [
            *((size, f"at most {size} question{'s' * (size != 1)}") for size in self.kept),
            (self.own, f"this card's {self.own}"),
        ]
        shares = {**self.kept, self.own: self.own_share}
        shown = [(text, share_text(shares[size])) for size, text in sorted(sizes)]
        width = max(len(text) for text, _ in shown)
        how = self.limit.options if options else self.limit.python
        path = "`sizes`" if options else "size_path"
        return "\n".join(
            [
                f"of {whole}, cards keep in training:",
                *(f"  {text:<{width}}  {share}" for text, share in shown),
                f"  (to get one, fit with {how}; {path} shows what they keep on rows not seen)",
            ]
        )

    def __str__(self) -> str:
        return self.lines()


def other_sizes(learned: Learned, limit: Remedy, *, n_jobs: int = 1) -> OtherSizes:
    """Look for cards with fewer and more questions.

    A limit on questions is not in force here: more may be worth it.  The search goes on from the
    card that was learnt, and is short: more time may find a little more.
    """
    problem = learned.problem.without_constraints(MaxQuestions)
    result, taught = learned.result, learned.taught
    whole = result.net_benefit if taught is None else taught.blended_benefit
    own = result.questions
    usable = problem.questions.used((problem.lower != 0) | (problem.upper != 0))
    most = min(usable, problem.max_features)
    nearest = [k for k in _LADDER if k < own][-2:]
    nearest += [min(k, most) for k in _LADDER if own < min(k, most)][:1]
    sizes = [size for size in nearest if is_possible(problem, size)]
    if whole <= 0 or not sizes:
        return OtherSizes(own, {}, 1.0, taught is not None, limit)
    found = best_of_every_size(
        problem, sizes, time_limit=_QUICK, n_jobs=n_jobs, start=result.points, max_rounds=1
    )
    kept = {
        size: card.net_benefit / whole
        for size, card in found.items()
        if size < own or card.questions > own  # more questions that pay nothing are none
    }
    return OtherSizes(own, kept, result.net_benefit / whole, taught is not None, limit)


def is_possible(problem: Problem, size: int) -> bool:
    """Whether the constraints allow a card with at most so many questions."""
    try:
        limit_size(problem, size)
    except InputError:
        return False
    return True
