"""From raw columns to conditions such as "age ≥ 52"."""
