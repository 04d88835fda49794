"""gRPC over HTTP/2 on asyncio, for a server and for a client: bytes in, calls out. See README."""
