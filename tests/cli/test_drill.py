"""The drill of the runbook over real processes: stop, wipe, restore, play on, verify."""

from pathlib import Path

import pytest

from services.cli.failures import Exit
from support.exchange import ExchangeProcesses
from support.pit import pit


@pytest.mark.all
def test_drill(tmp_path: Path) -> None:
    """Play, back up, play on, lose everything, restore: the tables play on, and those who had
    seen more than the backup holds are told."""
    with ExchangeProcesses(tmp_path) as exchange:
        servers = ("matcher", "gateway", "archiver")
        for role in servers:
            exchange.start(role)
        exchange.start("bots", "--tables", "3", PIT_REPORT=str(exchange.report_path))
        trades = played_on(exchange, 0, 20)
        file = tmp_path / "backup.tar"
        made = pit("backup", str(file), "--json", settings=exchange.settings)
        assert made.code == Exit.GOOD, made.err
        assert made.json()["games"] > 0
        played_on(exchange, trades, 10)
        exchange.kill(*servers)
        exchange.wipe()
        told = pit("restore", str(file), settings=exchange.settings)
        assert told.code == Exit.GOOD, told.err
        assert "undone" in told.out
        seats = exchange.report()["sessions"]
        for role in servers:
            exchange.start(role)
        exchange.wait(lambda: exchange.report()["resets"] >= seats)
        played_on(exchange, exchange.report()["trades"], 20)
        report = exchange.report()
        assert report["reset_kinds"] == {"HISTORY": seats}
        assert seats in {4, 8, 12}, "a table whose game has just ended is left by its bots"
        assert report["undone"] > 0
        assert report["errors"] == 0
        codes = [exchange.end(role) for role in ("bots", "gateway", "matcher", "archiver")]
        assert codes == [0, 0, 0, 0]
        verified = pit("verify", "--all", settings=exchange.settings)
        assert verified.code == Exit.GOOD, verified.out
        assert ", 0 FAILED" in verified.out


def played_on(exchange: ExchangeProcesses, before: int, more: int) -> int:
    """Wait for so many trades more; how many there are then."""
    exchange.wait(lambda: exchange.report().get("trades", 0) >= before + more)
    return int(exchange.report()["trades"])
