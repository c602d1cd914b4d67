"""Sockets of kafka-python close when nobody has them any more; import it beside kafka.

Up to 3.0.12 at least, one that could not connect is let go of without being closed:
the warning would come when its garbage is collected, in whatever test runs then.
"""

import socket
from typing import Any

from kafka.net.inet import KafkaNetSocket


class DroppedSocket(socket.socket):
    def __del__(self) -> None:
        self.close()


def _new_socket(_: KafkaNetSocket, *options: Any) -> DroppedSocket:
    return DroppedSocket(*options)


KafkaNetSocket.socket = _new_socket
