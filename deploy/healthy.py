"""Is the process of this container well? `healthy.py [--serves]`; exit code 0 means yes.

It answers on its metrics port; with `--serves` it is also a gateway that takes players.
"""

import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

TIMEOUT_S = 3.0


def answers(port: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT_S) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def serves(port: str) -> bool:
    import grpc  # noqa: PLC0415 - half a second that only gateways need
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    certificate = os.environ.get("PIT_TLS_CERTIFICATE")
    target = f"127.0.0.1:{port}"
    with _secure(target, certificate) if certificate else grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _secure(target: str, certificate: str) -> Any:
    """A channel that trusts this very certificate, whatever name it is for."""
    import grpc  # noqa: PLC0415
    from cryptography import x509  # noqa: PLC0415

    pem = Path(certificate).read_bytes()
    [own, *_] = x509.load_pem_x509_certificates(pem)
    names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    [name, *_] = names.get_values_for_type(x509.DNSName)
    options = (("grpc.ssl_target_name_override", name.replace("*", "any")),)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(pem), options)


def main() -> int:
    well = answers(os.environ["PIT_METRICS_PORT"])
    if well and "--serves" in sys.argv[1:]:
        well = serves(os.environ.get("PIT_PORT_BASE", "7700"))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
