/* How many pixels a picture has, from its head alone: nothing is decoded to know it. */

/* PNG: width and height begin the IHDR, which comes first (PNG, 11.2.1). */
function ofPng(view) {
    return view.byteLength < 24 ? 0 : view.getUint32(16) * view.getUint32(20);
}

/* SOF0 to SOF15 without DHT, JPG and DAC, which share the range (ITU-T T.81, table B.1). */
function isFrame(marker) {
    return marker >= 0xC0 && marker <= 0xCF && ![0xC4, 0xC8, 0xCC].includes(marker);
}

function ofJpeg(view) {
    for (let at = 2; at + 9 <= view.byteLength;) {
        if (view.getUint8(at) !== 0xFF)
            return 0;
        const marker = view.getUint8(at + 1);
        if (isFrame(marker))
            return view.getUint16(at + 5) * view.getUint16(at + 7);
        at += marker === 0xFF ? 1 : 2 + view.getUint16(at + 2);
    }
    return 0;
}

/* The sides begin the DIB header, of 16 bits in OS/2's of twelve bytes; a negative height is that of
 * rows from above. */
function ofBmp(view) {
    if (view.byteLength < 26)
        return 0;
    if (view.getUint32(14, true) === 12)
        return view.getUint16(18, true) * view.getUint16(20, true);
    return view.getUint32(18, true) * Math.abs(view.getInt32(22, true));
}

/**
 * @param {Uint8Array} bytes  the first of a file
 * @param {string} type
 * @returns {number} 0: they do not tell
 */
export function pixelsOf(bytes, type) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return type === 'image/png' ? ofPng(view)
        : type === 'image/jpeg' ? ofJpeg(view)
        : type === 'image/bmp' ? ofBmp(view)
        : 0;
}
