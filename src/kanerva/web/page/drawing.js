// A canvas to draw on with mouse, pen, finger or keyboard.

import { blank, colour, shape } from "./pixels.js";

const SCALE = 10; // canvas pixels for each pixel of the model
const PEN = 9; // the width of the pen, about that of the strokes the model was trained on
const THRESHOLD = 20; // of 255: greys above it are ink, as in the training data

export class Pad {
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.side = SCALE * shape.size;
    canvas.width = canvas.height = this.side;
    this.ink = new OffscreenCanvas(this.side, this.side);
    this.context = this.ink.getContext("2d", { willReadFrequently: true });
    this.context.lineCap = this.context.lineJoin = "round";
    this.context.lineWidth = PEN;
    this.last = null;
    this.cursor = null;
    this.isDown = false;
    this.isEmpty = true;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => this.lift());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => { this.cursor = null; this.isDown = false; this.show(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.side / box.width, (event.clientY - box.top) * this.side / box.height];
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.line(this.last, this.last);
  }

  move(event) {
    if (!this.last) return;
    for (const one of event.getCoalescedEvents?.() ?? [event]) {
      const next = this.place(one);
      this.line(this.last, next);
      this.last = next;
    }
  }

  lift() {
    this.last = null;
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step && event.key !== " ") return;
    event.preventDefault();
    this.cursor ??= [this.side / 2, this.side / 2];
    if (event.key === " ") {
      this.isDown = !this.isDown;
      if (this.isDown) this.line(this.cursor, this.cursor);
    } else {
      const next = this.cursor.map((value, axis) => Math.min(this.side - 5, Math.max(5, value + SCALE * step[axis])));
      if (this.isDown) this.line(this.cursor, next);
      this.cursor = next;
    }
    this.show();
  }

  line(from, to) {
    this.context.beginPath();
    this.context.moveTo(...from);
    this.context.lineTo(to[0] + 0.01, to[1]);
    this.context.stroke();
    this.isEmpty = false;
    this.show();
    this.onChange();
  }

  clear() {
    this.context.clearRect(0, 0, this.side, this.side);
    this.isEmpty = true;
    this.show();
    this.onChange();
  }

  show() {
    const context = this.canvas.getContext("2d");
    context.globalCompositeOperation = "source-over";
    context.clearRect(0, 0, this.side, this.side);
    context.drawImage(this.ink, 0, 0);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = `rgb(${colour("--ink").join(" ")})`;
    context.fillRect(0, 0, this.side, this.side);
    context.globalCompositeOperation = "source-over";
    if (this.cursor) {
      context.strokeStyle = `rgb(${colour("--minus").join(" ")})`;
      context.lineWidth = this.isDown ? 5 : 2;
      context.beginPath();
      context.arc(...this.cursor, 8, 0, 7);
      context.stroke();
    }
  }

  // The drawing as the model sees it: averaged over squares, then ink or background.
  image() {
    const { data } = this.context.getImageData(0, 0, this.side, this.side);
    const found = blank();
    for (let row = 0; row < shape.size; row++) {
      for (let column = 0; column < shape.size; column++) {
        let sum = 0;
        for (let y = 0; y < SCALE; y++) {
          const start = ((SCALE * row + y) * this.side + SCALE * column) * 4 + 3;
          for (let x = 0; x < SCALE; x++) sum += data[start + 4 * x];
        }
        found[row * shape.size + column] = sum / SCALE ** 2 > THRESHOLD ? 255 : 0;
      }
    }
    return found;
  }
}
