"""The options of `pit load`. What they come to is imported when it runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from services.cli.numbers import RATE_MAX, SEED_MAX, Seats, Tables, finite

Target = Annotated[
    str, typer.Option(help="HOST:PORT of a gateway; https://HOST:PORT where it speaks TLS.")
]
Local = Annotated[bool, typer.Option("--local", help="Start an exchange, without bots.")]
Null = Annotated[bool, typer.Option("--null", help="A server that does nothing.")]

Rules = Annotated[str, typer.Option(help="Preset of the tables' rules.")]
Switches = Annotated[
    list[str], typer.Option("--switch", help="NAME=VALUE over the preset, such as idle_s=60.")
]

Rate = Annotated[
    float, typer.Option(min=0, max=RATE_MAX, callback=finite, help="Actions a second, planned.")
]
ThinkTime = Annotated[str, typer.Option(help="No plan: each seat thinks so long.")]
Stages = Annotated[str, typer.Option(help="TIME:RATE,... such as 30s:500,2m:2000.")]
Warmup = Annotated[str, typer.Option(help="Played, but not measured.")]
Duration = Annotated[str, typer.Option(help="Measured.")]
Seed = Annotated[int, typer.Option(min=-SEED_MAX, max=SEED_MAX, help="Of the plan.")]
Scenario = Annotated[
    str,
    typer.Option(
        help="steady, ramp, spike, opening-bell, churn, slow-readers, gateway-kill, matcher-kill."
    ),
]

Workers = Annotated[int, typer.Option(min=1, max=64, help="Processes of the generator.")]
Streams = Annotated[int, typer.Option(min=1, max=100)]
Client = Annotated[Literal["lean", "grpcio"], typer.Option(help="Of the streams.")]
SignIns = Annotated[
    Literal["shared", "each"], typer.Option(help="One a seat number, or one each seat.")
]
Addresses = Annotated[
    int, typer.Option(min=1, max=250, help="Loopback addresses the streams come from.")
]
Ceiling = Annotated[bool, typer.Option(help="First find out what the generator can do at most.")]

Slos = Annotated[list[str], typer.Option("--slo", help="Gate such as 'trade:p99<50ms'.")]
Compare = Annotated[Path | None, typer.Option(help="An earlier --out to compare with.")]
MaxRegress = Annotated[str, typer.Option(help="Worse than that by more fails.")]
Control = Annotated[
    Path | None, typer.Option(help="An --out of --client grpcio, to be shown beside.")
]

Out = Annotated[Path | None, typer.Option(help="Write the result as JSON.")]
Html = Annotated[Path | None, typer.Option(help="Write a report with plots.")]
Hdr = Annotated[Path | None, typer.Option(help="Write histograms as an .hdr log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def load(
    *,
    target: Target = "",
    local: Local = False,
    null: Null = False,
    rules: Rules = "blitz",
    switches: Switches = [],  # noqa: B006 (typer copies it)
    tables: Tables = 20,
    seats: Seats = 4,
    rate: Rate = 0,
    think_time: ThinkTime = "",
    stages: Stages = "",
    warmup: Warmup = "5s",
    duration: Duration = "30s",
    seed: Seed = 1,
    scenario: Scenario = "steady",
    slos: Slos = [],  # noqa: B006
    workers: Workers = 1,
    streams_per_connection: Streams = 50,
    client: Client = "lean",
    sign_ins: SignIns = "shared",
    addresses: Addresses = 1,
    out: Out = None,
    html: Html = None,
    hdr: Hdr = None,
    compare: Compare = None,
    max_regress: MaxRegress = "10%",
    control: Control = None,
    ceiling: Ceiling = True,
    as_json: AsJson = False,
) -> None:
    """Load an exchange as thousands of tables would, and measure it from outside."""
    given = dict(locals())  # `Asked` has a field for each, by the same name
    from services.cli.load.asked import Asked
    from services.cli.load.run import load as run_load

    raise typer.Exit(run_load(Asked(**given)))
