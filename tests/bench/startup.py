#!/usr/bin/env python3
"""The cost of a start, and of the script that starts the program."""

import measure


def bench(_folder):
    program, launcher = measure.PROGRAM, measure.ROOT / "ruleengine"
    measure.run([launcher, "--version"])  # sets up if needed
    usage = measure.in_turn({
        "program": [program, "--version"],
        "launcher": [launcher, "--version"],
        "true": ["/bin/true"]}, rounds=41)
    wall = {name: u.wall * 1e3 for name, u in usage.items()}
    return [
        measure.Row("--version, ms", wall["program"], 10, detail=(
            f"/bin/true, started the same way: {wall['true']:.2f} ms")),
        measure.Row("--version, peak MiB", usage["program"].peak, 20),
        measure.Row("./ruleengine on top, ms",
                    wall["launcher"] - wall["program"], 15),
    ]


if __name__ == "__main__":
    measure.show(bench(None))
