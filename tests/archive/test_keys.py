"""The public key beside an archive."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.archive.keys import public_key, publish
from services.settings import SettingsProblem
from support.archiving import KEY
from support.full_disk import no_room


def test_a_key_that_found_no_room_is_not_taken_for_another_one(tmp_path: Path) -> None:
    with no_room(10), pytest.raises(OSError, match="File too large"):
        publish(KEY, tmp_path)
    assert public_key(tmp_path) is None
    publish(KEY, tmp_path)
    found = public_key(tmp_path)
    assert found is not None
    assert found.public_bytes_raw() == KEY.public_key().public_bytes_raw()


def test_another_key_is_refused(tmp_path: Path) -> None:
    publish(KEY, tmp_path)
    publish(KEY, tmp_path)
    with pytest.raises(SettingsProblem, match="not the key that signed"):
        publish(Ed25519PrivateKey.generate(), tmp_path)
