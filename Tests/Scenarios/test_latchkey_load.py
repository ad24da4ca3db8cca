"""The load generator: every workload against the real server, and its reports on wrong answers and on a stall."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import Client, fresh_email, password, session
from configuration import KEYS
from metrics import ON_A_FREE_PORT, address
from paths import ROOT
from ports import free_port
from processes import LATCHKEYD, Server, Simulator
from verification import POLICY

LOAD = Path(os.environ.get("LATCHKEY_LOAD", LATCHKEYD.parent / "latchkey-load"))
Report = dict[str, Any]

# The calls of each workload, by the rows of the report.
WORKLOADS = {
    "health": {"Health/Check"},
    "watch-health": {"Health/Watch"},
    "fetch": {"AuthService/FetchProviders"},
    "fetch-pending": {"AuthService/FetchProviders"},
    "sign-in-password": {"AuthService/SignIn"},
    "sign-in-anonymous": {"AuthService/SignIn"},
    "sign-in-id-token": {"AuthService/SignIn"},
    "sign-in-custom-token": {"AuthService/SignIn"},
    "refresh": {"SessionService/Refresh"},
    "link-unlink": {"AuthService/Link", "AuthService/Unlink"},
    "reauthenticate": {"AuthService/Reauthenticate"},
    "create-delete": {"AccountService/Create", "AccountService/Delete"},
    "get": {"AccountService/Get"},
    "update": {"AccountService/Update"},
    "merge": {"AuthService/SignIn", "AccountService/Merge", "SessionService/VerifyIdToken"},
    "verify": {"SessionService/VerifyIdToken"},
    "signing-keys": {"SessionService/GetSigningKeys"},
    "sign-out": {"AuthService/SignIn", "SessionService/SignOut", "SessionService/VerifyIdToken"},
    "revoke-all": {"AuthService/SignIn", "SessionService/RevokeAll", "SessionService/VerifyIdToken"},
    "end-session": {"AuthService/SignIn", "SessionService/EndSession", "SessionService/VerifyIdToken"},
    "session-cookie": {"AuthService/SignIn", "SessionService/CreateSessionCookie",
                       "SessionService/VerifySessionCookie"},
    "list-sessions": {"SessionService/ListSessions"},
    "list-providers": {"ProviderFlowService/ListProviders"},
    "start-flow": {"ProviderFlowService/StartFlow"},
    "second-factor": {"AuthService/SignIn", "SecondFactorService/StartEnrollment",
                      "SecondFactorService/FinishEnrollment", "SecondFactorService/StartSecondFactor",
                      "SecondFactorService/FinishSecondFactor", "SecondFactorService/Withdraw"},
    "send-phone-code": {"VerificationService/SendPhoneCode"},
    "send-email-link": {"VerificationService/SendEmailLink"},
    "send-email-code": {"VerificationService/SendEmailCode"},
    "send-email-verification": {"VerificationService/SendEmailVerification"},
    "send-password-reset": {"VerificationService/SendPasswordReset"},
    "send-email-change": {"VerificationService/SendEmailChange"},
    "check-code": {"VerificationService/CheckCode"},
    "confirm-email": {"VerificationService/ConfirmEmail"},
    "reset-password": {"VerificationService/ResetPassword"},
    "lookup": {"AdminService/Lookup"},
    "list-accounts": {"AdminService/List"},
    "set-disabled": {"AuthService/SignIn", "AdminService/SetDisabled", "SessionService/VerifyIdToken"},
    "set-custom-claims": {"AdminService/SetCustomClaims"},
    "revoke-sessions": {"AuthService/SignIn", "AdminService/RevokeSessions", "SessionService/VerifyIdToken"},
    "delete-account": {"AuthService/SignIn", "AdminService/DeleteAccount", "SessionService/VerifyIdToken"},
    "remove-factors": {"AdminService/ImportAccounts", "AdminService/RemoveSecondFactors"},
    "unlink-provider": {"AdminService/ImportAccounts", "AdminService/UnlinkProvider"},
    "provision-account": {"AdminService/CreateAccount", "AdminService/UpdateAccount"},
    "search": {"AdminService/Search"},
    "list-events": {"AdminService/ListEvents"},
    "diagnose": {"AdminService/DiagnoseSignIn"},
    "unlock": {"AdminService/Unlock"},
    "account-sessions": {"AdminService/ListSessions"},
    "list-messages": {"AdminService/ListMessages"},
    "custom-token": {"AdminService/CreateCustomToken"},
    "import-accounts": {"AdminService/ImportAccounts"},
    "export-accounts": {"AdminService/ExportAccounts"},
    "watch-events": {"AuthService/SignIn", "EventService/Watch"},
    "conflict": {"AuthService/SignIn", "AuthService/FetchProviders", "AuthService/Unlink"},
    "handshake": {"TLS handshake", "Health/Check"},
}

# Calls without a workload; the tool states the reason.
LEFT_OUT = {"ServerReflection/ServerReflectionInfo", "ProviderFlowService/RevokeToken"} | {
    f"AdminService/{name}" for name in (
        "Backup", "GetMasterKeyStatus", "ListSigningKeys", "RotateSigningKeys", "RevokeSigningKey", "CreateEmailLink",
        "Invite", "SetSecondFactors", "LinkIdentity", "DeleteAccounts", "SetAccountsDisabled", "ForgetAccount",
        "SetTransferSubjects", "ExportAccount", "ResendMessage")} | {
    f"PasskeyService/{name}" for name in (
        "StartRegistration", "FinishRegistration", "StartSignIn", "ListPasskeys", "RenamePasskey", "RemovePasskey")}


@pytest.fixture(scope="module")
def roomy(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server that sends all messages, also repeatedly to the same recipient."""
    running = Server.start(
        folder, simulator, policy={**POLICY, "email_code": "code"}, tokens={"session_cookies": True}, throttles={
            "sends_per_recipient_max": 0, "resets_per_recipient_max": 0, "changes_per_account_max": 0})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def tokens(folder: Path, simulator: Simulator) -> list[str]:
    """Lines of tokens, enough of each kind; each test has its own part of them."""
    made = subprocess.run(
        [sys.executable, ROOT / "deploy/load/tokens.py", "--folder", simulator.folder, "--count", "40"],
        stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout.splitlines()


def command(server: Server, *arguments: object, key: str = "web") -> list[str]:
    for name in (key, "admin"):
        (server.folder / f"{name}.apikey").write_text(KEYS[name])
    whole = [LOAD, *arguments, "--server", server.address, "--ca", server.folder / "authority.pem",
             "--api-key-file", server.folder / f"{key}.apikey", "--admin-key-file", server.folder / "admin.apikey"]
    return [str(each) for each in whole]


def load(server: Server, *arguments: object, code: int = 0, seconds: float = 0.5, key: str = "web") -> Report:
    """A short run with few calls in flight, and a check of its exit code."""
    short = ("--duration", seconds, "--warm-up", 0.1, "--connections", 2, "--streams", 2, "--prepare", 4)
    run = subprocess.run(command(server, *short, *arguments, "--json", "-", key=key), capture_output=True, text=True,
                         timeout=120)
    assert run.returncode == code, run.stderr + run.stdout
    report: Report = json.loads(run.stdout)
    return report


def rows(report: Report) -> dict[str, Report]:
    return {row["name"]: row for row in report["calls"]}


def adds_up(report: Report) -> None:
    """The answers are the same when counted by call, by second, by minute and in total."""
    failed = report["refused"] + report["wrong"] + report["lost"]
    for name in ("calls", "seconds", "minutes"):
        assert sum(each["ok"] for each in report[name]) == report["ok"], name
        assert sum(each["failed"] for each in report[name]) == failed, name
    assert sum(flaw["count"] for row in report["calls"] for flaw in row["flaws"]) == failed
    for row in report["calls"] + report["iterations"]:
        micros = row["micros"]
        order = [micros[name] for name in ("min", "p50", "p90", "p99", "p999", "p9999", "max")]
        assert order == sorted(order) and (order[0] > 0 or row["ok"] == 0)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_runs_and_all_its_answers_are_right(
        roomy: Server, serve: Callable[..., Server], tokens: list[str], tmp_path: Path, workload: str) -> None:
    # Conflicts make accounts with their addresses, which another test cannot make again.
    kept = {"conflict": tokens[80:110], "fetch-pending": tokens[110:]}.get(workload, tokens[:80])
    (tmp_path / "tokens.jsonl").write_text("\n".join(kept))
    # A slow server cannot export the accounts of all other workloads within a run.
    server = serve() if workload == "export-accounts" else roomy
    # A busy machine may need longer for the first answer.
    for seconds in (0.5, 10):
        report = load(server, workload, "--tokens", tmp_path / "tokens.jsonl", seconds=seconds)
        if report["iterations"][0]["ok"] > 0:
            break
    adds_up(report)
    assert WORKLOADS[workload] <= set(rows(report))
    assert report["ok"] > 0 and report["iterations"][0]["ok"] > 0
    assert [row["name"] for row in report["iterations"]] == [workload]
    if len(WORKLOADS[workload]) == 1:
        calls = 2 if workload == "list-accounts" else 1  # two pages
        assert report["iterations"][0]["ok"] * calls == report["ok"]


def test_every_call_of_the_contract_is_in_a_workload_or_left_out_with_a_reason() -> None:
    calls = set()
    for path in (ROOT / "proto").glob("**/*.proto"):
        # The server is a client of these.
        if {"opentelemetry", "hooks"} & set(path.parts):
            continue
        text = re.sub(r"//.*", "", path.read_text())
        for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.DOTALL | re.MULTILINE):
            calls |= {f"{service}/{name}" for name in re.findall(r"\brpc (\w+)", body)}
    assert len(calls) > 40
    assert set().union(*WORKLOADS.values()) == calls - LEFT_OUT | {"TLS handshake"}
    assert calls >= LEFT_OUT
    told = subprocess.run([LOAD, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    workloads, left_out = told.partition("Workloads:")[2].partition("ARGUMENTS:")[0].split("Calls without a workload:")
    assert set(re.findall(r"^  ([a-z-]+)  +\S", workloads, re.MULTILINE)) == set(WORKLOADS)
    assert set(re.findall(r"^  (\w+/\w+): \S", left_out, re.MULTILINE)) == LEFT_OUT


def every_part(server: Server, simulator: Simulator, folder: Path, iterations: int, seconds: int) -> Report:
    """Runs the mix in the folder. A busy machine gets more time for as many iterations, if one part has no answer."""
    for longer in (seconds, seconds * 5):
        made = subprocess.run(
            [sys.executable, ROOT / "deploy/load/tokens.py", "--folder", simulator.folder, "--count", "10"],
            stdout=subprocess.PIPE, check=True)
        (folder / "tokens.jsonl").write_bytes(made.stdout)
        report = load(server, "--scenario", folder / "mix.json5", "--tokens", folder / "tokens.jsonl", "--rate",
                      iterations // longer, "--plot", folder / "plot.svg", seconds=longer)
        adds_up(report)
        if all(row["ok"] > 0 for row in report["iterations"]):
            break
    return report


def test_all_workloads_can_be_mixed_in_an_open_loop(
        roomy: Server, simulator: Simulator, tmp_path: Path) -> None:
    names = [name for name in WORKLOADS if name != "handshake"]
    (tmp_path / "mix.json5").write_text(json.dumps({"mix": [{"workload": name} for name in names]}))
    report = every_part(roomy, simulator, tmp_path, iterations=320, seconds=4)
    assert [row["name"] for row in report["iterations"]] == names
    assert all(row["ok"] > 0 for row in report["iterations"]), report["iterations"]
    assert set(rows(report)) == set().union(*WORKLOADS.values()) - {"TLS handshake"}


def test_only_an_error_with_the_expected_reason_is_a_right_answer(server: Server) -> None:
    """An error with another reason is not a correct answer: here the caller has no right to the call."""
    report = load(server, "check-code", code=1, key="reader")
    assert report["refused"] > 0 and report["ok"] == 0
    assert [flaw["why"] for flaw in report["calls"][0]["flaws"]] == ["PERMISSION_DENIED CALLER_NOT_ALLOWED"]


def test_more_watchers_than_a_caller_may_have_are_refused(serve: Callable[..., Server]) -> None:
    server = serve(limits={"watchers_per_caller_max": 2})
    report = load(server, "watch-events", code=1)
    assert {flaw["why"] for flaw in rows(report)["EventService/Watch"]["flaws"]} == {
        "RESOURCE_EXHAUSTED QUOTA_EXCEEDED"}


def test_the_mixed_scenario_runs_all_of_its_parts(
        server: Server, simulator: Simulator, tmp_path: Path) -> None:
    # With its real weights two seconds would be too short for the rare workloads. Without a rate there would be more
    # conflicts than five accounts may have in ten minutes.
    mix = re.sub(r"weight: \d+", "weight: 1", (ROOT / "deploy/load/mixed.json5").read_text())
    (tmp_path / "mix.json5").write_text(mix)
    report = every_part(server, simulator, tmp_path, iterations=400, seconds=2)
    assert all(row["ok"] > 0 for row in report["iterations"]), report["iterations"]
    assert len(report["iterations"]) == 12
    assert "latency (ms)" in (tmp_path / "plot.svg").read_text()


@pytest.mark.timed
def test_the_same_seed_and_rate_start_the_same_iterations(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mix.json5").write_text('{ mix: [{ workload: "health", weight: 3 }, { workload: "signing-keys" }] }')
    drawn = [
        [row["ok"] for row in load(server, "--scenario", tmp_path / "mix.json5", "--rate", 100, "--seed", seed,
                                   "--warm-up", 0, seconds=1)["iterations"]]
        for seed in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sum(drawn[0]) == 100


def test_an_address_without_an_account_is_a_wrong_answer(server: Server) -> None:
    report = load(server, "fetch", "--addresses", "nobody{0-9}@example.com", code=1)
    adds_up(report)
    assert report["wrong"] > 0 and report["ok"] == report["refused"] == report["lost"] == 0
    assert {flaw["why"] for flaw in rows(report)["AuthService/FetchProviders"]["flaws"]} == {
        "the email address of an account is not registered"}


def test_a_caller_without_the_right_is_reported(server: Server) -> None:
    assert load(server, "fetch", code=1, key="shop")["wrong"] > 0
    run = subprocess.run(command(server, "refresh", key="reader"), capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "CALLER_NOT_ALLOWED" in run.stderr


def test_accounts_are_created_once_and_a_deleted_one_is_reported(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    server = serve(throttles={"password_failures_max": 1_000_000})  # every answer in the last run is a failure
    accounts = tmp_path / "accounts.jsonl"
    load(server, "sign-in-password", "--accounts-file", accounts)
    written = accounts.read_text()
    assert accounts.stat().st_mode & 0o777 == 0o600 and len(written.splitlines()) == 4
    load(server, "sign-in-password", "--accounts-file", accounts)
    assert accounts.read_text() == written
    web = connect(server)
    for line in map(json.loads, written.splitlines()):
        web.delete(session(web.sign_in(password(line["email"], line["password"]))).id_token)
    report = load(server, "sign-in-password", "--accounts-file", accounts, code=1)
    adds_up(report)
    assert report["ok"] == 0
    assert [flaw["why"] for flaw in rows(report)["AuthService/SignIn"]["flaws"]] == [
        "UNAUTHENTICATED INVALID_LOGIN_CREDENTIALS"]


def stalled(server: Server, *arguments: object) -> Report:
    """A run of two seconds, in which the server stops for 300 ms."""
    run = subprocess.Popen(
        command(server, "health", "--duration", 2, "--warm-up", 0.2, "--connections", 1, "--streams", 4, *arguments,
                "--json", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None and run.stderr.readline().strip().startswith("1 s")
    server.signal(signal.SIGSTOP)
    time.sleep(0.3)
    server.signal(signal.SIGCONT)
    output, errors = run.communicate(timeout=30)
    assert run.returncode == 0, errors
    report: Report = json.loads(output)
    adds_up(report)
    assert report["calls"][0]["micros"]["max"] >= 290_000
    return report


@pytest.mark.timed
def test_an_open_loop_counts_the_wait_of_all_arrivals_during_a_stall(
        serve: Callable[..., Server]) -> None:
    server = serve()
    waited = stalled(server, "--rate", 200)
    assert waited["ok"] == 400 and waited["never_started"] == 0
    # Sixty of four hundred calls were due in those 300 ms and waited half of them on average, although only four could
    # be in flight: every tenth waited 100 ms or more.
    assert waited["calls"][0]["micros"]["p90"] >= 50_000
    # A closed loop makes no calls during the stall. Unlike real users, only its four callers notice it.
    assert stalled(server)["calls"][0]["micros"]["p90"] < waited["calls"][0]["micros"]["p90"] / 2


def test_a_rate_that_cannot_be_reached_is_reported(server: Server) -> None:
    report = load(server, "sign-in-password", "--rate", 1_000_000, seconds=0.3)
    assert report["never_started"] > 0


@pytest.mark.timed
def test_a_restarted_server_gets_new_connections(serve: Callable[..., Server]) -> None:
    server = serve()
    run = subprocess.Popen(
        command(server, "signing-keys", "--duration", 4, "--rate", 50, "--json", "-"), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None and run.stderr.readline().strip().startswith("1 s")
    server.signal()
    server.wait()
    server.launch()
    output, _ = run.communicate(timeout=30)
    report: Report = json.loads(output)
    assert report["reconnections"] >= 4
    # The server finished all calls before it ended, so none was lost.
    assert run.returncode == 0 and report["ok"] + report["never_started"] == 200, report["calls"]


def test_handshakes_are_full_unless_resumption_is_requested(server: Server) -> None:
    for flags in ((), ("--without-call",), ("--resume",)):
        report = load(server, "handshake", *flags)
        adds_up(report)
        assert rows(report)["TLS handshake"]["ok"] > 0
        assert ("Health/Check" in rows(report)) == (flags != ("--without-call",))


def test_an_impossible_run_is_reported_in_one_line(server: Server, tmp_path: Path) -> None:
    mix = tmp_path / "mix.json5"
    mix.write_text('{ mix: [{ workload: "fetch", weight: -1 }] }')
    cases: list[tuple[tuple[object, ...], int, str]] = [
        (("health", "--server", "localhost:1"), 2, "Connection refused"),
        (("health", "--ca", server.folder / "web.pem"), 2, "handshake"),
        (("health", "--api-key-file", tmp_path / "none"), 2, "none"),
        (("conflict",), 2, "--tokens"),
        (("--scenario", mix), 64, "mix[0].weight"),
        (("healthy",), 64, "healthy"),
        (("health", "--rate", "0"), 64, "--rate"),
    ]
    for arguments, code, named in cases:
        # A later option replaces an earlier one.
        run = subprocess.run([*command(server), *map(str, arguments)], capture_output=True, text=True, timeout=30)
        assert run.returncode == code and named in run.stderr, (arguments, run.returncode, run.stderr)


def test_an_address_of_another_account_stops_the_preparation(
        server: Server, simulator: Simulator, connect: Callable[..., Client], tmp_path: Path) -> None:
    email = fresh_email()
    connect(server).create(email)
    line = {"use": "conflict", "provider_id": "oidc.corp", "email": email,
            "id_token": simulator.token("oidc.corp", email=email, email_verified=False)}
    (tmp_path / "tokens.jsonl").write_text(json.dumps(line))
    run = subprocess.run(command(server, "fetch-pending", "--tokens", tmp_path / "tokens.jsonl"),
                         capture_output=True, text=True, timeout=30)
    assert run.returncode == 2 and "EMAIL_ALREADY_IN_USE" in run.stderr


def soak(server: Server, metrics_port: int, report: Path, *command: object) -> subprocess.CompletedProcess[str]:
    assert server.process is not None
    return subprocess.run(
        [sys.executable, ROOT / "deploy/load/soak.py", "--pid", str(server.process.pid), "--metrics-port",
         str(metrics_port), "--every-seconds", "0.2", "--report", report, "--", *map(str, command)],
        capture_output=True, text=True, timeout=30)


def test_a_soak_reads_the_number_of_descriptors_from_the_metrics(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    report = tmp_path / "report.json"
    seconds = [{"ok": 1, "p99_micros": 1000}]
    report.write_text(json.dumps({"minutes": [], "seconds": seconds, "ok": 1, "refused": 0, "wrong": 0, "lost": 0,
                                  "never_started": 0}))
    run = soak(server, address(server)[1], report, "sleep", "1")
    assert run.returncode == 0, run.stderr
    told = re.search(r"^Descriptors: (\d+) at the start", run.stdout, re.MULTILINE)
    assert told and int(told[1]) > 5, run.stdout


def test_a_soak_that_fails_leaves_no_command_running(serve: Callable[..., Server], tmp_path: Path) -> None:
    begun = time.monotonic()
    run = soak(serve(), free_port(), tmp_path / "none", "sleep", "20")
    # The command's output is that of the soak, and no other process has it open any more.
    assert run.returncode != 0 and "refused" in run.stderr and time.monotonic() - begun < 15
