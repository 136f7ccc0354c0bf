"""Images of the largest size in few bytes, written without a library: nothing but their headers and
runs of zero bits. Each is valid and decodes to a plain square."""

import struct
import zlib


def png(side, interlaced=False):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    packer = zlib.compressobj(1)
    row = bytes(1 + 3 * side)
    data = []
    if interlaced:  # Adam7: seven smaller images, one after the other
        for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                             (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
            part = bytes(1 + 3 * ((side - x + dx - 1) // dx))
            data += [packer.compress(part) for _ in range((side - y + dy - 1) // dy)]
    else:
        data = [packer.compress(row) for _ in range(side)]
    data.append(packer.flush())
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 1 if interlaced else 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"".join(data))
            + chunk(b"IEND", b""))


def jpeg(side, components, progressive):
    """One Huffman code of one bit, 0, for the one symbol 0: no difference, end of block."""

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    table = bytes([1] + [0] * 15) + b"\0"
    blocks = ((side + 7) // 8) ** 2 * components
    bits = blocks if progressive else 2 * blocks
    data = bytes(bits // 8)
    if bits % 8:
        data += bytes([0xFF >> bits % 8])
    frame = struct.pack(">BHHB", 8, side, side, components)
    frame += b"".join(bytes([i + 1, 0x11, 0]) for i in range(components))
    scan = bytes([components]) + b"".join(bytes([i + 1, 0]) for i in range(components))
    scan += bytes([0, 0, 0]) if progressive else bytes([0, 63, 0])
    return (b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64))
            + segment(0xC2 if progressive else 0xC0, frame)
            + segment(0xC4, b"\0" + table) + segment(0xC4, b"\x10" + table)
            + segment(0xDA, scan) + data + b"\xff\xd9")
