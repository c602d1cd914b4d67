"""The journal: what clients asked and what they were answered, the last 10,000 calls.

``journal.begin`` writes down calls from then on and says at which number; it goes on
until as many ``journal.end`` came. ``calls`` has an item for each call that it was
asked for. While nobody began nothing of this is in the way of any request.
"""
