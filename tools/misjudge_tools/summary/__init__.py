"""From the counts of an audit to the sections of its summary."""
