"""``python -m brain`` is ``stormbrain``; so is this file by its path, as spark-submit wants it."""

import sys
from pathlib import Path

if __name__ == "__main__":
    if sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
        del sys.path[0]  # run by its path: our modules are brain.core, not core
    from brain.cli.main import main

    main()
