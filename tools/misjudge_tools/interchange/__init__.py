"""Files to values, one small module per format."""
