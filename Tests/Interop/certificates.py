"""A development authority with a server certificate and client certificates, all ECDSA P-256."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Issuer = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]
LOCAL = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
CALLER = [x509.UniformResourceIdentifier("spiffe://interop.test/caller"), x509.DNSName("caller.interop.test")]


def make(folder: Path) -> Issuer:
    """Writes authority, server, client (with a URI name) and stranger (of another authority) as PEM pairs."""
    authority = certify(folder, "authority", None, [])
    certify(folder, "server", authority, LOCAL, ExtendedKeyUsageOID.SERVER_AUTH)
    certify(folder, "client", authority, CALLER, ExtendedKeyUsageOID.CLIENT_AUTH)
    foreign = certify(folder, "foreign-authority", None, [])
    certify(folder, "stranger", foreign, CALLER, ExtendedKeyUsageOID.CLIENT_AUTH)
    return authority


def certify(folder: Path, name: str, issuer: Issuer | None, names: list[x509.GeneralName],
            usage: x509.ObjectIdentifier | None = None,
            lifetime: datetime.timedelta = datetime.timedelta(days=2)) -> Issuer:
    """A certificate that is valid since an hour ago, and for `lifetime` from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"interop {name}")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
               .issuer_name(issuer[0].subject if issuer else subject).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + lifetime)
               .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
               .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    certificate = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    write(folder, name, certificate, key)
    return certificate, key


def write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    path = folder / f"{name}.key"
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))
    path.chmod(0o600)
