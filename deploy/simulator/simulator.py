"""Simulated identity providers: real protocols, a login as any user, any token on request, faults on demand.

    simulator.py serve     --folder DIR --port 9444 --certificate PEM --key PEM
    simulator.py authorize --ca PEM --url URL --person ada --email ada@example.com --verified
    simulator.py token     --folder DIR --issuer github --person ada --application another
    simulator.py mint      --folder DIR --issuer corp --subject alice --email a@example.com --unverified
    simulator.py rotate    --folder DIR --issuer corp
    simulator.py behave    --folder DIR --issuer corp --as hang
    simulator.py endpoints
    simulator.py settings

All state is in DIR, so the commands work while `serve` runs and before it does. Each command has its own --help.
`endpoints` lists the providers' URLs and the applications registered there, `settings` prints the same as a Latchkey
configuration.
"""

from __future__ import annotations

import argparse
import json
import signal
import ssl
import sys
import threading
import time
from pathlib import Path

import issuance
import issuers
import latchkey_settings
import providers
import service
import tokens
import walking
from keys import KEY_NAMES, KeyRing
from protocols import applications
from protocols.people import CONSUMER_TENANT, Person
from protocols.provider import World

DEFAULT_ISSUERS = [*providers.NAMED, "corp", "oauth2.plain"]


def serve(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    server = service.Service(options.folder, (options.address, options.port), options.certificate, options.key,
                             tuple(options.redirect_uri))
    server.host(options.issuer or DEFAULT_ISSUERS)
    for number in (signal.SIGTERM, signal.SIGINT):
        # `shutdown` waits for the loop that this handler interrupts, so it needs a thread of its own.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening {server.base}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()


def mint(options: argparse.Namespace) -> None:
    issuer = issuers.find(options.folder, options.issuer)
    print(tokens.mint(KeyRing(options.folder, issuer.name), issuer, order(options), int(time.time())))


def order(options: argparse.Namespace) -> tokens.Order:
    lifetime = {"expired": (-7200, -3600), "from_future": (600, 4200)}
    issued, expires = lifetime.get(options.spoil_time, (0, options.lifetime_seconds))
    return tokens.Order(
        subject=options.subject, audiences=options.audience, email=options.email,
        email_verified=options.email_verified, nonce=options.nonce, hosted_domain=options.hd,
        authorized_party=options.azp, name=options.name, picture=options.picture, username=options.username,
        access_token=options.access_token, issuer=options.issuer_claim, claims=dict(options.claim),
        without=options.without, issued_seconds=issued, expires_seconds=expires,
        not_before_seconds=600 if options.spoil_time == "not_before" else None, algorithm=options.algorithm,
        header=dict(options.header), wrong_key=options.wrong_key, unknown_key=options.unknown_key)


def rotate(options: argparse.Namespace) -> None:
    issuer = issuers.find(options.folder, options.issuer)
    ring = KeyRing(options.folder, issuer.name)
    print(ring.rotate(published=not options.unpublished, drop_old=options.drop_old))


def behave(options: argparse.Namespace) -> None:
    issuer = issuers.find(options.folder, options.issuer)
    body = options.body.read_text() if options.body else ""
    every = issuance.provider(options.folder, issuer.name).endpoints()
    if unknown := set(options.document or []) - set(every):
        raise ValueError(f"{issuer.name} has no {', '.join(unknown)}; there are: {', '.join(every)}")
    service.behave(options.folder, issuer.name, options.document or every, options.behaviour, body)


def authorize(options: argparse.Namespace) -> None:
    trust = ssl.create_default_context(cafile=options.ca)
    print(walking.walk(options.url, person(options), trust, deny=options.deny, declined=tuple(options.decline)))


def token(options: argparse.Namespace) -> None:
    print(json.dumps(issuance.issue(options.folder, options.issuer, person(options), whose=options.application,
                                    scopes=options.scope, oauth1=options.oauth1)))


def settings(options: argparse.Namespace) -> None:
    print(json.dumps(latchkey_settings.providers(options.base, options.named_folder), indent=2))


def person(options: argparse.Namespace) -> Person:
    return Person(
        username=options.person, name=options.name, email=options.email, email_verified=options.verified,
        picture=options.picture, hosted_domain=options.hd, tenant=options.tenant,
        domain_verified=options.domain_verified, hide_email=options.hide_email)


def endpoints(options: argparse.Namespace) -> None:
    """The client configuration. The paths of the real services follow each provider's own path."""
    hosted = issuers.parse(DEFAULT_ISSUERS, options.base)
    for issuer in hosted.values():
        provider = providers.make(issuer, World(Path(), options.base))
        ours = provider.application("ours")
        print(f"{issuer.name}: client id {ours.client_id}, secret {ours.secret}; issuer {issuer.url}")
        for route in provider.routes():
            print(f"  {route.endpoint:18} {route.methods[-1]:4} {issuer.path}{route.path}")
    print(f"another application at each: client id {applications.OTHER_CLIENT_ID}, "
          f"secret {applications.OTHER_SECRET}")
    print("redirect URIs: " + ", ".join(provider.allowed_redirect_uris()) + " (yahoo: those without localhost)")
    print("apple: the client secret is an ES256 JWT, team TEAM000001, key id apple-client-key, key "
          "DIR/client-keys/apple.pem; private_key_jwt at corp: key id corp-client-key, key DIR/client-keys/corp.pem")


def member(text: str) -> tuple[str, object]:
    """Parses NAME=VALUE. A value that is valid JSON is JSON, any other value is a string."""
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(
        required=True, metavar="serve | authorize | token | mint | rotate | behave | endpoints | settings")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--folder", type=Path, required=True, help="folder of keys, users and faults")
    one = argparse.ArgumentParser(add_help=False, parents=[every])
    one.add_argument("--issuer", default="corp", help="which of the hosted issuers (corp)")
    add_serve(commands.add_parser("serve", parents=[every], help="host issuers over TLS until SIGTERM"))
    add_mint(commands.add_parser("mint", parents=[one], help="print an ID token"))
    add_rotate(commands.add_parser("rotate", parents=[one], help="sign with new keys from now on"))
    add_behave(commands.add_parser("behave", parents=[one], help="set or clear a fault from now on"))
    add_authorize(commands.add_parser("authorize", help="fill in a login page and print the callback URI"))
    add_token(commands.add_parser("token", parents=[one], help="print an access token, issued without a flow"))
    add_endpoints(commands.add_parser("endpoints", help="list the providers' URLs and their applications"))
    add_settings(commands.add_parser("settings", help="print the `providers` of a Latchkey configuration"))
    return top


def add_serve(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=serve)
    command.add_argument("--address", default="127.0.0.1")
    command.add_argument("--port", type=int, default=9444, help="0 takes a free one (9444)")
    command.add_argument("--certificate", type=Path, required=True)
    command.add_argument("--key", type=Path, required=True)
    command.add_argument("--issuer", action="append", metavar="NAME[=URL]",
                         help="host this issuer; its tokens say URL, by default the real issuer's or its own address "
                              f"({', '.join(DEFAULT_ISSUERS)})")
    command.add_argument("--redirect-uri", action="append", default=[], metavar="URI",
                         help="also register this redirect URI for every application")


def add_mint(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=mint)
    command.add_argument("--subject", default="alice", help="the user's id at the provider (alice)")
    command.add_argument("--audience", action="append", default=[], help="repeat it for several")
    command.add_argument("--email")
    verified = command.add_mutually_exclusive_group()
    for flag, value in (("--verified", True), ("--unverified", False), ("--verified-as-string", "true"),
                        ("--unverified-as-string", "false")):
        verified.add_argument(flag, dest="email_verified", action="store_const", const=value,
                              help=f"the claim email_verified is {json.dumps(value)}")
    for name in ("nonce", "hd", "azp", "name", "picture", "username"):
        command.add_argument(f"--{name}")
    command.add_argument("--access-token", help="the token whose hash becomes at_hash")
    command.add_argument("--issuer-claim", metavar="URL", help="lie about the issuer")
    command.add_argument("--claim", action="append", type=member, default=[], metavar="NAME=JSON", help="any other")
    command.add_argument("--without", action="append", default=[], metavar="NAME", help="leave this claim out")
    command.add_argument("--no-exp", dest="without", action="append_const", const="exp", help="no expiry")
    command.add_argument("--no-iat", dest="without", action="append_const", const="iat", help="no time of issue")
    command.add_argument("--lifetime-seconds", type=int, default=3600)
    spoiled = command.add_mutually_exclusive_group()
    for flag, value in (("--expired", "expired"), ("--not-yet-valid", "not_before"), ("--from-future", "from_future")):
        spoiled.add_argument(flag, dest="spoil_time", action="store_const", const=value)
    command.add_argument("--algorithm", default="RS256", choices=[*KEY_NAMES, "none", "HS256"],
                         help="HS256 uses the public key as its secret (RS256)")
    command.add_argument("--header", action="append", type=member, default=[], metavar="NAME=JSON")
    command.add_argument("--wrong-key", action="store_true", help="sign with an unknown key under a published key's id")
    command.add_argument("--unknown-key", action="store_true", help="sign with an unknown key under its own id")


def add_rotate(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=rotate)
    command.add_argument("--unpublished", action="store_true", help="do not add the new keys to the key set")
    command.add_argument("--drop-old", action="store_true", help="remove the older keys from the key set")


def add_behave(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=behave)
    command.add_argument("--as", dest="behaviour", choices=service.BEHAVIOURS, default="well")
    command.add_argument("--document", action="append", metavar="ENDPOINT",
                         help="only this one: discovery, jwks, authorize, token, userinfo, … (all)")
    command.add_argument("--body", type=Path,
                         help="serve this file instead of the real document; for alter, the JSON merge patch")


def add_authorize(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=authorize)
    command.add_argument("--url", required=True, help="the authorization URL")
    command.add_argument("--ca", type=Path, required=True, help="the authority that signed the simulator's certificate")
    command.add_argument("--deny", action="store_true", help="deny access")
    command.add_argument("--decline", action="append", default=[], metavar="SCOPE", help="deny this scope only")
    add_person(command)


def add_token(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=token)
    command.add_argument("--application", choices=["ours", "another"], default="ours", help="to whom (ours)")
    command.add_argument("--scope", action="append", default=[])
    command.add_argument("--oauth1", action="store_true", help="twitter: an OAuth 1.0a token with its secret")
    add_person(command)


def add_person(command: argparse.ArgumentParser) -> None:
    command.add_argument("--person", required=True, metavar="USERNAME", help="decides the subject everywhere")
    for name in ("name", "email", "picture", "hd"):
        command.add_argument(f"--{name}", default="")
    command.add_argument("--verified", action="store_true", help="the provider verified the e-mail")
    command.add_argument("--tenant", default=CONSUMER_TENANT, help="microsoft: the directory (personal accounts)")
    command.add_argument("--domain-verified", action="store_true", help="microsoft: xms_edov")
    command.add_argument("--hide-email", action="store_true", help="apple: a relay address")


def add_endpoints(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=endpoints)
    add_base(command)


def add_settings(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=settings)
    add_base(command)
    command.add_argument("--named-folder", default="simulator", metavar="DIR",
                         help="the simulator's folder, as seen from the configuration's (simulator)")


def add_base(command: argparse.ArgumentParser) -> None:
    command.add_argument("--base", default="https://127.0.0.1:9444", help="of the server (https://127.0.0.1:9444)")


if __name__ == "__main__":
    chosen = parser().parse_args()
    try:
        chosen.run(chosen)
    except (LookupError, ValueError, OSError, walking.NoCallback) as problem:
        sys.exit(f"simulator: {problem}")
