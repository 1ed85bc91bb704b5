"""Run on the machine at hand: its threads, its memory and disk, the interpreter's settings."""
