"""Is the process of this container well? `healthy.py [--serves]`; exit code 0 means yes.

It answers on its metrics port; with `--serves` it is also a gateway that takes players.
"""

import os
import sys
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

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def main() -> int:
    well = answers(os.environ["PIT_METRICS_PORT"])
    if well and "--serves" in sys.argv[1:]:
        well = serves(os.environ.get("PIT_PORT_BASE", "7700"))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
