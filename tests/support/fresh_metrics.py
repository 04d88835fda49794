"""What each process tells Prometheus before anything has happened.

`PYTHONPATH=.:proto:tests python -m support.fresh_metrics` writes it to tests/metrics/fresh/, when
names, labels, or the kinds of commands, events and refusals have changed on purpose.
"""

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from services.gateway.main import new_metrics
from services.metrics.archive import ArchiveMetrics
from services.metrics.matcher import MatcherMetrics
from services.metrics.process import Exposed

FOLDER = Path(__file__).parents[1] / "metrics" / "fresh"
SHARDS = 2


def fresh() -> dict[str, CollectorRegistry]:
    """A registry of each kind of process, as it is at the start."""
    return {
        "matcher": MatcherMetrics(SHARDS).registry,
        "gateway": new_metrics().registry,
        "archiver": ArchiveMetrics(FOLDER.parent, clock=lambda: 0.0).registry,
        "bots": Exposed().registry,
    }


def text_of(registry: CollectorRegistry) -> str:
    """Without what differs from one machine to the next."""
    lines = generate_latest(registry).decode().splitlines()
    return "".join(
        f"{line}\n"
        for line in lines
        if not line.startswith(("pit_build_info{", "pit_data_free_bytes ", "pit_data_size_bytes "))
    )


if __name__ == "__main__":
    for process, registry in fresh().items():
        (FOLDER / f"{process}.txt").write_text(text_of(registry))
