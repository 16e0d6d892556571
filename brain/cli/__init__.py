"""One file a subcommand; see main.py."""
