"""Users with an authenticator app: pyotp computes their codes, as any such app would."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyotp
from clients import PASSWORD, Client, assertion, fresh_email, password, session
from latchkey.v1 import types_pb2 as types
from processes import Simulator

STEP_SECONDS = 30
# Remaining seconds of a step that are too few: the code of the previous step would be too old on arrival.
CLOSE_SECONDS = 4


@dataclass
class Authenticator:
    """Returns the code of each step once, since the service accepts it once; codes of neighboring steps first."""

    totp: pyotp.TOTP
    factor_id: str = ""
    last: int = field(default=0)

    def code(self) -> str:
        left = STEP_SECONDS - time.time() % STEP_SECONDS
        earliest = int(time.time()) // STEP_SECONDS - (0 if left < CLOSE_SECONDS else 1)
        step = max(earliest, self.last + 1)
        while step > int(time.time()) // STEP_SECONDS + 1:
            time.sleep(0.5)
        self.last = step
        return self.totp.at(step * STEP_SECONDS)

    def wrong(self) -> str:
        """A code that belongs to no neighboring step."""
        near = {self.totp.at(time.time() + offset * STEP_SECONDS) for offset in range(-3, 4)}
        return next(code for code in map("{:06d}".format, range(1_000_000)) if code not in near)


@dataclass
class Enrolled:
    """A user with a verified address, a password, a Google account and one authenticator app."""

    email: str
    google: types.Credential
    session: types.Session
    authenticator: Authenticator
    recovery_codes: list[str]

    @property
    def account_id(self) -> str:
        return self.session.account.account_id


def enrolled(client: Client, simulator: Simulator) -> Enrolled:
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    made = session(client.sign_in(google))
    linked = session(client.link(made.id_token, password(email, PASSWORD)))
    authenticator, finished = enrol_totp(client, linked)
    return Enrolled(email, google, finished.session, authenticator, list(finished.recovery_codes))


def enrol_totp(client: Client, signed_in: types.Session, **fields: str):
    started = client.start_enrollment(signed_in.id_token, types.FACTOR_KIND_TOTP, **fields)
    program = pyotp.parse_uri(started.totp_uri)
    assert isinstance(program, pyotp.TOTP) and program.secret == started.totp_secret
    authenticator = Authenticator(program)
    known = {each.factor_id for each in signed_in.account.second_factors}
    finished = client.finish_enrollment(signed_in.id_token, started.enrollment_id, authenticator.code())
    new = [each for each in finished.session.account.second_factors
           if each.factor_id not in known and each.kind == types.FACTOR_KIND_TOTP]
    authenticator.factor_id = new[0].factor_id
    return authenticator, finished
