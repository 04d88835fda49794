"""Configuration of every process: `PIT_*` variables, checked at start.

An unknown `PIT_*` variable or a bad value stops the process with a message that names it; `pit
config` prints what is in force, secrets masked.
"""

import errno
import os
import ssl
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "PIT_"
MASK = "********"
SESSIONS_MAX = 20_000
"""About 1.5 GB of a gateway's memory, each on its own connection: as many as its door lets in."""


class SettingsProblem(Exception):
    """The environment is wrong; the message names each variable, what is wrong and the remedy."""


class Settings(BaseSettings):
    """What a process needs to know about where it runs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", env_ignore_empty=True)

    redis_url: str = ""
    """The store. Empty: only `pit demo` and tests, which start an embedded Valkey."""
    data: Path = Path("data")
    """Directory of the embedded server, its keys and the archive."""
    durability: Literal["everysec", "always", "memory"] = "everysec"
    """What the embedded server promises; a server named by PIT_REDIS_URL has its own level."""
    port_base: int = Field(default=7700, ge=1, le=65_000)
    """gRPC listens here; the demo's embedded server on +79."""
    bind: str = "127.0.0.1"
    operate_port: int = Field(default=0, ge=0, le=65_535)
    """A gateway serves operators here; 0: it does not. `pit demo`: +81."""
    operate_bind: str = "127.0.0.1"
    """Address of that port: an internal one, and never the players'."""
    operator_token: SecretStr = SecretStr("")
    """Who gives the commands of operators; `pit token operator` makes one."""
    metrics_port: int = Field(default=0, ge=0, le=65_535)
    """Prometheus scrapes this process here; 0: nothing is told. `pit demo`: from +90 on."""
    metrics_bind: str = "127.0.0.1"
    """Address of the metrics: an internal one, since whoever reaches it may read them."""
    name: str = ""
    """Name of this process among its like; empty: host and process id."""
    token_keys: SecretStr = SecretStr("")
    """`kid:hex,kid:hex`: newest first; the first signs, all verify."""
    archive: Path | None = None
    """Directory of the records; `<data>/archive` unless set."""
    archive_key: SecretStr = SecretStr("")
    """Ed25519 private key, hex; signs finished games."""
    archive_days: int = Field(default=30, ge=1, le=36_500)
    """How long the archive keeps a finished game; at a gateway, how long names are kept for it."""
    gateway: str = ""
    """`host:port` of the gateway that bots and people play through, several with commas between,
    `https://host:port` where it speaks TLS; empty: the one on this host."""
    tls_authorities: Path | None = None
    """PEM file of the authorities whose certificates clients (play, bots, load, operate) believe
    at an https:// gateway. Empty: the system's."""
    pace: Literal["human", "max"] = "human"
    """Bots: reaction times of people, or as fast as the rules for bots allow."""
    report: Path | None = None
    """Bots: where to write their figures, about once a second."""
    log_format: Literal["auto", "json", "console"] = "auto"
    crash_at: str = ""
    """Tests only: `label:n` ends the process at the n-th passing of a named place."""
    require: str = ""
    """Tests only: tools that must be there, comma separated; elsewhere their absence skips."""
    profile: Literal["public", "event", "load"] = "public"
    """Limits on people at a gateway. `event`: a hall behind one address; `load`: for measuring."""
    allow_addresses: str = ""
    """Networks without a limit by address, comma separated: `192.0.2.0/24,2001:db8::/32`."""
    sessions_max: int = Field(default=SESSIONS_MAX, ge=1)
    """Streams that a gateway serves at one time; one more is told to try another gateway."""
    native_door: Literal["h2", "grpc.aio"] = "h2"
    """What serves gRPC: our own HTTP/2, or the reference it is measured by."""
    tls_certificate: Path | None = None
    """PEM file of the gateway's certificate with its chain, read anew when it has changed. Empty:
    gRPC without TLS, for a network of one's own or behind a proxy."""
    tls_key: Path | None = Field(default=None, validate_default=True)
    """PEM file of its key."""
    operate_tls: bool = Field(default=False, validate_default=True)
    """The port for operators shows that certificate, too, where they come from other machines."""

    @field_validator("redis_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        if url and not url.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("begins with redis://, rediss:// or unix://")
        if url:
            _check_store_url(url)
        return url

    @field_validator("bind", "operate_bind", "metrics_bind")
    @classmethod
    def _is_host(cls, host: str) -> str:
        try:
            host.encode("idna")
        except UnicodeError:
            host = ""
        if not host or any(character.isspace() for character in host):
            raise ValueError("is an address or the name of a host, for example 127.0.0.1")
        return host

    @field_validator("data", "archive", "report", "tls_certificate", "tls_authorities")
    @classmethod
    def _is_possible(cls, path: Path | None) -> Path | None:
        try:
            if path is not None:
                path.stat()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise ValueError("is longer than a path may be") from None
        return path

    @field_validator("tls_key")
    @classmethod
    def _is_a_pair(cls, key: Path | None, others: ValidationInfo) -> Path | None:
        if (key is None) != (others.data.get("tls_certificate") is None):
            raise ValueError("PIT_TLS_CERTIFICATE and PIT_TLS_KEY are set together or not at all")
        return key

    @field_validator("operate_tls")
    @classmethod
    def _has_a_certificate(cls, wanted: bool, others: ValidationInfo) -> bool:
        if wanted and others.data.get("tls_certificate") is None:
            raise ValueError("needs PIT_TLS_CERTIFICATE and PIT_TLS_KEY")
        return wanted

    @field_validator("tls_authorities")
    @classmethod
    def _are_authorities(cls, path: Path | None) -> Path | None:
        if path is not None:
            try:
                ssl.create_default_context(cafile=path)
            except OSError as error:
                why = error.strerror if not isinstance(error, ssl.SSLError) else "no certificates"
                raise ValueError(
                    f"{path} cannot be used ({why}); name a PEM file with the certificates of "
                    "your authorities, or leave it empty for the system's"
                ) from None
        return path

    @field_validator("allow_addresses")
    @classmethod
    def _are_networks(cls, text: str) -> str:
        for part in filter(None, text.split(",")):
            ip_network(part.strip())
        return text

    @property
    def allowed_networks(self) -> "tuple[IPv4Network | IPv6Network, ...]":
        return tuple(ip_network(part.strip()) for part in self.allow_addresses.split(",") if part)

    @property
    def archive_directory(self) -> Path:
        return self.archive if self.archive is not None else self.data / "archive"

    @property
    def gateway_target(self) -> str:
        return self.gateway or f"{self.bind}:{self.port_base}"


def _check_store_url(url: str) -> None:
    """Raises `ValueError`; what is wrong with it is not repeated, since it may hold a password."""
    from redis import connection  # noqa: PLC0415 (slow, and not always needed)

    parse: Any = connection.parse_url
    try:
        options = parse(url)
        options.pop("connection_class", connection.Connection)(**options)
        (urlsplit(url).hostname or "localhost").encode("idna")
        if url.startswith("unix:") and "path" not in options:
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(
            "has the form redis://user:password@host:port/number (what is special in a password, "
            "like / or @, as %2F or %40) or unix:///path; behind a ? only what redis-py knows"
        ) from None


def load() -> Settings:
    """Settings from the environment. Raises `SettingsProblem`."""
    problems = [
        f"{name} is not a setting.{_similar(name)}"
        for name in sorted(os.environ)
        if name.upper().startswith(PREFIX)
        and name.upper().removeprefix(PREFIX).lower() not in Settings.model_fields
    ]
    problems += [
        f"{name} is not UTF-8."
        for name, text in sorted(os.environ.items())
        if name.upper().startswith(PREFIX) and not _is_text(text)
    ]
    if problems:
        raise SettingsProblem("\n".join(problems))
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsProblem("\n".join(map(_bad_value, _details(error)))) from None


def effective(settings: Settings) -> dict[str, str]:
    """Every setting in force by the name of its variable, secrets masked."""
    shown: dict[str, str] = {}
    for field in Settings.model_fields:
        content = getattr(settings, field)
        if isinstance(content, SecretStr):
            content = MASK if content.get_secret_value() else ""
        shown[PREFIX + field.upper()] = "" if content is None else _without_password(str(content))
    return shown


def _without_password(text: str) -> str:
    """A URL with its password masked; any other text as it is."""
    scheme, separator, rest = text.partition("://")
    credentials, at, host = rest.rpartition("@")
    if not separator or not at:
        return text
    user = credentials.partition(":")[0]
    return f"{scheme}://{user}:{MASK}@{host}"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _similar(name: str) -> str:
    known = [PREFIX + field.upper() for field in Settings.model_fields]
    close = get_close_matches(name.upper(), known, n=1)
    return f" Did you mean {close[0]}?" if close else " `pit config` lists them all."


def _details(error: ValidationError) -> list[tuple[str, str]]:
    return [(str(line["loc"][0]), line["msg"]) for line in error.errors(include_input=False)]


def _bad_value(detail: tuple[str, str]) -> str:
    field, message = detail
    return f"{PREFIX}{field.upper()} has a bad value: {message}."
