"""`pit config`."""

import json

from services.cli.common import load_settings
from services.settings import effective


def show(as_json: bool) -> None:
    """Print every setting in force."""
    settings = effective(load_settings())
    if as_json:
        print(json.dumps(settings, indent=2))
        return
    width = max(map(len, settings))
    for name, content in settings.items():
        print(f"{name:<{width}}  {content}".rstrip())
