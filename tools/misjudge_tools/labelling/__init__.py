"""Labels by people: which pair comes next, what of it is shown, and what is said of it."""
