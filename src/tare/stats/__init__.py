"""From records to overheads: pairs, estimates with intervals, verdicts. Pure functions only."""
