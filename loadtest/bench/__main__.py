"""Runs every benchmark there is, or those named: `python -m loadtest.bench core loop`."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import loadtest.bench


def main(names: list[str]) -> int:
    """Exit code 2 for a name that is no benchmark."""
    known = sorted(m.name for m in iter_modules(loadtest.bench.__path__) if m.name[0] != "_")
    unknown = set(names) - set(known)
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return 2
    for name in names or known:
        print(f"== {name}", flush=True)
        import_module(f"loadtest.bench.{name}").main()
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
