"""Holds the server against the protocol's conformance suite and the inspector, both from npm."""
