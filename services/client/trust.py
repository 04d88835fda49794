"""Gateways that speak TLS: how they are named, whom a client believes, and why it does not.

A gateway is named `host:port`, or `https://host:port` where it speaks TLS (443 where no port is
said). Its certificate must come from one of the system's authorities, or of those in a file that
the program names. What is wrong with a certificate grpcio tells as one more failed connection, so
it is asked for once more, by Python's own TLS, when nobody else has an answer.
"""

import asyncio
import ssl
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import grpc
from grpc import StatusCode, aio

from engine.value import value
from services.client.errors import Refused

HTTPS_PORT: Final = 443
LOOK_S: Final = 3.0
"""A gateway that is there has shaken hands long before."""
UNTRUSTED: Final = "UNTRUSTED"
"""Reason of an `Untrusted`, which no exchange gives."""
_REMEDIES: Final = {
    10: "its operators have to renew it; or this machine's clock is wrong",  # has expired
    62: "name the gateway as its certificate does",  # another host's
    64: "name the gateway as its certificate does",  # another address's
}
"""By OpenSSL's code of what was found. What is not here is a matter of whom we believe."""
_AUTHORITIES: Final = (
    "if the exchange has an authority of its own, PIT_TLS_AUTHORITIES names the file of its "
    "certificate; else whoever answers there is not who you meant"
)


class BadTarget(ValueError):
    """What is no name of a gateway."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} names no gateway: write HOST:PORT, or https://HOST:PORT")


class Untrusted(Refused):
    """Somebody listens there, but not so that we could speak: `message` says why, `remedy` what
    helps."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(StatusCode.UNAVAILABLE, UNTRUSTED, message)
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}: {self.remedy}"


@value
class Target:
    """Where a gateway listens."""

    host: str
    port: int
    secure: bool

    @property
    def address(self) -> str:
        """As sockets are written."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse(text: str) -> Target:
    """Raises `BadTarget`."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        secure = parts.scheme == "https"
        port = parts.port or (HTTPS_PORT if secure else 0)
    except ValueError:
        raise BadTarget(text) from None
    rest = parts.path.strip("/") + parts.query + parts.fragment + (parts.username or "")
    if not parts.hostname or not port or rest or parts.scheme not in ("", "http", "https"):
        raise BadTarget(text)
    return Target(parts.hostname, port, secure)


def context(authorities: Path | None) -> ssl.SSLContext:
    """Of a client that believes the authorities in this file, or the system's. Raises `OSError`."""
    made = ssl.create_default_context(cafile=authorities)
    made.set_alpn_protocols(["h2"])
    return made


def open_channel(
    target: Target, authorities: Path | None, options: tuple[tuple[str, int], ...]
) -> aio.Channel:
    """A channel there, not connected yet. Raises `OSError` where the file cannot be read."""
    if not target.secure:
        return aio.insecure_channel(target.address, options=options)
    roots = _system_roots() if authorities is None else authorities.read_bytes()
    return aio.secure_channel(target.address, _credentials(roots), options=options)


@lru_cache(maxsize=4)
def _credentials(roots: bytes | None) -> grpc.ChannelCredentials:
    """Kept: reading a hundred authorities for each channel costs more than the channel."""
    return grpc.ssl_channel_credentials(roots)


def _system_roots() -> bytes | None:
    """The authorities that Python's TLS believes; `None`, grpcio's own, where it has none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        return Path(paths.cafile).read_bytes()
    files = sorted(Path(paths.capath).glob("*.[0-9]")) if paths.capath else []
    return b"\n".join(path.read_bytes() for path in files) or None


async def why_not(target: Target, authorities: Path | None) -> Untrusted | None:
    """After a failed connection: whether TLS is the reason. `None` where it is something else."""
    if target.secure:
        try:
            await _shake_hands(target, context(authorities))
        except ssl.SSLCertVerificationError as error:
            remedy = _REMEDIES.get(error.verify_code, _AUTHORITIES)
            why = f"the certificate of {target.address} is not trusted: {error.verify_message}"
            return Untrusted(why.rstrip("."), remedy)
        except ssl.SSLError as error:
            return Untrusted(
                f"no TLS with {target.address}: {error.reason or error}",
                f"if it speaks none, write {target.address} without https://",
            )
        except (OSError, TimeoutError):
            pass
        return None
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE  # nothing is said there, and nothing believed
    anybody.set_alpn_protocols(["h2"])
    try:
        await _shake_hands(target, anybody)
    except (OSError, TimeoutError):
        return None
    return Untrusted(f"{target.address} speaks TLS", f"write https://{target.address}")


async def _shake_hands(target: Target, tls: ssl.SSLContext) -> None:
    """Raises `OSError`, `TimeoutError`."""
    async with asyncio.timeout(LOOK_S):
        _, writer = await asyncio.open_connection(target.host, target.port, ssl=tls)
    writer.transport.abort()
