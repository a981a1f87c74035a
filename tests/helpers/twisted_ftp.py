"""Twisted's FTP server on loopback: `python twisted_ftp.py FOLDER` prints its port, and serves the folder."""

from __future__ import annotations

import sys
from typing import Any

from twisted.cred.checkers import AllowAnonymousAccess
from twisted.cred.portal import Portal
from twisted.internet import reactor
from twisted.protocols.ftp import FTPFactory, FTPRealm


def main() -> None:
    realm: Any = FTPRealm(sys.argv[1])
    anybody: Any = AllowAnonymousAccess()
    listening: Any = reactor
    port = listening.listenTCP(0, FTPFactory(Portal(realm, [anybody])), interface="127.0.0.1")
    print(port.getHost().port, flush=True)
    listening.run()


if __name__ == "__main__":
    main()
