"""Ports for the processes of a test that must know them before they start, and take them again when they start again.

    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
    from free_ports import free_ports
"""
import pathlib
import random
import socket


def free_ports(count):
    """None of those that a connection gets by itself, which would keep a process from its port."""
    least = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = set()
    while len(ports) < count:
        port = random.randrange(least // 2, least)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        ports.add(port)
    return list(ports)
