"""What tests ask of a broker that runs with ``test.control=true``; loaded only then.

Each module answers the requests of one subject. They come by two doors: the admin
socket, and ``POST /test/v1/NAME`` on the HTTP listener.
"""
