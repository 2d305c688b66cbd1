"""Programs that make the documentation are no tests: they need mkdocs, which the tests do not install."""

collect_ignore_glob = ["*.py", "*/*.py"]
