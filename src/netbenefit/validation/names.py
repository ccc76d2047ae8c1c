"""The models that comparisons know by name."""

NAMES = ("scorecard", "rss-dnb", "rss-dnb-sa", "logistic", "lasso", "tree", "forest", "xgboost")
