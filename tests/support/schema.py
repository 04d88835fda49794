"""Looking up fields of the public schema by dotted paths."""

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pit.v1 import identity_pb2, lobby_pb2, operate_pb2, play_pb2, record_pb2, table_pb2

FILES = (identity_pb2, lobby_pb2, operate_pb2, play_pb2, record_pb2, table_pb2)


def find_message(name: str) -> Descriptor:
    """`Offer`; raises `KeyError` where the schema has none of this name."""
    for file in FILES:
        found = file.DESCRIPTOR.message_types_by_name.get(name)
        if found is not None:
            return found
    raise KeyError(name)


def find_field(path: str) -> FieldDescriptor:
    """`Offer.lot.count`; raises `KeyError` where the schema has no such field."""
    name, *steps = path.split(".")
    message = find_message(name)
    assert steps, f"{path} names no field"
    for step in steps[:-1]:
        message = message.fields_by_name[step].message_type
    return message.fields_by_name[steps[-1]]
