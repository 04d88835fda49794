"""Which signals end a command that starts processes of its own."""

import signal


def ending() -> list[signal.Signals]:
    """SIGTERM, and SIGHUP, which comes when the terminal's window is closed; but that one not where
    it is ignored: whoever started us with `nohup` wants us to go on."""
    hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGHUP] if hangs_up else [signal.SIGTERM]
