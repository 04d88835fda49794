"""`pit serve`: one process of the exchange, with settings checked and failures explained."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module

from services.cli.common import (
    NO_STORE,
    explained_store,
    load_settings,
    settings_failure,
)
from services.logs import configure
from services.settings import SettingsProblem

PARENT_CHECK_S = 0.5
PR_SET_PDEATHSIG = 1
MODULES = {
    "matcher": "services.matcher.main",
    "gateway": "services.gateway.main",
    "archiver": "services.archive.main",
    "bots": "services.bots.main",
}


def serve(role: str, parent: int, **options: object) -> int:
    """Run one process until it is told to stop; its exit code."""
    if parent:
        end_with(parent)
    settings = load_settings()
    if role != "bots" and not settings.redis_url:
        raise NO_STORE
    configure(settings.log_format, process=role)
    run: Callable[..., int] = import_module(MODULES[role]).run
    try:
        with explained_store():
            return run(settings, **options)
    except SettingsProblem as problem:
        raise settings_failure(str(problem)) from None


def end_with(parent: int) -> None:
    """Let this process be killed when `parent` is gone, however that one ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    if sys.platform != "linux":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(0)
