"""Methods that others have published, as estimators like ours: to compare with."""
