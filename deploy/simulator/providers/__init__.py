"""The simulated providers by the name of their issuer. Every other name is a generic one."""

from __future__ import annotations

from issuers import Issuer
from protocols.provider import Provider, World

from .apple import Apple
from .discord import Discord
from .facebook import Facebook
from .generic import GenericOAuth2, GenericOpenID
from .github import GitHub
from .google import Google
from .linkedin import LinkedIn
from .microsoft import Microsoft
from .twitter import Twitter
from .yahoo import Yahoo

NAMED: dict[str, type[Provider]] = {
    "twitter": Twitter, "github": GitHub, "google": Google, "facebook": Facebook, "yahoo": Yahoo, "apple": Apple,
    "microsoft": Microsoft, "linkedin": LinkedIn, "discord": Discord,
}


def make(issuer: Issuer, world: World) -> Provider:
    """`oauth2.<name>` is plain OAuth 2.0, any other unknown name is an OpenID Connect issuer."""
    generic = GenericOAuth2 if issuer.name.startswith("oauth2.") else GenericOpenID
    return NAMED.get(issuer.name, generic)(issuer, world)
