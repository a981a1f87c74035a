"""What one partition sends another at a checkpoint: messages about URLs, a part of the limit of pages, and what a
person wants done there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.frames import compress, decompress
from sitecrawl.frontier.by_hand import Act
from sitecrawl.frontier.urls.territory import Message


class Bundle(NamedTuple):
    """See the module."""

    messages: Sequence[Message] = ()
    account: int = 0
    """Account of the limit to which `pages` belong."""
    pages: int = 0
    """Allowance that moves from the sending to the receiving partition."""
    acts: Sequence[Act] = ()
    """Acts for the receiver."""

    def pack(self) -> bytes:
        """A frame of MessagePack [account, pages, [fields of a message, ...], [act, ...]]."""
        fields = [message.fields() for message in self.messages]
        return compress(msgpack.packb([self.account, self.pages, fields, self.acts]))

    @classmethod
    def unpack(cls, data: bytes) -> Bundle:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            account, pages, messages, acts = msgpack.unpackb(decompress(data))
            return cls([Message.of(fields) for fields in messages], account, pages, [Act(*act) for act in acts])
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"A bundle of {len(data)} bytes cannot be read: {error}") from error
