/* A grey image as PNG (RFC 2083), with nothing but zlib. */
import { deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]);

/** CRC-32 as PNG's appendix has it. */
function crc32(bytes) {
    let crc = 0xFFFFFFFF;
    for (const byte of bytes) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++)
            crc = (crc >>> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return (crc ^ 0xFFFFFFFF) >>> 0;
}

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
}

/** @param {Uint8Array} grey  [height][width] */
export function greyPng(grey, width, height) {
    const header = Buffer.alloc(13);
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
    header[8] = 8; // bits a sample; colour type 0, no interlace
    const rows = Buffer.alloc(height * (width + 1)); // each row begins with filter 0
    for (let y = 0; y < height; y++)
        rows.set(grey.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
    return Buffer.concat([SIGNATURE, chunk('IHDR', header),
        chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
