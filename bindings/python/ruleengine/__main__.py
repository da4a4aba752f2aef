"""The command `ruleengine`, which is a program of the package."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "ruleengine"
    os.execv(program, ["ruleengine", *sys.argv[1:]])


if __name__ == "__main__":
    main()
