"""Image, composition and units: well-formed, true to the settings, and to one another."""

import os
import re
import shlex
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from prometheus_client import CollectorRegistry, start_http_server

from services.log.server import find_server, free_port
from services.settings import PREFIX, Settings
from support.deploy_lines import in_containers, without_containers
from support.gatewayd import GatewayProcess, gateway
from support.guarded import USERS
from support.panels import DASHBOARD
from support.pit import command, environment
from support.require import need

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
ROLES = {"matcher", "gateway", "archiver", "bots"}
BIN = Path(sys.executable).parent


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )


# -------------------------------------------------------------------- as their own tools see them


def test_the_compositions_are_what_compose_reads() -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    done = run(BIN / "check-jsonschema", *schema, *DEPLOY.glob("compose*.yaml"))
    assert done.returncode == 0, done.stdout


def test_a_composition_that_is_wrong_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text("services: {store: {imag: valkey}}")
    done = run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", wrong)
    assert done.returncode == 1


def test_hadolint_has_nothing_to_say() -> None:
    done = run(BIN / "hadolint", DEPLOY / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_can_read_every_unit(unit: Path, tmp_path: Path) -> None:
    for each in UNITS:
        text = each.read_text().replace("/opt/pit/bin/pit", sys.executable)
        (tmp_path / each.name).write_text(text)
    name = unit.name.replace("@.", "@1.")
    done = run(need("systemd"), "verify", "--man=no", tmp_path / name)
    about_ours = [line for line in done.stderr.splitlines() if "pit" in line]
    assert (done.returncode, about_ours) == (0, [])


@pytest.mark.parametrize("script", ["keys.sh", "audit.sh", "valkey/start.sh"])
def test_scripts_are_plain_shell(script: str) -> None:
    assert run("sh", "-n", DEPLOY / script).returncode == 0
    assert os.access(DEPLOY / script, os.X_OK)


# -------------------------------------------------------------------- true to one another


def commands() -> dict[str, list[str]]:
    """How each process is started, wherever that is said."""
    found = {
        f"compose {name}": ["pit", *service["command"]]
        for name, service in compose()["services"].items()
        if service.get("image") == "pit-exchange"
    }
    for unit in UNITS:
        for line in re.findall(r"^ExecStart=/opt/pit/bin/(.*)$", unit.read_text(), re.M):
            found[unit.name] = line.split()
    for line in (DEPLOY / "Procfile").read_text().splitlines():
        name, _, command = line.partition(": ")
        if " pit " in command:
            found[f"Procfile {name}"] = ["pit", *command.partition(" pit ")[2].split()]
    return found


def test_every_command_is_one_of_pit() -> None:
    served = {"compose": set[str](), "Procfile": set[str](), "pit": set[str]()}
    for where, words in commands().items():
        if words not in (["pit", "store", "init"], ["pit", "doctor"]):
            _, verb, role = words
            assert verb == "serve", where
            served[re.split(r"[ -]", where)[0]].add(role)
    assert all(roles == ROLES for roles in served.values()), served


def test_a_store_becomes_a_new_one_only_when_somebody_says_so() -> None:
    """Whatever starts by itself must not: it would make an emptied store look like a new one."""
    assert compose()["services"]["setup"]["profiles"] == ["setup"]
    for service in compose()["services"].values():
        assert "setup" not in service.get("depends_on", {})
    unit = (DEPLOY / "systemd" / "pit-setup.service").read_text()
    assert "[Install]" not in unit
    assert not [each for each in UNITS if "pit-setup" in each.read_text()]
    assert "store init" not in (DEPLOY / "Procfile").read_text()


def test_every_setting_named_is_one() -> None:
    texts = [*DEPLOY.glob("compose*.yaml"), DEPLOY / "Dockerfile", DEPLOY / "Procfile", *UNITS]
    named = {
        name for path in texts for name in re.findall(rf"\b({PREFIX}[A-Z_]+)\b", path.read_text())
    }
    known = {PREFIX + field.upper() for field in Settings.model_fields}
    assert {"PIT_REDIS_URL", "PIT_TOKEN_KEYS", "PIT_ARCHIVE_KEY"} <= named
    assert named <= known


def test_prometheus_looks_where_the_processes_are() -> None:
    [job] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    [port] = re.findall(r"PIT_METRICS_PORT=(\d+)", (DEPLOY / "Dockerfile").read_text())
    watched = {
        target: each["labels"]["process"]
        for each in job["static_configs"]
        for target in each["targets"]
    }
    served = {
        f"{name}:{port}": service["command"][1]
        for name, service in compose()["services"].items()
        if service.get("command", [""])[0] == "serve"
    }
    assert watched == served


def test_every_process_has_the_keys_it_needs_and_no_others() -> None:
    keys = {
        name: {each for each in service.get("environment", {}) if re.search("KEY|PASSWORD", each)}
        for name, service in compose()["services"].items()
    }
    assert keys.pop("store") == {f"STORE_PASSWORD_{user.upper()}" for user in USERS}
    assert keys.pop("grafana") == {"GF_SECURITY_ADMIN_PASSWORD"}
    assert {name: each for name, each in keys.items() if each} == {
        "gateway-1": {"PIT_TOKEN_KEYS"},
        "gateway-2": {"PIT_TOKEN_KEYS"},
        "operator": {"PIT_TOKEN_KEYS"},
        "bots": {"PIT_TOKEN_KEYS"},
        "archiver": {"PIT_ARCHIVE_KEY"},
    }


def test_processes_use_their_own_user_of_the_store() -> None:
    for name, service in compose()["services"].items():
        url = service.get("environment", {}).get("PIT_REDIS_URL", "")
        if url:
            user = re.sub(r"-\d$", "", name)
            assert url.startswith(f"redis://{user}:${{STORE_PASSWORD_{user.upper()}:?")


def test_nothing_but_the_game_is_open_to_others() -> None:
    for name, service in compose()["services"].items():
        for port in service.get("ports", []):
            assert port.startswith(
                "${PLAY_ADDRESS:-127.0.0.1}:770" if "gateway" in name else "127.0.0.1:"
            )
        if "gateway" not in name and "ports" not in service:
            assert service["networks"] == ["inside"]
    assert compose()["networks"]["inside"] == {"internal": True}


def test_what_is_mounted_is_there() -> None:
    volumes = compose()["volumes"]
    for service in compose()["services"].values():
        for mount in service.get("volumes", []):
            source = mount.partition(":")[0]
            assert source in volumes or (DEPLOY / source).exists(), mount
    [provider] = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/pit.yaml").read_text())[
        "providers"
    ]
    mounts = compose()["services"]["grafana"]["volumes"]
    assert f"./grafana/{DASHBOARD.name}:{provider['options']['path']}/{DASHBOARD.name}:ro" in mounts


# -------------------------------------------------------------------- what can be run, run


def test_keys_are_made_once_and_are_what_the_composition_asks_for(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    assert run("sh", DEPLOY / "keys.sh", file).returncode == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    made = dict(line.split("=", 1) for line in file.read_text().splitlines())
    asked = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text()))
    assert set(made) == asked
    assert len(set(made.values())) == len(made)
    Settings(token_keys=made["PIT_TOKEN_KEYS"], archive_key=made["PIT_ARCHIVE_KEY"])
    again = run("sh", DEPLOY / "keys.sh", file)
    assert again.returncode == 1
    assert "exists" in again.stderr


def test_the_readme_s_lines_set_a_store_up(tmp_path: Path) -> None:
    """Those without containers, on a free port, up to the processes themselves."""
    *lines, last = without_containers()
    assert last == "honcho -e .env -f deploy/Procfile start"
    port = free_port()
    script = "\n".join(["set -e", *lines, "kill $!"])
    script = script.replace(":6379/", f":{port}/").replace("--bind", f"--port {port} --bind")
    script = script.replace(
        " &\n", f" &\n{WAIT_UNTIL_IT_LISTENS.format(python=sys.executable, port=port)}\n"
    )
    (tmp_path / "deploy").symlink_to(DEPLOY)
    (tmp_path / "pit").write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    (tmp_path / "pit").chmod(0o700)
    settings = environment(PATH=f"{tmp_path}:/usr/bin:/bin", VALKEY_SERVER=str(find_server()))
    done = run("sh", "-c", script, cwd=tmp_path, env=settings)
    assert done.returncode == 0, done.stderr
    assert re.search(r"store \w+: 16 shards", done.stdout)


WAIT_UNTIL_IT_LISTENS = """
until {python} -c 'import socket; socket.create_connection(("127.0.0.1", {port}), 1)' 2> /dev/null
do kill -0 $!; done
"""


def test_the_readme_s_lines_name_services_of_the_composition() -> None:
    lines = re.findall(r"docker compose[^()\n]*", "\n".join(in_containers()))
    assert len(lines) == 5
    services = compose()["services"]
    for _docker, _verb, option, path, act, *rest in map(shlex.split, lines):
        assert (option, path) == ("-f", "deploy/compose.yaml")
        assert act in {"run", "up", "exec"}
        if act == "up":
            assert rest == ["-d"]
            continue
        named = next(place for place, word in enumerate(rest) if word in services)
        assert set(rest[:named]) <= {"--rm", "-T", "-e", "PIT_OPERATOR_TOKEN"}
        # `run` puts its words behind the image's entry point, `exec` begins anew.
        assert rest[named + 1 : named + 2] == (["pit"] if act == "exec" else ["doctor"]) or (
            rest[named] == "setup"
        )


def test_a_person_s_services_start_by_hand_and_write_only_what_they_must() -> None:
    services = compose()["services"]
    for name in ("setup", "backup"):
        assert services[name]["profiles"] == [name]
        assert services[name]["restart"] == "no"
        assert "backups:/var/lib/pit" in services[name]["volumes"]
    assert "records:/records:ro" in services["backup"]["volumes"]


def well(*arguments: str, **settings: str) -> bool:
    script = DEPLOY / "healthy.py"
    environment = {"PATH": os.environ["PATH"], **settings}
    return run(sys.executable, script, *arguments, env=environment).returncode == 0


def test_a_process_is_well_while_it_answers(valkey_url: str, tmp_path: Path) -> None:
    port = str(free_port())
    assert not well(PIT_METRICS_PORT=port)
    with gateway(valkey_url, tmp_path, PIT_METRICS_PORT=port) as started:
        settings = {"PIT_METRICS_PORT": port, "PIT_PORT_BASE": str(started.port)}
        assert wait_until_well(started, settings)
        assert started.stop() == 0
    assert not well("--serves", **settings)


def test_a_gateway_with_tls_is_well_too(valkey_url: str, tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    port = str(free_port())
    with gateway(valkey_url, tmp_path, PIT_METRICS_PORT=port, **tls) as started:
        settings = {"PIT_METRICS_PORT": port, "PIT_PORT_BASE": str(started.port), **tls}
        assert wait_until_well(started, settings)
        assert not well("--serves", PIT_METRICS_PORT=port, PIT_PORT_BASE=str(started.port))


def self_signed(directory: Path) -> dict[str, str]:
    """A certificate for play.example.org and its key, as settings."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "play.example.org")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("play.example.org")]), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (directory / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return {
        "PIT_TLS_CERTIFICATE": str(directory / "certificate.pem"),
        "PIT_TLS_KEY": str(directory / "key.pem"),
    }


def wait_until_well(started: GatewayProcess, settings: dict[str, str]) -> bool:
    while started.process.poll() is None:
        if well("--serves", **settings):
            return True
    return False


def test_a_gateway_that_serves_nobody_is_not_well() -> None:
    port = free_port()
    server, thread = start_http_server(port, "127.0.0.1", CollectorRegistry())
    try:
        settings = {"PIT_METRICS_PORT": str(port), "PIT_PORT_BASE": str(free_port())}
        assert well(**settings)
        assert not well("--serves", **settings)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
