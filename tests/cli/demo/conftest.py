"""Data of the demo in tests: the installed files, whatever the environment points to, or small generated ones."""

from types import ModuleType

import pytest

from timelike.cli.demo.data import DemoData
from timelike.cli.demo.section import Section
from timelike.sequences.generate import warped_sequences


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch):
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)


@pytest.fixture(scope="session")
def small_data() -> DemoData:
    """Four ragged classes of three channels, 160 sequences to learn from and 40 others."""
    made = warped_sequences(200, (8, 14), classes=4, channels=3, noise=0.3, random_state=3).sequences
    return DemoData(train=made[:160], test=made[160:], source="small generated sequences")


@pytest.fixture(scope="session")
def run_small(small_data):
    """Runs a section on the small data, with other budgets."""

    def run(module: ModuleType, **budgets: int) -> Section:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in budgets.items():
                patch.setattr(module, name, value)
            patch.setattr(module, "load_or_generate", lambda name: small_data)
            return module.CHAPTER.run()

    return run
