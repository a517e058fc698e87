"""`misjudge setup`: our entry in the files of the coding agents, merged into what stands there, and taken out again."""
