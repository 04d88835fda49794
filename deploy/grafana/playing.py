"""What people and tables do: how they are served."""

from typing import Final

from deploy.grafana.panels import Panel, number
from deploy.grafana.queries import (
    ERROR_BUDGET,
    TRADE_GOAL_S,
    grew,
    mean,
    most,
    quantile,
    quantiles,
    rate,
    summed,
)

NOW: Final = (
    number(
        "Sessions",
        "Streams of seats, bots included, at all gateways.",
        "short",
        summed("pit_sessions"),
    ),
    number("Tables", "Tables in play, from seating to the end.", "short", summed("pit_tables")),
    number(
        "Offers",
        "Offers accepted by tables; some trade at once.",
        "ops",
        summed(rate('pit_commands_total{command="Offer", outcome="accepted"}')),
    ),
    number("Trades", "Trades, two seats each.", "ops", summed(rate("pit_trades_total"))),
    number(
        "Trade time, p99",
        "From a gateway's receipt of the offer that completes a trade to its last delivery. "
        "The promise is 100 ms.",
        "s",
        quantile(0.99, "pit_trade_seconds"),
        warns=0.05,
        alarms=TRADE_GOAL_S,
    ),
    number(
        "Failed commands",
        "Share of commands the exchange itself could not decide; what rules refuse is no failure.",
        "percentunit",
        "pit:command_errors:ratio_rate5m",
        warns=ERROR_BUDGET,
        alarms=0.01,
    ),
    number(
        "Longest wait",
        "Of a command before its turn, in the slowest shard.",
        "s",
        "max(pit_shard_lag_seconds)",
        warns=1,
        alarms=5,
    ),
    number(
        "Shards without owner",
        "Their tables stand still. More than a few seconds after a crash: look at Ownership.",
        "short",
        "sum(sum by (shard) (pit_shard_owned) == bool 0)",
        alarms=1,
    ),
)


CALLS: Final = (
    Panel(
        "Calls",
        "Calls that ended, by method. Play and Watch count when their stream ends.",
        "reqps",
        (
            (
                most(10, summed(rate("pit_grpc_server_handled_total"), "grpc_method")),
                "{{grpc_method}}",
            ),
        ),
        "stacked",
    ),
    Panel(
        "Calls that failed",
        "By method and status. Unavailable while a gateway drains and ResourceExhausted under a "
        "flood are meant; Internal and Unknown are faults of ours.",
        "reqps",
        (
            (
                most(
                    10,
                    summed(
                        rate('pit_grpc_server_handled_total{grpc_code!="OK"}'),
                        "grpc_method",
                        "grpc_code",
                    ),
                ),
                "{{grpc_method}} {{grpc_code}}",
            ),
        ),
    ),
    Panel(
        "Time of unary calls, p99",
        "By method; those that go through a table's log take a turn longer.",
        "s",
        (
            (
                most(
                    10,
                    quantile(0.99, "pit_grpc_server_handling_seconds", "grpc_method")
                    + " and on (grpc_method) "
                    + summed(rate("pit_grpc_server_handling_seconds_count"), "grpc_method")
                    + " > 0",
                ),
                "{{grpc_method}}",
            ),
        ),
        warns=0.5,
        alarms=1,
    ),
)


EXCHANGE: Final = (
    Panel(
        "Offers by outcome",
        "What tables said to offers, and trades beside them: each needs two offers.",
        "ops",
        (
            (summed(rate('pit_commands_total{command="Offer"}'), "outcome"), "{{outcome}}"),
            (summed(rate("pit_trades_total")), "trades"),
        ),
    ),
    Panel(
        "Refusals by reason",
        "Of tables and gateways. A new reason at the top after a release is a client that errs.",
        "ops",
        ((most(8, summed(rate("pit_rejections_total"), "reason")), "{{reason}}"),),
        "stacked",
    ),
    Panel(
        "Trade time",
        "Receipt of the completing offer to last delivery, where both go through one gateway.",
        "s",
        quantiles("pit_trade_seconds"),
        warns=0.05,
        alarms=TRADE_GOAL_S,
    ),
    Panel(
        "Stages, p99",
        "A command's way: ingress (gateway to log), queue (until its turn), decide, commit, "
        "deliver. The one that grew is where to look.",
        "s",
        ((quantile(0.99, "pit_stage_seconds", "stage"), "{{stage}}"),),
    ),
    Panel(
        "Tables by phase",
        "Many tables that stay in SEATING are lobbies nobody joins.",
        "short",
        ((summed("pit_tables", "phase"), "{{phase}}"),),
        "stacked",
    ),
    Panel(
        "Open offers",
        "Offers that wait for a partner.",
        "short",
        ((summed("pit_open_offers"), "open"),),
    ),
    Panel(
        "Commands a turn",
        "Matchers decide more at once when there is more to do; that is how they keep up.",
        "short",
        ((mean("pit_turn_commands"), "mean"), (quantile(0.99, "pit_turn_commands"), "p99")),
    ),
    Panel(
        "Length of a turn",
        "Deciding alone; the commit is a stage of its own.",
        "s",
        quantiles("pit_turn_seconds"),
    ),
    Panel(
        "Events by kind",
        "The twelve most frequent.",
        "ops",
        ((most(12, summed(rate("pit_events_total"), "event")), "{{event}}"),),
    ),
)


SESSIONS: Final = (
    Panel(
        "Sessions",
        "By the door they came through and who they are.",
        "short",
        ((summed("pit_sessions", "transport", "role"), "{{transport}} {{role}}"),),
        "stacked",
    ),
    Panel(
        "Ends by reason",
        "CLOSED is the client's own. SUPERSEDED: another device took the seat.",
        "ops",
        ((most(8, summed(rate("pit_session_ends_total"), "reason")), "{{reason}}"),),
        "stacked",
    ),
    Panel(
        "Seats asked for",
        "By a new client, a resuming one, or by the gateway again after an interruption.",
        "ops",
        ((summed(rate("pit_attaches_total"), "kind"), "{{kind}}"),),
        "stacked",
    ),
    Panel(
        "Resumes by outcome",
        "replay: goes on where it was. gap: a snapshot instead. history: the store lost events.",
        "ops",
        ((summed(rate('pit_attaches_total{kind="resume"}'), "outcome"), "{{outcome}}"),),
        "stacked",
    ),
    Panel(
        "Rate limits",
        "Requests beyond their caller's rate.",
        "ops",
        ((summed(rate("pit_rate_limited_total"), "scope"), "{{scope}}"),),
        "stacked",
    ),
    Panel(
        "Room at gateways",
        "Share of the streams that each gateway serves at most.",
        "percentunit",
        (
            (
                "sum by (instance) (pit_sessions) / sum by (instance) (pit_sessions_max)",
                "{{instance}}",
            ),
        ),
        warns=0.8,
        alarms=0.9,
    ),
)


FAN_OUT: Final = (
    Panel(
        "Messages",
        "Sent to seats. Messages are what a gateway spends its time on.",
        "ops",
        ((summed(rate("pit_messages_total"), "transport"), "{{transport}}"),),
    ),
    Panel(
        "Events a message",
        "More at once under load: what waits for a seat goes out together.",
        "short",
        (
            (mean("pit_events_per_message"), "mean"),
            (quantile(0.99, "pit_events_per_message"), "p99"),
        ),
    ),
    Panel(
        "Longest queue",
        "Events that wait for the slowest reader of each gateway. At 512 it gets a snapshot.",
        "short",
        (("max by (instance) (pit_session_queue_events)", "{{instance}}"),),
        warns=256,
        alarms=512,
    ),
    Panel(
        "Slow readers",
        "Times a queue overflowed, or a reader that took nothing for 10 s was cut.",
        "short",
        ((summed(grew("pit_slow_readers_total"), "instance"), "{{instance}}"),),
        "stacked",
    ),
)
