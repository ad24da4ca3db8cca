"""Client of the Latchkey authentication service.

`connect` opens a channel for the stubs in `latchkey.v1`, `SessionHolder` keeps one user's session, and every failed
unary call raises `LatchkeyError`.
"""

from latchkey.channel import connect, typed_errors
from latchkey.errors import LatchkeyError
from latchkey.session import SessionHolder

__all__ = ["LatchkeyError", "SessionHolder", "connect", "typed_errors"]
