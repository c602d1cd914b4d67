"""Certificates for tests, made by the openssl command: a CA, and what it issues."""

import subprocess
import time
from pathlib import Path

from tests.certificates import KEY_NAMES, SIGNS

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """A CA in a folder of a test; its certificate is ``ca.pem``."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._name = name
        self.certificate = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        made = ("-out", str(self.certificate), "-keyout", str(self._key))
        given = ("-subj", f"/CN={name}", "-days", "30", "-addext", SIGNS)
        openssl("req", "-x509", *_KEY, *given, *made)

    def issue(
        self,
        name: str,
        *names: str,
        from_date: str = "",
        to_date: str = "",
    ) -> Path:
        """A file with a key, a certificate for ``names`` (like IP:127.0.0.1), the CA.

        Dates are like 20200101000000Z.
        """
        folder, path = self._folder, self._folder / f"{name}.pem"
        key, request = folder / f"{name}.key", folder / f"{name}.csr"
        made = ("-out", str(request), "-keyout", str(key))
        openssl("req", *_KEY, "-subj", f"/O=Tests/CN={name}", *made)
        config = folder / f"{name}.cnf"
        config.write_text(
            f"[ca]\ndefault_ca=x\n[x]\ndatabase={folder}/{name}.index\n"
            f"new_certs_dir={folder}\nrand_serial=yes\ndefault_md=sha256\n"
            "unique_subject=no\npolicy=any\nx509_extensions=v3\ndefault_days=20\n"
            "[any]\ncommonName=supplied\norganizationName=optional\n[v3]\n"
            f"basicConstraints=CA:FALSE\n{KEY_NAMES}"
            + (f"subjectAltName={','.join(names)}\n" if names else "")
        )
        (folder / f"{name}.index").touch()
        signed = folder / f"{name}.crt"
        dates = [word for word in ("-startdate", from_date) if from_date]
        dates += [word for word in ("-enddate", to_date) if to_date]
        openssl(
            *("ca", "-batch", "-notext", "-config", str(config), *dates),
            *("-cert", str(self.certificate), "-keyfile", str(self._key)),
            *("-in", str(request), "-out", str(signed)),
        )
        parts = (key, signed, self.certificate)
        path.write_text("".join(each.read_text() for each in parts))
        return path


def date_of(seconds: float) -> str:
    """So many seconds since the epoch, as `Authority.issue` has it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(seconds))


def openssl(*words: str) -> str:
    run = subprocess.run(["openssl", *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout
