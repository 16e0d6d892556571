"""``python -m brain`` is ``stormbrain``."""

from brain.cli.main import main

if __name__ == "__main__":
    main()
