"""A name server: `name_server.py ADDRESS FILE NAME=ADDRESS,…` answers questions for NAME once FILE is there, and says
on stderr what it was asked.
"""

import ipaddress
import os
import socket
import struct
import sys

HEADER = ">HHHHHH"
A, AAAA, IN = 1, 28, 1
ANSWER, NO_SUCH_NAME = 0x8580, 0x8583


def question(packet):
    """The name that is asked for, what about it, and where the question ends."""
    labels, at = [], struct.calcsize(HEADER)
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels), struct.unpack_from(">H", packet, at + 1)[0], at + 5


def reply(packet, known):
    name, kind, end = question(packet)
    wanted = [address for address in known.get(name, [])
              if kind == (A if address.version == 4 else AAAA)]
    header = struct.pack(HEADER, struct.unpack_from(">H", packet)[0], ANSWER if name in known else NO_SUCH_NAME,
                         1, len(wanted), 0, 0)
    # Each record points back at the name in the question.
    records = [struct.pack(">HHHIH", 0xC00C, kind, IN, 0, len(address.packed)) + address.packed
               for address in wanted]
    return header + packet[struct.calcsize(HEADER):end] + b"".join(records)


def main():
    address, speaks, *names = sys.argv[1:]
    known = {name: [ipaddress.ip_address(text) for text in addresses.split(",")]
             for name, addresses in (entry.split("=") for entry in names)}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, 53))
        print("serves", file=sys.stderr, flush=True)
        while True:
            packet, peer = server.recvfrom(4096)
            print(f"was asked for {question(packet)[0]}", file=sys.stderr, flush=True)
            if os.path.exists(speaks):
                server.sendto(reply(packet, known), peer)


main()
