import socket
from pathlib import Path

from tests.ports import OF_A_WORKER, PORTS, free_ports, ports_of


def test_nobody_gets_a_port_that_somebody_else_may_get() -> None:
    of_workers = [set(ports_of(f"gw{number}")) for number in range(12)]
    assert sum(map(len, of_workers)) == len(set.union(*of_workers))
    assert set.union(*of_workers) == set(PORTS)
    of_clients = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if of_clients.exists():
        assert PORTS.stop <= int(of_clients.read_text().split()[0])


def test_what_was_given_out_is_not_given_out_again() -> None:
    found = free_ports(20)
    assert len(set(found)) == 20


def test_a_port_in_use_is_passed_over() -> None:
    (port,) = free_ports(1)
    with socket.socket() as used:
        used.bind(("127.0.0.1", port))
        assert port not in free_ports(OF_A_WORKER)
