"""Keep pytest away from the recording scripts: they run inside the tools' own environments."""

collect_ignore = ["golden.py", "record.py", "record", "moving"]
collect_ignore_glob = ["record_*.py"]
