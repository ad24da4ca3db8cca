"""The server's configuration for the bench: one reactor and one hashing thread, since it has one core."""

from __future__ import annotations

from pathlib import Path

# The defaults of latchkeyd. They are repeated here because the bench measures Argon2id alone with the same values.
PASSWORD_MEMORY_KIB = 19_456
PASSWORD_ITERATIONS = 2


def in_file(store: Path) -> str:
    return f'path: "{store}"'


def in_postgres(conninfo: str) -> str:
    return f'postgres: {{ conninfo: "{conninfo}" }}'


def text(port: int, store: str, provider_port: int, metrics_port: int) -> str:
    return f"""{{
  listen: {{ address: "127.0.0.1", port: {port}, allow_unidentified: true }},
  tls: {{ certificate_file: "server.pem", key_file: "server.key", client_certificates: "none" }},
  store: {{ {store} }},
  secrets: {{ master_key_files: ["master.key"] }},
  tokens: {{ issuer: "https://localhost:{port}", audience: "bench" }},
  unidentified: {{ fetch_by_email: true }},
  providers: [{{ id: "google.com", issuers: ["https://accounts.google.com"], client_ids: ["google-client"],
                algorithms: ["RS256"],
                discovery_url: "https://127.0.0.1:{provider_port}/google/.well-known/openid-configuration" }}],
  fetch: {{ ca_file: "authority.pem", allow_private_addresses: true }},
  passwords: {{ memory_kib: {PASSWORD_MEMORY_KIB}, iterations: {PASSWORD_ITERATIONS}, workers: 1 }},
  limits: {{ connections_per_address_max: 16384 }},
  metrics: {{ address: "127.0.0.1", port: {metrics_port} }},
  reactors: 1,
}}
"""
