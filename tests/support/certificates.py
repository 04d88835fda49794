"""Certificates for doors in tests."""

import datetime as dt
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from services.gateway.doors.tls import TlsFiles

HOUR: dt.timedelta = dt.timedelta(hours=1)


def write_pair(
    files: TlsFiles,
    name: str = "one",
    address: str = "127.0.0.1",
    ends_in: dt.timedelta = HOUR,
) -> bytes:
    """A new certificate for an address, signed by itself; as text."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * HOUR)
        .not_valid_after(now + ends_in)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False
        )
        .sign(key, SHA256())
    )
    text = made.public_bytes(Encoding.PEM)
    for path, content in (
        (files.certificate, text),
        (files.key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())),
    ):
        new = path.with_suffix(".new")
        new.write_bytes(content)
        new.replace(path)
    return text
