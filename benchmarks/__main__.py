"""Run every benchmark and print its table."""

from __future__ import annotations

from benchmarks import annealing, binning, cold_start, footprint, kernel, proofs, search, studio


def main() -> None:
    """Print all tables, the quick ones first."""
    for part in (cold_start, kernel, studio, footprint, binning, search, annealing, proofs):
        part.main()


if __name__ == "__main__":
    main()
