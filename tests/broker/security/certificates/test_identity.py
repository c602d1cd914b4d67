import time

import pytest

from odradek.broker.security.certificates.identity import Identity
from tests.broker.security.certificates.options import tls_options
from tests.certificates import ALICE, authority
from tests.fakes.clock import FakeClock

NOW_MS = int(time.time() * 1000)


def test_that_little_time_is_left_is_said(caplog: pytest.LogCaptureFixture) -> None:
    identity = Identity(tls_options(), FakeClock(NOW_MS))
    assert identity.days_left == pytest.approx(800, abs=1)
    assert "expires" not in caplog.text
    # Half a day off both, so that it does not matter when the certificate was made.
    Identity(tls_options(), FakeClock(NOW_MS + 790 * 86_400_000 + 43_200_000))
    assert "expires in 9 days" in caplog.text


def test_hosts_that_it_is_not_for_are_named(caplog: pytest.LogCaptureFixture) -> None:
    Identity(tls_options(), FakeClock(NOW_MS))
    assert "host names" not in caplog.text
    Identity(tls_options(authority().issue(ALICE)), FakeClock(NOW_MS))
    assert "told to connect to 127.0.0.1, and its certificate is for no host" in (
        caplog.text
    )
