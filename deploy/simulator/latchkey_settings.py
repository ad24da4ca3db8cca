"""The `providers` of a Latchkey configuration that uses this simulator instead of the real services.

Only the endpoints differ from a production configuration; everything else is the adapters' default. Files are named
relative to the configuration's folder, which contains the simulator's folder.
"""

from __future__ import annotations

from typing import Any

from protocols.applications import LANDING_PATH, REDIRECT_URIS
from providers.apple import TEAM_ID

Settings = dict[str, Any]


def redirect_uris(base: str) -> list[str]:
    """The redirect URIs of every provider, although Yahoo accepts none on localhost: those that a caller may use."""
    return [*REDIRECT_URIS, base + LANDING_PATH]


def providers(base: str, folder: str = "simulator") -> list[Settings]:
    """One element for each provider id. X uses OAuth 1.0a; `x_oauth2` selects OAuth 2.0."""
    return [google(base, folder), facebook(base, folder), x_oauth1(base, folder), github(base, folder),
            yahoo(base, folder), apple(base, folder), microsoft(base, folder), linkedin(base, folder),
            discord(base, folder), openid(base, folder, "corp"), plain_oauth2(base, folder, "plain")]


def x_oauth1(base: str, folder: str) -> Settings:
    root = base + "/twitter"
    return client("twitter.com", folder, "twitter") | {
        "request_token_url": root + "/oauth/request_token", "authorization_url": root + "/oauth/authenticate",
        "token_url": root + "/oauth/access_token", "profile_url": root + "/1.1/account/verify_credentials.json"}


def x_oauth2(base: str, folder: str) -> Settings:
    root = base + "/twitter"
    return client("twitter.com", folder, "twitter") | {
        "protocol": "oauth2", "authorization_url": root + "/i/oauth2/authorize", "token_url": root + "/2/oauth2/token",
        "profile_url": root + "/2/users/me"}


def github(base: str, folder: str) -> Settings:
    root = base + "/github"
    return client("github.com", folder, "github") | {
        "authorization_url": root + "/login/oauth/authorize", "token_url": root + "/login/oauth/access_token",
        "profile_url": root + "/user", "emails_url": root + "/user/emails",
        "audience_check_url": root + "/applications/{client_id}/token",
        "revocation_url": root + "/applications/{client_id}/grant"}


def google(base: str, folder: str) -> Settings:
    root = base + "/google"
    return client("google.com", folder, "google") | {
        "client_ids": ["google-client", "google-android"],
        "discovery_url": root + "/.well-known/openid-configuration", "audience_check_url": root + "/tokeninfo"}


def facebook(base: str, folder: str) -> Settings:
    root = base + "/facebook"
    return client("facebook.com", folder, "facebook") | {
        "jwks_url": root + "/.well-known/oauth/openid/jwks", "authorization_url": root + "/v25.0/dialog/oauth",
        "token_url": root + "/v25.0/oauth/access_token", "profile_url": root + "/v25.0/me",
        "audience_check_url": root + "/v25.0/debug_token", "revocation_url": root + "/v25.0/me/permissions"}


def yahoo(base: str, folder: str) -> Settings:
    return client("yahoo.com", folder, "yahoo") | {
        "discovery_url": base + "/yahoo/.well-known/openid-configuration"}


def apple(base: str, folder: str) -> Settings:
    root = base + "/apple"
    return {"id": "apple.com", "client_ids": ["latchkey"], "private_key_file": f"{folder}/client-keys/apple.pem",
            "key_id": "apple-client-key", "team_id": TEAM_ID, "jwks_url": root + "/auth/keys",
            "authorization_url": root + "/auth/authorize", "token_url": root + "/auth/token",
            "revocation_url": root + "/auth/revoke"}


def microsoft(base: str, folder: str, tenant: str = "common") -> Settings:
    return client("microsoft.com", folder, "microsoft") | {
        "tenant": tenant, "discovery_url": f"{base}/microsoft/{tenant}/v2.0/.well-known/openid-configuration"}


def linkedin(base: str, folder: str) -> Settings:
    root = base + "/linkedin"
    return client("linkedin.com", folder, "linkedin") | {
        "jwks_url": root + "/oauth/openid/jwks", "authorization_url": root + "/oauth/v2/authorization",
        "token_url": root + "/oauth/v2/accessToken", "profile_url": root + "/v2/userinfo"}


def discord(base: str, folder: str) -> Settings:
    root = base + "/discord"
    return client("discord.com", folder, "discord") | {
        "authorization_url": root + "/oauth2/authorize", "token_url": root + "/api/oauth2/token",
        "profile_url": root + "/api/users/@me", "audience_check_url": root + "/api/oauth2/@me",
        "revocation_url": root + "/api/oauth2/token/revoke"}


def openid(base: str, folder: str, name: str) -> Settings:
    """A generic issuer, which only its discovery document describes."""
    return client(f"oidc.{name}", folder, name) | {"issuers": [f"{base}/{name}"]}


def plain_oauth2(base: str, folder: str, name: str) -> Settings:
    root = f"{base}/oauth2.{name}"
    return client(f"oauth2.{name}", folder, f"oauth2.{name}") | {
        "authorization_url": root + "/authorize", "token_url": root + "/token", "profile_url": root + "/userinfo",
        "revocation_url": root + "/revoke", "scopes": ["profile"],
        "claims": {"subject": "user_id", "email": "mail", "email_verified": "mail_confirmed", "name": "display_name",
                   "picture": "avatar", "username": "login"}}


def client(provider_id: str, folder: str, name: str) -> Settings:
    return {"id": provider_id, "client_ids": ["latchkey"], "client_secret_file": f"{folder}/client-secrets/{name}"}
