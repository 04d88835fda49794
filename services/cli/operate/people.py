"""`pit operate` about persons: find, remove, ban, unban, rename."""

import json
import time

from services.cli.operate.inside import ask, columns, seconds, shown_time
from services.cli.operate.tables import table_name


def person_name(given: str) -> str:
    """`people/{person}`, from that or from the id alone."""
    return given if given.startswith("people/") else f"people/{given}"


def find(target: str, query: str, as_json: bool) -> None:
    people = ask(target, lambda operator: operator.find(query))
    if as_json:
        for person in people:
            until = person.banned_until.ToJsonString() if person.banned else ""
            print(
                json.dumps(
                    {
                        "person": person.name,
                        "name": person.display_name,
                        "tables": list(person.tables),
                        "banned_until": until,
                        "ban_reason": person.ban_reason,
                    }
                )
            )
        return
    if not people:
        print("nobody; a name is found by its beginning")
        return
    rows = [
        (
            person.name,
            person.display_name,
            f"until {shown_time(person.banned_until.seconds)}: {person.ban_reason}"
            if person.banned
            else "-",
            " ".join(person.tables) or "-",
        )
        for person in people
    ]
    print(columns(("person", "name", "banned", "tables"), rows))


def remove(target: str, person: str, table: str, reason: str) -> None:
    done = ask(target, lambda o: o.remove(person_name(person), table_name(table), reason))
    print(f"seat {done.seat} is free; this person cannot sit down there again")


def ban(target: str, person: str, life: str, reason: str) -> None:
    until_s = time.time() + seconds(life, "--for")
    ask(target, lambda operator: operator.ban(person_name(person), until_s, reason))
    print(f"banned until {shown_time(until_s)}; running streams end within two seconds")


def unban(target: str, person: str, reason: str) -> None:
    ask(target, lambda operator: operator.ban(person_name(person), 0, reason))
    print("let in again")


def rename(target: str, person: str, name: str, reason: str) -> None:
    ask(target, lambda operator: operator.rename(person_name(person), name, reason))
    print(f"is called {name} from now on; who sits at a table with them sees it after a new attach")
