"""Files out: one small module per format, and how all of them are written."""
