"""The commands of `python -m judge`, a file each: `add(commands)` describes it, `run(options)` does it."""
