"""What the tests of reading share."""

import pytest


@pytest.fixture
def bars(monkeypatch):
    """The progress bars that were made, in place of tqdm's, with what each was told."""
    made = []

    class Bar:
        def __init__(self, **options):
            self.options, self.count = options, 0
            made.append(self)

        def update(self, n):
            self.count += n

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    return made
