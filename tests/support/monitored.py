"""A real Prometheus on the committed configuration, made quick, and pointed at a demo."""

import json
import math
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from services.log.server import free_port
from support.require import need

COMMITTED: Final = Path(__file__).parents[2] / "deploy" / "prometheus"
SCRAPE: Final = "1s"
WAIT_S: Final = 30.0

Points = list[tuple[float, float]]


class Prometheus:
    """Asks the server; `since_s` is when it was started."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.since_s = time.time()

    def ask(self, path: str, **parameters: Any) -> Any:
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(parameters)}", timeout=10) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def lines(self, expression: str, **labels: str) -> list[Points]:
        """Every line of the picture from the start until now, without what is no number."""
        data = self.ask(
            "query_range", query=expression, start=self.since_s, end=time.time(), step=1
        )
        lines = [
            [(float(at), float(value)) for at, value in each["values"]]
            for each in data["result"]
            if labels.items() <= each["metric"].items()
        ]
        return [[point for point in line if math.isfinite(point[1])] for line in lines]

    def total(self, expression: str) -> float:
        """The sum over all lines just now."""
        result = self.ask("query", query=expression)["result"]
        return sum(number for each in result if math.isfinite(number := float(each["value"][1])))

    def wait(self, true: Callable[[], bool], seconds: float = WAIT_S) -> None:
        until_s = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < until_s, "waited in vain"
            time.sleep(0.2)

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@contextmanager
def prometheus(directory: Path, targets: Mapping[str, Sequence[int]]) -> Iterator[Prometheus]:
    """Scrapes ports by kind of process, with the committed rules, as often as it can."""
    tool = need("prometheus").with_name("prometheus")
    for name in ("records.yml", "alerts.yml"):
        shutil.copy(COMMITTED / name, directory)
    records = yaml.safe_load((directory / "records.yml").read_text())
    for group in records["groups"]:
        group["interval"] = SCRAPE
    (directory / "records.yml").write_text(json.dumps(records))
    configuration = yaml.safe_load((COMMITTED / "prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": SCRAPE, "evaluation_interval": SCRAPE}
    [job] = configuration["scrape_configs"]
    assert {each["labels"]["process"] for each in job["static_configs"]} == set(targets)
    for each in job["static_configs"]:
        each["targets"] = [f"127.0.0.1:{port}" for port in targets[each["labels"]["process"]]]
    (directory / "prometheus.yml").write_text(json.dumps(configuration))
    port = free_port()
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                tool,
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    server = Prometheus(port)
    try:
        server.wait(server.answers)
        yield server
    finally:
        process.terminate()
        process.wait(20)
