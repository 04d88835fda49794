"""The drill of the runbook over real processes: stop, wipe, restore, play on, verify."""

from pathlib import Path

import pytest

from services.cli.failures import Exit
from support.exchange import ExchangeProcesses
from support.pit import pit

TABLES = 3
SEATS = 4 * TABLES
"""All have something to be told: at human pace no game of 500 points, three rounds at least, ends
between the backup and the loss. Bots leave a table whose game has ended, and are told nothing."""


@pytest.mark.all
def test_drill(tmp_path: Path) -> None:
    """Play, back up, play on, lose everything, restore: the tables play on, and those who had
    seen more than the backup holds are told."""
    with ExchangeProcesses(tmp_path) as exchange:
        servers = ("matcher", "gateway", "archiver")
        for role in servers:
            exchange.start(role)
        bots = ("bots", "--tables", str(TABLES), "--rules", "household")
        exchange.start(*bots, PIT_PACE="human", PIT_REPORT=str(exchange.report_path))
        played_on(exchange, 4)
        file = tmp_path / "backup.tar"
        made = pit("backup", str(file), "--json", settings=exchange.settings)
        assert made.code == Exit.GOOD, made.err
        assert made.json()["games"] > 0
        played_on(exchange, 4)
        exchange.kill(*servers)
        exchange.wipe()
        told = pit("restore", str(file), settings=exchange.settings)
        assert told.code == Exit.GOOD, told.err
        assert "undone" in told.out
        for role in servers:
            exchange.start(role)
        exchange.wait(lambda: exchange.report()["resets"] >= SEATS)
        played_on(exchange, 4)
        report = exchange.report()
        assert report["reset_kinds"] == {"HISTORY": SEATS}
        assert report["undone"] > 0
        assert report["errors"] == 0
        codes = [exchange.end(role) for role in ("bots", "gateway", "matcher", "archiver")]
        assert codes == [0, 0, 0, 0]
        verified = pit("verify", "--all", settings=exchange.settings)
        assert verified.code == Exit.GOOD, verified.out
        assert ", 0 FAILED" in verified.out


def played_on(exchange: ExchangeProcesses, more: int) -> None:
    """Wait for so many trades more at every table."""
    before = trades(exchange)

    def enough() -> bool:
        now = trades(exchange)
        return len(now) >= TABLES and all(
            count >= before.get(table, 0) + more for table, count in now.items()
        )

    exchange.wait(enough)


def trades(exchange: ExchangeProcesses) -> dict[str, int]:
    tables = exchange.report().get("tables", {})
    return {table: each["trades"] for table, each in tables.items()}
