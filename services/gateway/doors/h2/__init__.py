"""The fast door: gRPC by `services.http2`."""
