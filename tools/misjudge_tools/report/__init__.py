"""An audit as something to read: one page, Markdown, tables of numbers."""
