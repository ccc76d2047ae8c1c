"""A soak: random cases of every kind for as long as one likes, failures reduced and kept.

``python -m tests.soak --minutes 120`` runs it.  Each kind of case is a module that has

* ``SHARE``: its share of the computing time;
* ``draw(seed)``: the cases of one batch, which depend on nothing but the seed;
* ``check(case)``: raises if something is wrong, :class:`Unusable` if the case itself means
  nothing; returns what was counted;
* ``smaller(case)``, optional: simpler cases to try besides those of :mod:`tests.soak.reduce`;
* ``close()``, optional: ends the programs that a batch has started.

A case is what JSON can hold, so that a failure is a file that people can read.  Failures are
reduced and stored in ``tests/soak/found``, from where ``test_found.py`` runs them again with the
other tests.
"""

from __future__ import annotations


class Unusable(Exception):
    """The case means nothing, as a reduced one may."""
