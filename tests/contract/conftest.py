"""A method may be exempt from a promise, if its class says why (`contract_exemptions`)."""

import pytest

from contract.discover import required_extra


def pytest_itemcollected(item):
    """Methods that train a network, or solve exact transport, have the mark of the extra that they need."""
    kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
    if isinstance(kind, type) and (extra := required_extra(kind)):
        item.add_marker(getattr(pytest.mark, extra))


@pytest.fixture(autouse=True)
def excused(request):
    kind = request.node.callspec.params.get("kind") if hasattr(request.node, "callspec") else None
    reason = (
        getattr(kind, "contract_exemptions", {}).get(request.node.originalname.removeprefix("test_")) if kind else None
    )
    if reason:
        pytest.skip(reason)
