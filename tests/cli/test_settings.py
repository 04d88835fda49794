"""Settings stop a process that was configured wrongly, by name, and never show a secret."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from services.gateway.doors.tls import TlsFiles
from services.log.connection import SyncConnection
from services.log.port import Unavailable
from services.settings import MASK, Settings, SettingsProblem, effective, load
from support.certificates import write_pair


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("PIT_"):
            monkeypatch.delenv(name)


def test_defaults_need_nothing() -> None:
    settings = load()
    assert settings.port_base == 7700
    assert settings.archive_directory == settings.data / "archive"
    assert settings.gateway_target == "127.0.0.1:7700"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("PIT_REDIS_ULR", "Did you mean PIT_REDIS_URL?"),
        ("PIT_PORTBASE", "Did you mean PIT_PORT_BASE?"),
        ("pit_redis_ulr", "Did you mean PIT_REDIS_URL?"),
        ("PIT_ZZZZZZ", "`pit config` lists them all."),
    ],
)
def test_an_unknown_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(SettingsProblem) as problem:
        load()
    assert name in str(problem.value)
    assert hint in str(problem.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PIT_PORT_BASE", "many"),
        ("PIT_PORT_BASE", "70000"),
        ("PIT_PACE", "fast"),
        ("PIT_DURABILITY", "sometimes"),
        ("PIT_LOG_FORMAT", "xml"),
        ("PIT_ARCHIVE_DAYS", "0"),
        ("PIT_ARCHIVE_DAYS", "99999999999999999999"),
        ("PIT_REDIS_URL", "redis://127.0.0.1:port/0"),
        ("PIT_REDIS_URL", "redis://127.0.0.1:70000/0"),
        ("PIT_REDIS_URL", "redis://[::1/0"),
        ("PIT_REDIS_URL", "redis://name:pass/word@127.0.0.1:6379/0"),
        ("PIT_REDIS_URL", f"redis://{'a' * 70}:6379/0"),
        ("PIT_REDIS_URL", "redis://127.0.0.1:6379/0?socket_timeout=long"),
        ("PIT_REDIS_URL", "redis://127.0.0.1:6379/0?no_such_option=1"),
        ("PIT_BIND", f"{'a' * 70}.example"),
        ("PIT_OPERATE_BIND", "two words"),
        ("PIT_METRICS_BIND", "a..b"),
        ("PIT_ARCHIVE", "a" * 5_000),
        ("PIT_DATA", "a" * 5_000),
        ("PIT_NAME", os.fsdecode(b"\xff")),
        ("PIT_TLS_AUTHORITIES", "/nowhere.pem"),
        ("PIT_TLS_AUTHORITIES", __file__),
        ("PIT_OPERATE_TLS", "true"),
    ],
)
def test_a_bad_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingsProblem, match=name) as problem:
        load()
    assert "pass/word" not in str(problem.value)


ODD = (
    *(" ", ",", ":", "-1", "0", "1e400", "9" * 20, "nan", "null", "[]", "\t", "\x1b[31m", "ü"),
    *("/", "/dev/null", "/etc/passwd", "/proc/x", "a" * 300, "a" * 5_000, "a..b", "::1", "k1:zz"),
    *("https://", "redis://", "rediss://", "unix://", "redis://[", "redis://h:port/0", "a://b"),
    os.fsdecode(b"\xff"),
)


@pytest.mark.parametrize("field", Settings.model_fields)
def test_an_odd_value_of_any_setting_is_refused_by_name_or_can_be_worked_with(
    monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    name = f"PIT_{field.upper()}"
    named = []
    for text in ODD:
        monkeypatch.setenv(name, text)
        try:
            settings = load()
        except SettingsProblem as problem:
            named.append(str(problem))
            continue
        assert set(effective(settings)) == {f"PIT_{each.upper()}" for each in Settings.model_fields}
        settings.archive_directory.exists()
        assert isinstance(settings.allowed_networks, tuple)
        if settings.redis_url:
            server = SyncConnection(settings.redis_url)
            with suppress(Unavailable):  # a server may be there
                server.ask("PING")
            server.close()
    assert all("PIT_" in problem for problem in named)


def test_every_problem_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIT_PORT_BASE", "many")
    monkeypatch.setenv("PIT_PACE", "fast")
    with pytest.raises(SettingsProblem) as problem:
        load()
    assert "PIT_PORT_BASE" in str(problem.value)
    assert "PIT_PACE" in str(problem.value)


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIT_TOKEN_KEYS", "k1:5ec4e7")
    monkeypatch.setenv("PIT_ARCHIVE_KEY", "5ec4e7")
    monkeypatch.setenv("PIT_REDIS_URL", "redis://user:5ec4e7@host:6379/0")
    shown = effective(load())
    assert "5ec4e7" not in str(shown)
    assert shown["PIT_TOKEN_KEYS"] == MASK
    assert shown["PIT_REDIS_URL"] == f"redis://user:{MASK}@host:6379/0"


def test_a_wrong_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    from services.archive.keys import private_key

    with pytest.raises(SettingsProblem) as problem:
        private_key("no hex 5ec4e7")
    assert "PIT_ARCHIVE_KEY" in str(problem.value)
    assert "5ec4e7" not in str(problem.value)


def test_authorities_that_are_none_are_refused_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "authorities.pem"
    monkeypatch.setenv("PIT_TLS_AUTHORITIES", str(path))
    with pytest.raises(SettingsProblem, match=r"No such file .*name a PEM file"):
        load()
    path.write_text("no certificate")
    with pytest.raises(SettingsProblem, match=r"no certificates.*name a PEM file"):
        load()
    write_pair(TlsFiles(path, tmp_path / "key.pem"))
    assert effective(load())["PIT_TLS_AUTHORITIES"] == str(path)
