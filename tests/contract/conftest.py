"""A method may be exempt from a promise, if its class says why (`contract_exemptions`)."""

import pytest

import timelike as tl
from contract.discover import needs_learn


def pytest_itemcollected(item):
    """Methods that train a network, or solve exact transport, have the mark of the extra that they need."""
    kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
    if isinstance(kind, type) and needs_learn(kind):
        item.add_marker(pytest.mark.learn)
    if kind is tl.OT:
        item.add_marker(pytest.mark.transport)


@pytest.fixture(autouse=True)
def excused(request):
    kind = request.node.callspec.params.get("kind") if hasattr(request.node, "callspec") else None
    reason = (
        getattr(kind, "contract_exemptions", {}).get(request.node.originalname.removeprefix("test_")) if kind else None
    )
    if reason:
        pytest.skip(reason)
