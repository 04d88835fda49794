"""How much of what a connection may still send before it counts as a flood."""

from typing import Final

from services.http2 import frames
from services.http2.frames import Violation
from services.http2.limits import Limits

SETTINGS_EVERY_S: Final = 60.0


class Budget:
    """Refilled as time goes; a frame that is not covered is a `Violation`."""

    __slots__ = ("_controls", "_last_ping_s", "_limits", "_refilled_s", "_resets", "_settings",
                 "_settings_s", "_strikes", "frames")  # fmt: skip

    def __init__(self, limits: Limits, now_s: float) -> None:
        self._limits = limits
        self._last_ping_s = now_s - limits.ping_every_s
        self._strikes = 0
        self._settings_s = now_s
        self._settings = limits.settings_max
        self.refill(now_s)

    def refill(self, now_s: float) -> None:
        """Called about once a second."""
        self.frames = self._limits.frames_per_s
        """Counted down by the connection itself: it is its most frequent act."""
        self._controls = self._limits.control_frames_per_s
        self._resets = self._limits.resets_per_s
        self._refilled_s = now_s
        if now_s - self._settings_s >= SETTINGS_EVERY_S:
            self._settings = self._limits.settings_max
            self._settings_s = now_s

    def spend_control(self, kind: int) -> None:
        """One frame for the library."""
        self._controls -= 1
        if self._controls < 0:
            raise Violation(frames.ENHANCE_YOUR_CALM, "too_many_frames")
        if kind == frames.RST_STREAM:
            self.spend_reset()
        elif kind == frames.SETTINGS:
            self._settings -= 1
            if self._settings < 0:
                raise Violation(frames.ENHANCE_YOUR_CALM, "too_many_settings")

    def spend_reset(self) -> None:
        """One call that is no more: reset by the peer, or malformed, so that we must reset it
        (CVE-2025-8671)."""
        self._resets -= 1
        if self._resets < 0:
            raise Violation(frames.ENHANCE_YOUR_CALM, "too_many_resets")

    def spend_ping(self, now_s: float, sent_since: bool) -> None:
        """A ping of the peer. `sent_since`: whether it was sent a call's content since the last."""
        if sent_since:
            self._strikes = 0
        elif now_s - self._last_ping_s < self._limits.ping_every_s:
            self._strikes += 1
            if self._strikes > self._limits.ping_strikes:
                raise Violation(frames.ENHANCE_YOUR_CALM, "too_many_pings")
        self._last_ping_s = now_s
