"""Programs that know HTTP/2 and nothing of us: curl, nghttp and h2load, at both doors."""

import asyncio
import re
from pathlib import Path

import pytest

from services.gateway.doors.opening import Kind
from support.doors import both_doors, listening
from support.front import Front
from support.require import need

EMPTY = bytes(5)
"""An empty message, as a call's body has it."""
SERVING = b"\0\0\0\0\x02\x08\x01"
HEADERS = ("-H", "content-type: application/grpc", "-H", "te: trailers")
CHECK = "/grpc.health.v1.Health/Check"


async def run(program: Path, *arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        str(program),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, output.decode(errors="replace")
    return output


@pytest.fixture
def body(tmp_path: Path) -> str:
    path = tmp_path / "body"
    path.write_bytes(EMPTY)
    return str(path)


@both_doors
async def test_curl(kind: Kind, body: str) -> None:
    """It says how long its body is, which no client of gRPC does."""
    curl = need("curl")
    async with Front() as front, listening(front, kind) as (_, port):
        url = f"http://127.0.0.1:{port}{CHECK}"
        sent = ("-s", "-i", "--http2-prior-knowledge", *HEADERS, "--data-binary", f"@{body}")
        output = await run(curl, *sent, url)
    assert output.startswith(b"HTTP/2 200")
    assert SERVING in output
    assert b"grpc-status: 0" in output


async def test_curl_is_told_that_this_is_no_web_page() -> None:
    curl = need("curl")
    async with Front() as front, listening(front, "h2") as (_, port):
        said = ("-s", "-o", "/dev/null", "-w", "%{http_code}", "--http2-prior-knowledge")
        assert await run(curl, *said, f"http://127.0.0.1:{port}/") == b"405"
        assert await run(curl, *said, "-X", "POST", f"http://127.0.0.1:{port}/") == b"415"


@both_doors
async def test_nghttp(kind: Kind, body: str) -> None:
    """It begins with priorities of calls that never come."""
    need("nghttp2")
    async with Front() as front, listening(front, kind) as (_, port):
        url = f"http://127.0.0.1:{port}{CHECK}"
        output = await run(Path("nghttp"), "-v", *HEADERS, "-d", body, url)
    assert re.search(rb"recv \(stream_id=\d+\) grpc-status: 0", output)
    assert SERVING in output
    assert b"RST_STREAM" not in output


@pytest.mark.all
@both_doors
async def test_h2load(kind: Kind, body: str) -> None:
    """Many calls at one time on many connections, with the smallest windows there are."""
    h2load = need("nghttp2")
    async with Front() as front, listening(front, kind) as (_, port):
        url = f"http://127.0.0.1:{port}{CHECK}"
        for load in (
            ("-n", "2000", "-c", "10", "-m", "30"),
            ("-n", "500", "-c", "5", "-m", "100", "-w", "1", "-W", "16"),
        ):
            output = await run(h2load, *load, *HEADERS, "-d", body, url)
            count = load[1].encode()
            assert b"%s succeeded, 0 failed, 0 errored, 0 timeout" % count in output
            assert b"status codes: %s 2xx" % count in output
