// Saving the memory as a file, and loading it, or pictures, again.

import { decode, encode, shape } from "./pixels.js";

const FORMAT = "kanerva playground";
const MAX_BYTES = 10_000_000;
const MAX_SIDE = 512;

export function save(items, model) {
  const contents = {
    format: FORMAT, version: 1, model, image_shape: [1, shape.size, shape.size],
    items: items.map(({ id, image }) => ({ id, image: encode(image) })),
  };
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(contents)], { type: "application/json" }));
  link.download = "memory.kanerva.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// What files hold: {images} of a saved memory, or {pictures} as PNG data URLs.
export async function load(files, { maxImages, maxItems }) {
  if (files.some((file) => file.size > MAX_BYTES)) throw new Error("This file is too large. Choose one below 10 MB.");
  const saved = files.filter((file) => !file.type.startsWith("image/"));
  if (saved.length > 1 || (saved.length && files.length > 1)) throw new Error("Choose one saved memory, or some pictures.");
  if (saved.length) return { images: readSaved(await saved[0].text(), saved[0].name, maxItems) };
  if (files.length > maxImages) throw new Error(`Choose at most ${maxImages} pictures.`);
  return { pictures: await Promise.all(files.map(asPng)) };
}

function readSaved(text, name, maxItems) {
  const wrong = new Error(`“${name}” is not a memory that this page saved. Nothing was changed.`);
  let contents;
  try {
    contents = JSON.parse(text);
  } catch {
    throw wrong;
  }
  if (contents?.format !== FORMAT || contents.version !== 1 || !Array.isArray(contents.items)) throw wrong;
  if (contents.items.length > maxItems) throw new Error(`“${name}” has more than ${maxItems} characters. Nothing was changed.`);
  if (String(contents.image_shape) !== String([1, shape.size, shape.size])) {
    throw new Error(`“${name}” was saved with a model of another image size. Nothing was changed.`);
  }
  try {
    const images = contents.items.map(({ image }) => decode(image));
    if (images.some((image) => image.length !== shape.size ** 2)) throw wrong;
    return images;
  } catch {
    throw wrong;
  }
}

async function asPng(file) {
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new Error(`“${file.name}” is not a picture that this browser can open. Nothing was changed.`);
  }
  const scale = Math.min(1, MAX_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(scale * picture.width));
  canvas.height = Math.max(1, Math.round(scale * picture.height));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}
