"""Tokens for tests of OAUTHBEARER, signed with RS256 by the openssl command."""

import json
import subprocess
import time
from base64 import urlsafe_b64encode
from pathlib import Path

from tests.authority import openssl


class Issuer:
    """Who signs them; ``keys`` is the JWKS that a broker is told."""

    audience = "tests"

    def __init__(self, folder: Path, key_id: str = "1") -> None:
        self._key = folder / f"issuer-{key_id}.key"
        self._key_id = key_id
        openssl("genrsa", "-out", str(self._key), "2048")
        said = openssl("rsa", "-in", str(self._key), "-noout", "-modulus")
        modulus = bytes.fromhex(said.partition("=")[2].strip())
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": key_id}
        key |= {"n": _base64(modulus), "e": _base64(b"\1\0\1")}
        self.keys = folder / f"jwks-{key_id}.json"
        self.keys.write_text(json.dumps({"keys": [key]}))

    def token(self, user: str, life_s: int = 600) -> str:
        now = int(time.time())
        claims = {"sub": user, "aud": self.audience, "iss": "tests", "scope": "all"}
        times = {"iat": now, "nbf": now, "exp": now + life_s}
        parts = ({"alg": "RS256", "typ": "JWT", "kid": self._key_id}, claims | times)
        signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
        command = ["openssl", "dgst", "-sha256", "-sign", str(self._key)]
        run = subprocess.run(command, input=signed.encode(), capture_output=True)
        assert run.returncode == 0, run.stderr
        return f"{signed}.{_base64(run.stdout)}"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
