"""A card beside the model that taught it, and what is lost between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, Table, check_risks, check_weights
from netbenefit.metrics import ThresholdsLike, as_thresholds, decision_curve
from netbenefit.plots.base import (
    GREY,
    ORANGE,
    Display,
    check_columns,
    own_thresholds,
    predict,
    tidy,
)
from netbenefit.plots.decision_curve import DecisionCurveDisplay, curve_grid

TEACHER, CARD = "teacher", "card"
_COLUMNS = ("model", "threshold", "net_benefit")


class TeacherDisplay(Display):
    """Decision curves of a card and its teacher, and below them what the card loses.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`, or from a table of
    :func:`netbenefit.decision_curve` with the models "teacher" and "card".

    Parameters
    ----------
    curve : Table
        As :func:`netbenefit.decision_curve` makes it.
    thresholds : Thresholds, str or sequence of float, optional
        Those that matter: their range is shaded, and :meth:`to_table` has a row for each.

    Attributes
    ----------
    curves_ : DecisionCurveDisplay
        The curves of teacher, card, treating all and treating none, as drawn.
    lost_ax_ : matplotlib axes
        Below ``ax_`` (given axes need room there, half their height): net benefit of the teacher
        minus that of the card.
    lost_ : matplotlib line
        What is drawn there.

    Examples
    --------
    >>> display = TeacherDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9],
    ...     [0.1, 0.5, 0.5, 0.9], [0.2, 0.5])
    >>> display.to_table()
    threshold  teacher    card  lost  share_kept
          0.2   0.4375  0.4375  0.00         1.0
          0.5   0.5000  0.2500  0.25         0.5
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 5.8)
    _panels: tuple[Any, Any] = (None, None)

    def __init__(
        self, curve: Mapping[str, NDArray[Any]], thresholds: ThresholdsLike = None
    ) -> None:
        self.curve = check_columns("curve", curve, _COLUMNS, "Pass the table of decision_curve(…).")
        models = set(self.curve["model"].tolist())
        absent = [name for name in (TEACHER, CARD) if name not in models]
        if absent:
            raise InputError(
                f"curve has no model {absent[0]!r}. Pass decision_curve(y, "
                "{'teacher': …, 'card': …})."
            )
        self.thresholds = None if thresholds is None else as_thresholds(thresholds)
        if self.thresholds is not None:
            missing = np.setdiff1d(self.thresholds.given, self.curve["threshold"])
            if missing.size:
                raise InputError(
                    f"curve has no row for the threshold {float(missing[0])!r}. Compute it at all "
                    "thresholds that matter."
                )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        teacher_risks: ArrayLike,
        card_risks: ArrayLike,
        thresholds: ThresholdsLike = None,
        *,
        sample_weight: ArrayLike | None = None,
        grid: ThresholdsLike = None,
        ax: Any = None,
    ) -> Self:
        """Compute both decision curves and draw them.

        Parameters
        ----------
        y_true : (n_rows,) array of 0 and 1
        teacher_risks, card_risks : (n_rows,) array
            Of the same rows.  Neither model should have seen the outcome of a row to which it gives
            a risk; the teacher's risks of training rows have to be out of fold.
        thresholds : Thresholds, str or sequence of float, optional
            Those that matter.
        sample_weight : (n_rows,) array, optional
        grid : Thresholds, str or sequence of float, optional
            Where the curves are computed; by default at 0%, 1%, …, 99% and at ``thresholds``.
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        marked = None if thresholds is None else as_thresholds(thresholds)
        n_rows = np.size(y_true)
        risks = {
            TEACHER: check_risks(teacher_risks, n_rows, name="teacher_risks"),
            CARD: check_risks(card_risks, n_rows, name="card_risks"),
        }
        where = curve_grid(grid, marked, risks)
        curve = decision_curve(y_true, risks, where, sample_weight=sample_weight)
        return cls(curve, marked).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        teacher_risks: ArrayLike | None = None,
        *,
        thresholds: ThresholdsLike = None,
        grid: ThresholdsLike = None,
        ax: Any = None,
    ) -> Self:
        """Compare a fitted card with its teacher.

        Parameters
        ----------
        model : RiskScoreClassifier, or Scorecard
            Fitted.
        X, y
            Rows, and their labels (0 and 1 for a Scorecard).
        sample_weight : (n_rows,) array, optional
            On training rows, the weights of training.
        teacher_risks : (n_rows,) array, optional
            The teacher's risks of these rows, such as ``teacher.predict_proba(X)[:, 1]`` of a
            classifier that was fitted to the training rows.  By default they are the out-of-fold
            risks ``model.teaching_.risks``; then X has to hold the rows that ``fit`` was given, in
            the same order.  (The card has seen the outcomes of these rows, its teacher has not,
            which flatters the card.)
        thresholds : Thresholds, str or sequence of float, optional
            Those that matter; by default those of the model.
        grid, ax
            As in :meth:`from_predictions`.
        """
        models = {CARD: model}
        marked = own_thresholds(models, thresholds)
        outcome, risks = predict(models, X, y)
        if teacher_risks is None:
            teacher_risks = _training_risks(model, outcome, sample_weight)
        return cls.from_predictions(
            outcome,
            teacher_risks,
            risks[CARD],
            marked,
            sample_weight=sample_weight,
            grid=grid,
            ax=ax,
        )

    def to_table(self) -> Table:
        """Return what is lost, one row per threshold that matters (of the curve, if none does).

        Columns are ``threshold``; ``teacher`` and ``card``, their net benefit; ``lost``, the
        difference; ``share_kept``, the ratio, which is NaN where the teacher is worth nothing.
        """
        p, teacher, card = self._both()
        if self.thresholds is not None:
            rows = np.isin(p, self.thresholds.given)
            p, teacher, card = p[rows], teacher[rows], card[rows]
        share = np.divide(card, teacher, out=np.full(card.shape, np.nan), where=teacher > 0)
        return Table(
            {
                "threshold": p,
                "teacher": teacher,
                "card": card,
                "lost": teacher - card,
                "share_kept": share,
            }
        )

    def _draw(self, ax: Any) -> None:
        self.curves_ = DecisionCurveDisplay(self.curve, self.thresholds).plot(ax=ax)
        upper, lower = self._panels
        self.lost_ax_ = lower if ax is upper else ax.inset_axes([0.0, -0.5, 1.0, 0.42], sharex=ax)
        self._draw_lost(self.lost_ax_)
        self.lost_ax_.set_xlabel(ax.get_xlabel())
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)

    def _fill(self, figure: Any) -> Any:
        figure.set_layout_engine("constrained")
        self._panels = tuple(figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1.0]))
        return self._panels[0]

    def _both(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Thresholds, and the net benefit of teacher and card at each."""
        model = self.curve["model"]
        teacher, card = (self.curve["net_benefit"][model == name] for name in (TEACHER, CARD))
        return self.curve["threshold"][model == TEACHER], teacher, card

    def _draw_lost(self, ax: Any) -> None:
        p, teacher, card = self._both()
        lost = teacher - card
        ax.axhline(0.0, color=GREY, linewidth=1.0, zorder=1)
        ax.fill_between(p, 0.0, lost, color=ORANGE, alpha=0.16, linewidth=0, zorder=2)
        marked = np.isin(p, [] if self.thresholds is None else self.thresholds.given)
        (self.lost_,) = ax.plot(
            p,
            lost,
            color=ORANGE,
            linewidth=1.6,
            marker="o",
            markersize=4,
            markevery=np.flatnonzero(marked).tolist(),
            zorder=3,
        )
        low, high = ax.get_xlim()
        seen = lost[(p >= low) & (p <= high)]
        if seen.size:
            least, most = min(0.0, float(seen.min())), max(0.0, float(seen.max()))
            room = 0.1 * (most - least) or 0.01
            ax.set_ylim(least - room, most + room)
        ax.set_ylabel("Lost: Teacher − Card", fontsize="small")
        ax.tick_params(labelsize="small")
        ax.locator_params(axis="y", nbins=5)
        tidy(ax)


def _training_risks(
    model: Any, outcome: NDArray[np.bool_], sample_weight: ArrayLike | None
) -> FloatArray:
    """Out-of-fold risks of the training rows, or an error with the reason why there are none."""
    teaching = getattr(model, "teaching_", None)
    if teaching is None:
        raise InputError(
            f"this {type(model).__name__} holds no risks of a teacher. Pass teacher_risks, one per "
            "row."
        )
    remedy = "Pass the teacher's risks of these rows as teacher_risks."
    if hasattr(model, "merging_"):
        raise InputError(
            "fit_table has merged the training rows, so that the teacher's risks are not in their "
            f"order. {remedy}"
        )
    risks: FloatArray = teaching.risks
    if risks.size != outcome.size:
        raise InputError(
            f"X has {outcome.size:,} rows, but the model was trained on {risks.size:,}: these are "
            f"other rows. {remedy}"
        )
    origin = model.scorecard_.provenance
    weight = check_weights(sample_weight, outcome.size)
    events = float(weight[outcome].sum())
    if origin is not None and origin.n_events is not None and origin.n_rows is not None:
        now = np.array([weight.sum(), events])
        if not np.allclose(now, [origin.n_rows, origin.n_events], rtol=1e-6):
            raise InputError(
                f"the rows weigh {now[0]:,.10g}, {now[1]:,.10g} of that with the event, but those "
                f"of training {origin.n_rows:,.10g} and {origin.n_events:,.10g}: rows or weights "
                f"differ. {remedy}"
            )
    return risks
