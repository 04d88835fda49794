"""The archive's signing key: private in PIT_ARCHIVE_KEY, public beside the records."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from services.settings import SettingsProblem

PUBLIC_KEY_FILE = "public-key.hex"
KEY_BYTES = 32


def private_key(key_hex: str) -> Ed25519PrivateKey:
    """From PIT_ARCHIVE_KEY. Raises `SettingsProblem`, never naming the key's content."""
    if not key_hex:
        raise SettingsProblem(
            "PIT_ARCHIVE_KEY is not set: finished games could not be signed. "
            "Make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
        )
    try:
        raw = bytes.fromhex(key_hex)
        return Ed25519PrivateKey.from_private_bytes(raw)
    except ValueError:
        raise SettingsProblem(f"PIT_ARCHIVE_KEY must be {KEY_BYTES * 2} hex digits.") from None


def publish(key: Ed25519PrivateKey, root: Path) -> None:
    """Put the public key beside the archive. Raises `SettingsProblem` if another one is there."""
    path = root / PUBLIC_KEY_FILE
    text = key.public_key().public_bytes_raw().hex()
    if not path.exists():
        unfinished = path.with_name(path.name + ".new")  # half a key would be taken for another one
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)
    elif path.read_text(encoding="utf-8").strip() != text:
        raise SettingsProblem(
            f"PIT_ARCHIVE_KEY is not the key that signed the games in {root} "
            f"(see {path}). Use the old key, or another PIT_ARCHIVE directory."
        )


def public_key(root: Path) -> Ed25519PublicKey | None:
    """The key beside the archive, `None` where there is none or it is no key."""
    return parse_public_key(root / PUBLIC_KEY_FILE)


def parse_public_key(path: Path) -> Ed25519PublicKey | None:
    try:
        return Ed25519PublicKey.from_public_bytes(
            bytes.fromhex(path.read_text(encoding="utf-8").strip())
        )
    except (OSError, ValueError):
        return None
