"""What holds up on new data: ``python -m benchmarks.generalisation [run|report]``.

Cards and the usual risk models are trained on the same rows and compared by the net benefit of
their decisions on rows that they have not seen: ten folds of the eight data sets and of
scikit-learn's breast-cancer data, and simulated families whose true risk is known, where what is
reported is the regret against decisions by the true risk.  On raw tables, cards with at most so
many questions are compared with those of others; default fits are timed.

Every finished fit is a file of its own.  Without a command, what is missing is run and then
everything is reported; a run that was stopped goes on where it ended.
"""
