#!/usr/bin/env python3
"""Holds many keep-alive connections to an attnd on this machine, each of which asked once and then
says nothing. A connection that the server closes is opened anew.

usage: loadtest/idle.py PORT CONNECTIONS SECONDS

Prints a line when all are open and one at the end: how many the server closed meanwhile, and how
many connections or answers failed (exit status 1 if any).
"""
import selectors
import socket
import sys
import time

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
BATCH = 200  # connections under way at once, well below a backlog


class Crowd:
    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.selector = selectors.DefaultSelector()
        self.asking = {}  # socket -> bytes of its answer so far
        self.idle = set()
        self.closed = self.failed = 0

    def open_one(self):
        peer = socket.socket()
        peer.settimeout(30)
        peer.connect(self.address)
        peer.sendall(REQUEST)
        peer.setblocking(False)
        self.asking[peer] = b""
        self.selector.register(peer, selectors.EVENT_READ)

    def drop(self, peer):
        self.selector.unregister(peer)
        peer.close()

    def take(self, peer):
        """What has come on one connection: its answer, or its end."""
        try:
            data = peer.recv(4096)
        except OSError:
            data = b""
        if peer in self.idle:
            self.idle.discard(peer)
            self.closed += 1
            self.drop(peer)
            return
        answer = self.asking.pop(peer) + data
        if data and b"\r\n\r\n" not in answer:
            self.asking[peer] = answer
        elif answer.startswith(b"HTTP/1.1 200"):
            self.idle.add(peer)
        else:
            self.failed += 1
            self.drop(peer)

    def step(self, wanted):
        while len(self.idle) + len(self.asking) < wanted and len(self.asking) < BATCH:
            self.open_one()
        for key, _ in self.selector.select(0.2):
            self.take(key.fileobj)


def main():
    port, wanted, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    crowd = Crowd(port)
    end = time.monotonic() + seconds
    told = False
    while time.monotonic() < end:
        crowd.step(wanted)
        if not told and len(crowd.idle) >= wanted:
            told = True
            print(f"{len(crowd.idle)} idle connections", flush=True)
    print(f"{len(crowd.idle)} idle at the end, {crowd.closed} closed by the server, "
          f"{crowd.failed} failed", flush=True)
    return 1 if crowd.failed or not told else 0


sys.exit(main())
