"""The program: ``netbenefit``, or ``python -m netbenefit`` where no script is installed."""

from netbenefit.cli.stopping import handle_interrupts


def main() -> None:
    """Run the command line, which takes a moment to import."""
    handle_interrupts()
    from netbenefit.cli.main import main

    main()


if __name__ == "__main__":
    main()
