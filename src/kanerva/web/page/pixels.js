// Images are Uint8Arrays of size x size values: 0 is background, 255 is ink.

export const shape = { size: 28 };

export const blank = () => new Uint8Array(shape.size * shape.size);

export const isBlank = (image) => image.every((value) => value === 0);

export function toBase64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export const encode = (image) => ({ bytes: toBase64(image) });

export const decode = (image) => fromBase64(image.bytes);

// A colour of the style sheet as [red, green, blue].
export function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name);
  return text.trim().split(/\s+/).map(Number);
}

const drawn = new Map(); // canvases and how to paint them again when the colours change

// Paint values (0 to 255) between two colours; large pixels stay sharp.
export function paint(canvas, image, { from = "--paper", to = "--ink", columns = shape.size, gamma = 1 } = {}) {
  const low = colour(from);
  const high = colour(to);
  paintWith(canvas, image.length, columns, (index) => {
    const share = (image[index] / 255) ** gamma;
    return low.map((value, channel) => value + share * (high[channel] - value));
  });
  drawn.set(canvas, () => paint(canvas, image, { from, to, columns, gamma }));
}

// Paint signed numbers: positive ones in one colour, negative ones in another.
export function paintSigned(canvas, numbers, columns) {
  const [paper, plus, minus] = ["--paper", "--plus", "--minus"].map(colour);
  const largest = Math.max(...numbers.map(Math.abs), 1e-9);
  paintWith(canvas, numbers.length, columns, (index) => {
    const share = Math.abs(numbers[index]) / largest;
    const end = numbers[index] < 0 ? minus : plus;
    return paper.map((value, channel) => value + share * (end[channel] - value));
  });
  drawn.set(canvas, () => paintSigned(canvas, numbers, columns));
}

function paintWith(canvas, count, columns, colourOf) {
  const rows = Math.ceil(count / columns);
  const small = new OffscreenCanvas(columns, rows);
  const context = small.getContext("2d");
  const data = context.createImageData(columns, rows);
  for (let index = 0; index < count; index++) {
    data.data.set([...colourOf(index), 255], 4 * index);
  }
  context.putImageData(data, 0, 0);
  const target = canvas.getContext("2d");
  target.imageSmoothingEnabled = false;
  target.clearRect(0, 0, canvas.width, canvas.height);
  target.drawImage(small, 0, 0, canvas.width, canvas.height);
}

// A button that shows an image.
export function tile(image, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tile";
  button.setAttribute("aria-label", label);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 3 * shape.size;
  button.append(canvas);
  paint(canvas, image);
  return button;
}

export function repaintAll() {
  for (const [canvas, again] of drawn) {
    if (canvas.isConnected) again();
    else drawn.delete(canvas);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);
