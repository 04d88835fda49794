"""`pit operate` about persons: find, remove, ban, unban, rename."""

import json
import time

from services.cli.names import person_name
from services.cli.operate.acts import Act
from services.cli.operate.inside import ask, columns, seconds, shown_time


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


def remove(act: Act, person: str, table: str, reason: str) -> None:
    who = person_name(person)
    done = act.at(table, lambda operator, name, own: operator.remove(who, name, reason, own))
    print(f"seat {done.seat} is free; this person cannot sit down there again")


def ban(act: Act, person: str, life: str, reason: str) -> None:
    who = person_name(person)
    until_s = time.time() + seconds(life, "--for")
    act.do(lambda operator, own: operator.ban(who, until_s, reason, own))
    print(f"banned until {shown_time(until_s)}; running streams end within two seconds")


def unban(act: Act, person: str, reason: str) -> None:
    who = person_name(person)
    act.do(lambda operator, own: operator.ban(who, 0, reason, own))
    print("let in again")


def rename(act: Act, person: str, name: str, reason: str) -> None:
    who = person_name(person)
    act.do(lambda operator, own: operator.rename(who, name, reason, own))
    print(f"is called {name} from now on; who sits at a table with them sees it after a new attach")
