"""The sections on which one decides: each reads its counts, and says in values what follows from them."""
