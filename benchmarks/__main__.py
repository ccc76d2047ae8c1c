"""Run every benchmark and print its table."""

from __future__ import annotations

from benchmarks import annealing, binning, footprint, kernel, proofs, search


def main() -> None:
    """Print all tables, the quick ones first."""
    for part in (kernel, footprint, binning, search, annealing, proofs):
        part.main()


if __name__ == "__main__":
    main()
