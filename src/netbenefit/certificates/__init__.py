"""What was proven, written down, and the judge that recounts it; no solver takes part."""
