"""What the queue did, a line of JSON for each event; the only memory of failures and of how long rows take."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Event = dict[str, Any]
RECENT = 10  # finished rows that say how slow the machine is


class Journal:
    """Events are appended in one write each, by the queue and by its worker."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, event: str, **more: Any) -> None:
        """Append one event with the time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), "event": event} | more)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def read(self, start: int = 0) -> list[Event]:
        """Events from a position of the file on; a line that was cut off by a crash is left out."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8") as stream:
            stream.seek(start)
            return [event for line in stream if (event := _parsed(line)) is not None]

    def position(self) -> int:
        """Where the next event will be."""
        return self.path.stat().st_size if self.path.exists() else 0


def failures(events: list[Event]) -> Counter[tuple[str, str]]:
    """How often each row has failed since failures were last forgotten."""
    count: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event["event"] == "failures forgotten":
            count.clear()
        if event["event"] == "failed":
            count[event["program"], event["key"]] += 1
    return count


def slowness(events: list[Event]) -> float:
    """By what the estimates of the last rows were too short; 1 where nothing is known."""
    ratios = [event["seconds"] / event["guess"] for event in events if event["event"] == "finished" and event["guess"]]
    return statistics.median(ratios[-RECENT:]) if ratios else 1.0


def last_run(events: list[Event]) -> list[Event]:
    """The events since the queue was last started."""
    starts = [number for number, event in enumerate(events) if event["event"] == "started"]
    return events[starts[-1] :] if starts else []


def running_row(events: list[Event]) -> Event | None:
    """The row that was begun last, unless it has ended."""
    for event in reversed(events):
        if event["event"] == "begun":
            return event
        if event["event"] in ("finished", "failed", "postponed", "ended"):
            return None
    return None


def _parsed(line: str) -> Event | None:
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) and "event" in event else None
