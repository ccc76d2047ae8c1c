"""``python -m netbenefit``: the command line, where no script is installed."""

from netbenefit.cli.main import main

if __name__ == "__main__":
    main()
