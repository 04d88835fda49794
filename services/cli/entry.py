"""Where the program `pit` begins: Ctrl-C ends it quietly while Python still reads its modules."""

import signal


def main() -> None:
    """Run `pit`."""
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listens:  # who ignores it, a shell's job in the background, goes on ignoring it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from services.cli.main import main as run

    if listens:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
