"""`pit store`."""

import sys

from services.cli.common import NO_STORE, explained_store, load_settings
from services.cli.failures import Exit, Failure
from services.log.store import init_store, require_fit


def init(shards: int) -> None:
    """Write the store's meta data, or show what is there."""
    settings = load_settings()
    if not settings.redis_url:
        raise NO_STORE
    try:
        with explained_store():
            fit = require_fit(settings.redis_url)
            meta = init_store(settings.redis_url, shards)
    except ValueError as error:
        raise Failure(
            Exit.USAGE, "the store stays as it is", str(error), "leave --shards out"
        ) from None
    print(f"store {meta.store_id}: {meta.shards} shards, record version {meta.record_version}")
    print(f"{fit.server}, durability {fit.durability}: {fit.promise}")
    for warning in fit.warnings:
        print(f"pit: {warning}", file=sys.stderr)
