"""The shipped suite: the support desk of Harbourline, an invented outdoor shop that rents cabins and runs day trips."""
