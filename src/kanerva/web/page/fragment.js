// The written characters in the address of the page, so that a bookmark or a reload keeps them.
// The form: #1.KEY.DATA with DATA = base64url(deflate(bits)).

import { shape, toBase64, fromBase64 } from "./pixels.js";

const VERSION = "1";

async function through(bytes, stream) {
  const changed = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(changed).arrayBuffer());
}

export async function toFragment(key, images) {
  if (!images.length) return "";
  if (images.some((image) => image.some((value) => value !== 0 && value !== 255))) return "";
  const perImage = Math.ceil(shape.size ** 2 / 8);
  const bits = new Uint8Array(images.length * perImage);
  images.forEach((image, number) => image.forEach((value, index) => {
    if (value) bits[number * perImage + (index >> 3)] |= 128 >> (index & 7);
  }));
  const packed = await through(bits, new CompressionStream("deflate-raw"));
  const text = toBase64(packed).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `#${VERSION}.${key}.${text}`;
}

// What an address holds: {key, images}, or null if it holds nothing that this page wrote.
export async function fromFragment(fragment, maxImages) {
  const [version, key, text] = fragment.replace(/^#/, "").split(".");
  if (version !== VERSION || !key || !text) return null;
  try {
    const bits = await through(fromBase64(text.replaceAll("-", "+").replaceAll("_", "/")), new DecompressionStream("deflate-raw"));
    const perImage = Math.ceil(shape.size ** 2 / 8);
    const count = bits.length / perImage;
    if (!Number.isInteger(count) || count < 1 || count > maxImages) return null;
    return { key, images: Array.from({ length: count }, (_, number) => Uint8Array.from(
      { length: shape.size ** 2 },
      (__, index) => (bits[number * perImage + (index >> 3)] & (128 >> (index & 7)) ? 255 : 0),
    )) };
  } catch {
    return null;
  }
}
