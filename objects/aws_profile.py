"""Credentials and settings in the files of AWS's own tools (``~/.aws``), by profile.

They are read anew each time: somebody may renew them while a job runs. What signs in
by a browser or takes a role needs AWS's own libraries; then the line is said that hands
the credentials on.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from configparser import ConfigParser, Error
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .errors import StoreRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROCESS_TIMEOUT_S = 60
_NOT_OURS = ("sso_session", "sso_start_url", "role_arn", "credential_source")


class AwsCredentials(NamedTuple):
    """What requests are signed with; ``expires`` is None where nobody says it."""

    key_id: str
    secret: str
    token: str = ""
    expires: datetime | None = None

    def __repr__(self) -> str:
        return "AwsCredentials(...)"


class AwsProfile:
    """One profile of the two files, as the environment names them."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name = name
        home = Path(environment.get("HOME") or "~").expanduser() / ".aws"
        shared = environment.get("AWS_SHARED_CREDENTIALS_FILE")
        config = environment.get("AWS_CONFIG_FILE")
        self._shared = Path(shared).expanduser() if shared else home / "credentials"
        self._config = Path(config).expanduser() if config else home / "config"

    def settings(self) -> dict[str, str]:
        """What both files say of the profile; nothing where they do not name it.

        Raises:
            StoreRefused: one of them cannot be read.
        """
        section = self.name if self.name == "default" else f"profile {self.name}"
        return _section(self._config, section) | _section(self._shared, self.name)

    def credentials(self) -> AwsCredentials | None:
        """The credentials of the profile; None where it has none.

        Raises:
            StoreRefused: they are to be had by AWS's own libraries only.
        """
        found = self.settings()
        if found.get("aws_access_key_id") and found.get("aws_secret_access_key"):
            return AwsCredentials(
                found["aws_access_key_id"],
                found["aws_secret_access_key"],
                found.get("aws_session_token", ""),
            )
        if command := found.get("credential_process"):
            return self._of_process(command)
        for key in _NOT_OURS:
            if key in found:
                raise StoreRefused(
                    f"the AWS profile {self.name} has {key}, which AWS's own tools"
                    ' resolve: hand its credentials on with `eval "$(aws configure'
                    f' export-credentials --profile {self.name} --format env)"`, or'
                    " name the command `aws configure export-credentials` as"
                    " credential_process of another profile"
                )
        return None

    def _of_process(self, command: str) -> AwsCredentials:
        said = f"the credential_process of the AWS profile {self.name}"
        try:
            done = subprocess.run(
                shlex.split(command),
                capture_output=True,
                timeout=_PROCESS_TIMEOUT_S,
                check=True,
            )
            answer = json.loads(done.stdout)
            expires = answer.get("Expiration")
            return AwsCredentials(
                answer["AccessKeyId"],
                answer["SecretAccessKey"],
                answer.get("SessionToken") or "",
                _moment(expires) if expires else None,
            )
        except subprocess.TimeoutExpired:
            problem = f"gave no answer in {_PROCESS_TIMEOUT_S} seconds"
        except subprocess.CalledProcessError as error:
            problem = f"ended with exit code {error.returncode}"
        except OSError as error:
            problem = f"cannot be run: {error.strerror}"
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = "gave no credentials"
        raise StoreRefused(f"{said} {problem}; try it by hand")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _section(path: Path, name: str) -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StoreRefused(f"{path}: {os.strerror(error.errno or 0)}") from None
    except (Error, UnicodeDecodeError):
        # The error has the line, which may be a secret.
        raise StoreRefused(f"{path} is no file of AWS's tools") from None
    return dict(parser[name]) if name in parser else {}
