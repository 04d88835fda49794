"""The certificate of the doors: read anew when its files have changed, without a restart."""

import ssl
from pathlib import Path
from typing import Any, Final

import structlog

from engine.value import value

log = structlog.get_logger()

ALPN: Final = ["h2"]


class BadCertificate(Exception):
    """The files hold no certificate and key that belong together."""


@value
class TlsFiles:
    """Paths of PEM files: the certificate with its chain, and its key."""

    certificate: Path
    key: Path

    def stamp(self) -> tuple[int, ...]:
        """Differs when a file has been replaced. Raises `OSError`."""
        stats = (self.certificate.stat(), self.key.stat())
        return tuple(part for each in stats for part in (each.st_mtime_ns, each.st_ino))

    def texts(self) -> tuple[bytes, bytes]:
        """Key and certificate. Raises `OSError`."""
        return self.key.read_bytes(), self.certificate.read_bytes()


class Certificate:
    """What new connections are shown. A pair that cannot be read leaves the old one in force."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises `BadCertificate`."""
        self.files = files
        try:
            self._stamp = files.stamp()
            self._context = _context(files)
            self._texts = files.texts()
        except (OSError, ssl.SSLError) as error:
            raise BadCertificate(f"{files.certificate}, {files.key}: {error}") from error

    def changed(self) -> bool:
        """Look at the files; whether there is a new pair now."""
        try:
            stamp = self.files.stamp()
            if stamp == self._stamp:
                return False
            self._stamp = stamp
            self._context = _context(self.files)
            self._texts = self.files.texts()
        except (OSError, ssl.SSLError) as error:
            log.warning("certificate not renewed", error=str(error))
            return False
        log.info("certificate renewed")
        return True

    def context(self) -> ssl.SSLContext:
        """For a server. Each handshake looks whether the files have changed."""

        def on_hello(connection: Any, name: str | None, asked: ssl.SSLContext) -> None:
            self.changed()
            connection.context = self._context

        first = _context(self.files)
        first.sni_callback = on_hello
        return first

    def texts(self) -> tuple[bytes, bytes]:
        """Key and certificate, looked at as by `changed`."""
        self.changed()
        return self._texts


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(ALPN)
    context.load_cert_chain(files.certificate, files.key)
    return context
