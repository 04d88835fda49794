"""The native door: gRPC by `grpc.aio`."""
