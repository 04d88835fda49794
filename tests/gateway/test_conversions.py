"""A command is decoded once and packed once; an event is packed and made public bytes once."""

from loadtest.bench.conversions import count


async def test_what_an_action_is_converted_to_on_its_way() -> None:
    actions = 20
    counted = await count(actions)
    calls = {what: number / actions for what, number in counted.calls.items()}
    once = (
        "command: values to packed",
        "matcher: packed command to values",
        "matcher: record to bytes",
        "record: bytes to values",
        "event: values to public bytes",
        "event: public bytes to field",
    )
    assert {what: calls[what] for what in once} == dict.fromkeys(once, 1.0)
    # Of four at the table, those who have nothing of their own to see share one message.
    assert calls["message: items to bytes"] == 1 + calls["event: private part to bytes"]
    assert 1 <= calls["event: private part to bytes"] <= 2
    library = {what: number / actions for what, number in counted.library.items()}
    assert library["FromString in services/gateway/session/core.py"] == 1
    serialised = [what for what in library if what.startswith("SerializeToString")]
    assert sum(library[what] for what in serialised) < 1, "what is told again is remembered"
    decoding = [what for what in library if what.startswith("FromString")]
    assert decoding == ["FromString in services/gateway/session/core.py"]
