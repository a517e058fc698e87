"""The work: one file per tool on top, pure logic and adapters in the folders below."""
