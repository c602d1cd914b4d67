import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.broker.config.live_config import with_changes
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.security.certificates.identity import Identity
from odradek.broker.security.certificates.renewal import Renewal
from odradek.broker.security.certificates.stores import StoreError
from tests.broker.security.certificates.copies import Copies
from tests.certificates import ALICE, SERVER, Holder, authority, server
from tests.fakes.broker import until
from tests.fakes.clock import FakeClock

AHEAD_MS = 3_600_000  # of the wall clock: what a test makes is valid already
DAY_MS = 86_400_000
OWN = "listener.name.ssl."
NAMES = ("DNS:localhost", "IP:127.0.0.1")


class Kept(NamedTuple):
    copies: Copies
    identity: Identity
    renewal: Renewal
    clock: FakeClock

    @property
    def subject(self) -> str:
        return self.identity.current.certificate.subject


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[Kept]:
    threads, clock = DiskThreads(1), FakeClock(int(time.time() * 1000) + AHEAD_MS)
    renewal = Renewal(threads)
    copies = Copies(folder, server())
    identity = Identity(copies.options, clock)
    renewal.identities.append(identity)
    try:
        yield Kept(copies, identity, renewal, clock)
    finally:
        threads.close()


async def test_changed_files_are_read_and_others_are_not(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        assert await it.renewal.look() == []
        before = it.identity.current
        it.copies.put(authority().issue("/CN=new", names=NAMES))
        (renewed,) = await it.renewal.look()
        assert renewed.is_new
        assert it.subject == "CN=new"
        assert it.identity.current.context is not before.context
        assert it.identity.renewed_count == 1
        assert await it.renewal.look() == []


async def test_a_bad_file_keeps_the_old_one_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with kept(tmp_path) as it:
        before = it.identity.current
        it.copies.spoil()
        (refused,) = await it.renewal.look()
        assert refused.failure is not None
        assert "there is no key" in refused.failure
        assert it.identity.current is before
        assert await it.renewal.look() == []
        assert caplog.text.count("listener SSL keeps its certificate (") == 1
        assert (it.identity.failed_count, it.identity.renewed_count) == (1, 0)
        it.copies.put(server())  # the same as before: nothing new, and nothing wrong
        assert await it.renewal.look() == [(it.identity, False, None)]
        assert it.identity.failure is None


async def test_half_of_a_new_pair_waits_for_the_other_half(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        new = authority().issue("/CN=new", names=NAMES)
        it.copies.put(Holder(new.certificate, server().key))
        (refused,) = await it.renewal.look()
        assert "the key is not that of the" in str(refused.failure)
        it.copies.put(new)
        assert (await it.renewal.look())[0].is_new
        assert it.subject == "CN=new"


async def test_who_asks_has_everything_read_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with kept(tmp_path) as it:
        assert await it.renewal.renew() == [(it.identity, False, None)]
        it.copies.put(authority().issue("/CN=new"))
        it.renewal.renew_soon()
        await until(lambda: it.subject == "CN=new")
        assert "it is for 127.0.0.1, localhost no more" in caplog.text
        (event,) = [x for x in caplog.records if x.name == "odradek.audit"]
        assert event.subjectBefore == "CN=localhost,O=Example"  # type: ignore[attr-defined]


async def test_one_that_is_not_valid_yet_or_no_more_is_not_taken(
    tmp_path: Path,
) -> None:
    async with kept(tmp_path) as it:
        it.clock.advance(-2 * DAY_MS)
        it.copies.put(authority().issue(SERVER, names=NAMES))
        for _ in range(2):
            (early,) = await it.renewal.look()
            assert "is not valid before 20" in str(early.failure)
        assert it.identity.failed_count == 1
        it.clock.advance(2 * DAY_MS)
        (in_time,) = await it.renewal.look()
        assert in_time.is_new
        it.clock.advance(1000 * DAY_MS)
        it.copies.put(server())
        (late,) = await it.renewal.look()
        assert "has expired" in str(late.failure)


async def test_that_little_time_is_left_is_said_once_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with kept(tmp_path) as it:
        it.clock.advance(779 * DAY_MS - DAY_MS // 2)
        for _ in range(3):
            await it.renewal.look()
        assert caplog.text.count("expires in 21 days") == 0
        it.clock.advance(DAY_MS)
        for _ in range(3):
            await it.renewal.look()
        assert caplog.text.count("expires in 20 days") == 1
        it.clock.advance(DAY_MS)
        await it.renewal.look()
        assert "expires in 19 days" in caplog.text
        it.clock.advance(30 * DAY_MS)
        await it.renewal.look()
        assert "has expired" in caplog.text


async def test_a_client_may_not_change_names_unless_that_is_allowed(
    tmp_path: Path,
) -> None:
    async with kept(tmp_path) as it:
        static = it.copies.options.config

        async def check(holder: Holder, **allowed: str) -> None:
            changes = {
                f"{OWN}ssl.certificate.file": str(holder.certificate),
                f"{OWN}ssl.key.file": str(holder.key),
            }
            for kind, value in allowed.items():
                changes[f"{OWN}ssl.allow.{kind}.changes"] = value
            await it.renewal.check(with_changes(static, {}, changes))

        other_name = authority().issue(ALICE, names=NAMES)
        fewer_hosts = authority().issue(SERVER, names=NAMES[:1])
        with pytest.raises(StoreError, match=r"ssl\.allow\.dn\.changes=true allows"):
            await check(other_name)
        await check(other_name, dn="true")
        with pytest.raises(StoreError, match=r"is not for 127\.0\.0\.1"):
            await check(fewer_hosts, dn="true")
        await check(fewer_hosts, san="true")
        await check(authority().issue(SERVER, names=[*NAMES, "DNS:more"]))
        with pytest.raises(StoreError, match="No such file"):
            await check(Holder(tmp_path / "none", tmp_path / "none"))
        await it.renewal.check(with_changes(static, {}, {"message.max.bytes": "7"}))
        assert it.identity.options.config is not static
        assert it.subject == "CN=localhost,O=Example"


async def test_changed_options_hold_with_the_next_look(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        new = authority().issue("/CN=new", names=NAMES)
        changes = {
            f"{OWN}ssl.certificate.file": str(new.certificate),
            f"{OWN}ssl.key.file": str(new.key),
        }
        static = it.copies.options.config
        it.renewal.follow(with_changes(static, {}, changes))
        await asyncio.gather(it.renewal.look(), it.renewal.look())
        assert it.subject == "CN=new"
        assert it.identity.renewed_count == 1
