"""Draws made/ and bmp/, and writes expected.csv. Usage: python3 make.py   (needs pillow<13 and numpy)"""
import csv, glob, hashlib, io, struct, zlib
import numpy as np
from PIL import Image, ImageOps

REFUSED = {
    "pngsuite/xcsn0g01.png", "png_bugfixes/x_interlaced_chck.png",  # stricter: damaged image data
    "made/no_eoi_half.jpg", "made/eoi_too_early.jpg", "made/scans_200.jpg", "made/two_components.jpg",
    "made/bits_12.jpg", "made/trailing_missing.png",
    "bmp/index_8.bmp", "bmp/mask_with_gap.bmp",
}
ANY = {  # laxer: unread chunks do not matter; or pixels that no standard defines
    "png_bugfixes/cicp_pq.png", "pillow/png_decompression_dos.png",
    "png_bugfixes/invalid_palette_index.png", "made/restart_damaged.jpg",
    "made/profile_bomb.png",
    "bmp/masks_10.bmp", "bmp/masks_444.bmp", "bmp/rows_skipped_rle8.bmp",  # Pillow refuses them, or sees fewer rows
}


def drawing(width=23, height=17):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 255 // (width - 1), y * 255 // (height - 1), (x * 37 + y * 91) % 256],
                    -1).astype(np.uint8)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png16(samples, colour, sbit=None, extra=b""):
    """A 16-bit PNG: samples [height, width, channels]."""
    height, width = samples.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0))
            + (chunk(b"sBIT", bytes(sbit)) if sbit else b"") + extra
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def exif(order, orientation, kind=3, count=1, at=8, repeat=()):
    """An EXIF block with one orientation entry of the given type and count."""
    e = "<" if order == "II" else ">"
    value = {1: "B3x", 3: "H2x", 4: "I"}[kind]
    entries = [struct.pack(e + "HHI" + value, 0x112, kind, count, o) for o in (*repeat, orientation)]
    head = order.encode() + struct.pack(e + "HI", 42, at)
    return b"Exif\0\0" + head + b"\0" * (at - 8) + struct.pack(e + "H", len(entries)) + b"".join(entries)


def segments(data):
    """(marker, bytes) of each segment; a scan is one with its entropy-coded data."""
    at = 2
    while data[at + 1] != 0xD9:
        end = at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
        if data[at + 1] == 0xDA:
            while not (data[end] == 0xFF and data[end + 1] not in (0, *range(0xD0, 0xD8))):
                end += 1
        yield data[at + 1], data[at:end]
        at = end


def draw():
    made = {}
    rgb = Image.fromarray(drawing())
    ramp = (np.arange(32 * 8).reshape(8, 32, 1) * 4095 // 255).astype(np.uint16)
    made["grey12_lower_sbit.png"] = png16(ramp, 0, [12])
    made["grey12_upper_sbit.png"] = png16(ramp << 4 | ramp >> 8, 0, [12])
    made["grey12_upper_zeros_sbit.png"] = png16(ramp << 4, 0, [12])
    made["grey12_dark_upper_sbit.png"] = png16((ramp // 32) << 4, 0, [12])
    made["grey12_no_sbit.png"] = png16(ramp, 0)
    made["grey16.png"] = png16(ramp * 16 + ramp // 256, 0)
    made["grey16_alpha.png"] = png16(np.concatenate([ramp * 16, 65535 - ramp], -1), 4)
    made["grey16_flat.png"] = png16(ramp * 0 + 1234, 0)
    made["rgb16.png"] = png16(np.concatenate([ramp * 16 + 255, ramp * 7, 65535 - ramp], -1), 2)
    bomb = zlib.compress(b"\0" * (8 << 20), 9)  # 8 MiB in 8 KiB, were it inflated
    made["profile_bomb.png"] = png16(ramp, 2 if ramp.shape[2] == 3 else 0,
                                     extra=chunk(b"iCCP", b"x\0\0" + bomb))
    made["trailing_missing.png"] = made["grey16.png"][:-12]
    for mode, options in [("RGB", {}), ("L", {}), ("CMYK", {}), ("RGB", {"progressive": True})]:
        name = mode.lower() + ("_progressive" if options else "") + ".jpg"
        made[name] = jpeg(rgb.convert(mode), quality=90, **options)
    for sampling in (0, 1, 2):
        made[f"rgb_sampling_{sampling}.jpg"] = jpeg(rgb, quality=85, subsampling=sampling)
    adobe = made["cmyk.jpg"].index(b"Adobe")
    made["ycck.jpg"] = (made["cmyk.jpg"][:adobe + 11] + b"\2" + made["cmyk.jpg"][adobe + 12:])
    for o in range(0, 10):
        made[f"orientation_{o}.jpg"] = jpeg(rgb, quality=90, exif=exif("II" if o % 2 else "MM", o))
    made["orientation_6_cmyk.jpg"] = jpeg(rgb.convert("CMYK"), exif=exif("MM", 6))
    made["orientation_6_grey.jpg"] = jpeg(rgb.convert("L"), exif=exif("MM", 6))
    made["orientation_6_long.jpg"] = jpeg(rgb, exif=exif("II", 6, kind=4))
    made["orientation_6_byte.jpg"] = jpeg(rgb, exif=exif("II", 6, kind=1))
    made["orientation_6_two_values.jpg"] = jpeg(rgb, exif=exif("MM", 6, count=2))
    made["orientation_3_then_6.jpg"] = jpeg(rgb, exif=exif("MM", 6, repeat=(3,)))
    made["orientation_6_far.jpg"] = jpeg(rgb, exif=exif("MM", 6, at=4000))
    plain, progressive = made["rgb.jpg"], made["rgb_progressive.jpg"]
    made["no_eoi_half.jpg"] = plain[:len(plain) * 2 // 3]
    made["eoi_too_early.jpg"] = plain[:len(plain) * 2 // 3] + b"\xff\xd9"
    parts = [bytes_ for _, bytes_ in segments(progressive)]
    second = [i for i, part in enumerate(parts) if part[1] == 0xDA][1]  # the first of Y's AC scans
    for count in (50, 200):
        made[f"scans_{count}.jpg"] = (progressive[:2] + b"".join(parts[:second])
                                      + parts[second] * (count - len(parts) + second)
                                      + b"".join(parts[second:]) + b"\xff\xd9")
    sof, sos = plain.index(b"\xff\xc0"), plain.index(b"\xff\xda")
    made["two_components.jpg"] = (plain[:sof] + b"\xff\xc0\0\x0e" + plain[sof + 4:sof + 9] + b"\2"
                                  + plain[sof + 10:sof + 16] + plain[sof + 19:sos]
                                  + b"\xff\xda\0\x0a\2" + plain[sos + 5:sos + 9] + plain[sos + 11:])
    made["bits_12.jpg"] = plain[:sof + 4] + b"\x0c" + plain[sof + 5:]
    restart = jpeg(Image.fromarray(drawing(160, 120)).convert("L"), quality=90, restart_marker_blocks=20)
    at = restart.index(b"\xff\xd3")
    made["restart_damaged.jpg"] = restart[:at - 12] + restart[at:]
    for name, data in made.items():
        open("made/" + name, "wb").write(data)


def bmp(size, bits, rows, header=40, compression=0, palette=(), used=None, masks=(), top_down=False):
    """A BMP; rows are padded here, runs (bytes) are taken as they are."""
    width, height = size
    runs = isinstance(rows, bytes)
    data = rows if runs else b"".join(row + b"\0" * (-len(row) % 4) for row in rows)
    colours = b"".join(bytes(c[::-1]) + (b"" if header == 12 else b"\0") for c in palette)
    told = struct.pack("<%dI" % len(masks), *masks)
    if header == 12:
        dib = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        dib = struct.pack("<IiiHHIIiiII", header, width, -height if top_down else height, 1, bits, compression,
                          len(data), 2835, 2835, len(palette) if used is None else used, 0)
        dib += told
        dib += b"\0" * (header - len(dib))
    at = 14 + len(dib) + len(colours)
    return struct.pack("<2sIHHI", b"BM", at + len(data), 0, 0, at) + dib + colours + data


def packed(indices, bits):
    """Rows of indices, the first in the upper bits."""
    for row in indices:
        row = np.pad(row, (0, -len(row) % (8 // bits))).reshape(-1, 8 // bits)
        yield bytes(sum(row[:, i].astype(int) << (8 - bits * (i + 1)) for i in range(8 // bits)).astype(np.uint8))


def runs(indices, bits):
    """Each row: its first half as runs, its second as pixels one by one."""
    out = b""
    for y, row in enumerate(indices):
        half = len(row) // 2
        x = 0
        while x < half:
            n = 1
            while x + n < half and row[x + n] == row[x]:
                n += 1
            out += bytes([n, row[x] * (17 if bits == 4 else 1)])
            x += n
        literal = b"".join(packed([row[half:]], bits))
        out += bytes([0, len(row) - half]) + literal + b"\0" * (len(literal) % 2) + b"\0\0"
    return out + b"\0\1"


def draw_bmps():
    rgb = drawing()[::-1]  # the bottom row first
    size = (rgb.shape[1], rgb.shape[0])
    bgr = [row[:, ::-1].tobytes() for row in rgb]
    bgrx = [np.pad(row[:, ::-1], ((0, 0), (0, 1)), constant_values=99).tobytes() for row in rgb]
    wide = rgb.astype(int)
    five = [(row[:, 0] >> 3 << 10 | row[:, 1] >> 3 << 5 | row[:, 2] >> 3).astype("<u2").tobytes() for row in wide]
    six = [(row[:, 0] >> 3 << 11 | row[:, 1] >> 2 << 5 | row[:, 2] >> 3).astype("<u2").tobytes() for row in wide]
    four = [(row[:, 0] >> 4 << 8 | row[:, 1] >> 4 << 4 | row[:, 2] >> 4).astype("<u2").tobytes() for row in wide]
    ten = [(row[:, 0] << 22 | row[:, 1] << 12 | row[:, 2] << 2).astype("<u4").tobytes() for row in wide]
    rgba = [np.pad(row, ((0, 0), (0, 1)), constant_values=99).tobytes() for row in rgb]
    index = (rgb[:, :, 0].astype(int) + rgb[:, :, 2]) % 200
    colours = [(i, 255 - i, i * 7 % 256) for i in range(200)]
    greys = [(i, i, i) for i in range(256)]
    v4 = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    step = b"\5\1\0\2\3\2\4\2\0\0\6\3\0\1"  # 5 pixels, 3 columns and 2 rows on, 4 pixels, the end within a row
    made = {
        "rgb24": bmp(size, 24, bgr), "rgb24_top_down": bmp(size, 24, bgr[::-1], top_down=True),
        "rgb24_core": bmp(size, 24, bgr, header=12), "rgb24_v5": bmp(size, 24, bgr, header=124),
        "rgb32": bmp(size, 32, bgrx), "rgb32_v4": bmp(size, 32, bgrx, header=108, compression=3, masks=v4),
        "rgb32_rgba": bmp(size, 32, rgba, header=124, compression=3, masks=(0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
        "rgb32_v3": bmp(size, 32, bgrx, header=56, compression=3, masks=v4),
        "rgb16": bmp(size, 16, five), "rgb16_565": bmp(size, 16, six, compression=3, masks=(0xF800, 0x7E0, 0x1F)),
        "masks_444": bmp(size, 16, four, compression=3, masks=(0xF00, 0xF0, 0xF)),
        "masks_10": bmp(size, 32, ten, compression=3, masks=(0x3FF00000, 0xFFC00, 0x3FF)),
        "mask_with_gap": bmp(size, 16, five, compression=3, masks=(0x7A00, 0x3E0, 0x1F)),
        "grey8": bmp(size, 8, packed(wide[:, :, 0], 8), palette=greys, used=0),
        "pal8": bmp(size, 8, packed(index, 8), palette=colours),
        "pal8_top_down": bmp(size, 8, packed(index[::-1], 8), palette=colours, top_down=True),
        "pal8_core": bmp(size, 8, packed(index, 8), palette=colours + [(0, 0, 0)] * 56, header=12),
        "pal4": bmp(size, 4, packed(index // 13, 4), palette=colours[::13]),
        "pal1": bmp(size, 1, packed(index // 100, 1), palette=[(200, 10, 30), (0, 120, 255)]),
        "index_8": bmp(size, 8, packed(index, 8), palette=colours[:150]),
        "rle8": bmp(size, 8, runs(index // 20, 8), compression=1, palette=colours[::20]),
        "rle8_top_down": bmp(size, 8, runs(index[::-1] // 20, 8), compression=1, palette=colours[::20], top_down=True),
        "rle4": bmp(size, 4, runs(index // 20, 4), compression=2, palette=colours[::20]),
        "rows_skipped_rle8": bmp((12, 5), 8, step, compression=1, palette=colours[50:60]),
    }
    for name, data in made.items():
        open(f"bmp/{name}.bmp", "wb").write(data)


def grey16(name):
    """(v >> shift) x 255 / range, rounded; sBIT counts upper bits unless the values cannot be so."""
    data = open(name, "rb").read()
    if data[:4] != b"\x89PNG" or data[24] != 16 or data[25] not in (0, 4):
        return None
    image = Image.open(name)
    if data[25] == 4:  # Pillow keeps only the high byte of these: made/grey16_alpha and PngSuite's
        import zlib as z
        if image.info.get("interlace"):
            return "any"
        at, body = 8, b""
        while at < len(data):
            size = struct.unpack(">I", data[at:at + 4])[0]
            body += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
            at += size + 12
        rows = np.frombuffer(z.decompress(body), np.uint8).reshape(image.height, -1)
        if rows[:, 0].any():
            return "any"
        v = rows[:, 1:].copy().view(">u2").astype(np.int64).reshape(image.height, image.width, 2)[..., 0]
    else:
        v = np.asarray(image).astype(np.int64)
    at = data.find(b"sBIT")
    bits = data[at + 4] if 0 <= at < data.find(b"IDAT") else 16
    most, unused = (1 << bits) - 1, 16 - bits
    lower = v.max() <= most and (v & ((1 << unused) - 1)).any()
    v = ((v >> (0 if lower else unused)) * 255 + most // 2) // most
    return np.repeat(v[..., None], 3, -1).astype(np.uint8)


def expected(name):
    if name in REFUSED:
        return ["refuse", 0, 0, "-"]
    pixels = None
    try:
        pixels = grey16(name) if name.endswith(".png") else None
        if pixels is None or isinstance(pixels, str):
            image = Image.open(name)
            image = ImageOps.exif_transpose(image) if name.endswith(".jpg") else image
            free = isinstance(pixels, str)
            pixels = np.asarray(image.convert("RGB"))
            if free or name in ANY:
                return ["any", pixels.shape[1], pixels.shape[0], "-"]
    except Exception:
        return ["any", 0, 0, "-"] if name in ANY else ["refuse", 0, 0, "-"]
    return ["pixels", pixels.shape[1], pixels.shape[0], hashlib.sha256(pixels.tobytes()).hexdigest()]


if __name__ == "__main__":
    draw()
    draw_bmps()
    names = sorted(n.replace("\\", "/") for p in ("png", "jpg", "bmp") for n in glob.glob("*/*." + p))
    with open("expected.csv", "w", newline="\n") as out:
        writer = csv.writer(out, lineterminator="\n")
        for name in names:
            writer.writerow([name] + expected(name))
