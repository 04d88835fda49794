"""The log on Redis or Valkey: its three sides in one place."""

from services.log.redis_gateway import RedisGatewayLog
from services.log.redis_owner import RedisOwnerLog
from services.log.redis_reader import RedisReaderLog

__all__ = ["RedisGatewayLog", "RedisOwnerLog", "RedisReaderLog"]
