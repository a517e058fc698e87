"""The surface: MCP over stdio, the command line, settings and the composition root."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("misjudge")
except PackageNotFoundError:  # run from a checkout that was not installed
    VERSION = "0+unknown"
