"""Configuration of every process: `PIT_*` variables, checked at start.

An unknown `PIT_*` variable or a bad value stops the process with a message that names it; `pit
config` prints what is in force, secrets masked.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What a process needs to know about where it runs."""

    model_config = SettingsConfigDict(env_prefix="PIT_", extra="forbid")

    redis_url: str = ""
    """The store. Empty: only `pit demo` and tests, which start an embedded Valkey."""
    data: Path = Path("data")
    """Directory of the embedded server, its keys and the archive."""
    port_base: int = Field(default=7700, ge=1, le=65_000)
    """gRPC listens here, web on +80, metrics from +90."""
    bind: str = "127.0.0.1"
    name: str = ""
    """Name of this process among its like; empty: host and process id."""
    token_keys: SecretStr = SecretStr("")
    """`kid:hex,kid:hex`: newest first; the first signs, all verify."""
    archive: Path | None = None
    """Directory of the records; `<data>/archive` unless set."""
    archive_key: SecretStr = SecretStr("")
    """Ed25519 private key, hex; signs finished games."""
    log_format: Literal["auto", "json", "console"] = "auto"
    crash_at: str = ""
    """Tests only: `label:n` ends the process at the n-th passing of a named place."""
    require: str = ""
    """Tests only: tools that must be there, comma separated; elsewhere their absence skips."""
    native_door: Literal["grpc.aio"] = "grpc.aio"


def load() -> Settings:
    """Settings from the environment. Raises `pydantic.ValidationError`."""
    return Settings()
