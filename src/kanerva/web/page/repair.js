// The cue, its damage, and the readings that bring it back.

import { blank, isBlank, paint, shape, tile } from "./pixels.js";
import { $, attempt, news, on, plural, still } from "./words.js";

const CUE_MS = 250; // how long a damaged cue is seen before the first reading
const UNSURE_FROM = 0.2; // below this confidence nothing in memory is close

export class Repair {
  constructor(memory, { onFrame, onDamage }) {
    this.memory = memory;
    this.onFrame = onFrame;
    this.onDamage = onDamage;
    this.original = blank();
    this.cue = blank();
    this.reading = null;
    this.timer = 0;
    this.asked = 0;
    this.cursor = null;
    on("block", "click", () => this.damage(withBlock));
    on("noise", "click", () => this.damage(withNoise));
    on("heal", "click", () => this.show(this.original));
    on("again", "click", () => this.play());
    this.addBrush($("cue"));
  }

  // Ask with an image; it is also what the cue goes back to.
  async show(image) {
    this.original = image.slice();
    this.cue = image.slice();
    $("repair-area").hidden = false;
    await this.ask();
  }

  // Back to the first state: nothing to damage, nothing read.
  reset() {
    clearTimeout(this.timer);
    this.asked += 1; // a reading on its way is no longer wanted
    this.original = blank();
    this.cue = blank();
    if (this.reading) this.onFrame(this.reading.weights.map(() => 0));
    this.reading = null;
    $("repair-area").hidden = true;
    for (const id of ["cue", "reading"]) paint($(id), this.cue);
    for (const id of ["verdict", "repaired", "confidence-text"]) $(id).textContent = "";
    $("film").replaceChildren();
    $("reading-number").textContent = "of the memory";
    $("verdict").dataset.known = "none";
    $("confidence").value = 0;
    delete $("reading").dataset.state;
  }

  async damage(change) {
    this.cue = change(this.cue);
    this.onDamage();
    await this.ask();
  }

  async ask() {
    clearTimeout(this.timer);
    this.showCue();
    this.asked += 1;
    const number = this.asked;
    $("reading").dataset.state = "waiting";
    $("repaired").textContent = "";
    const reading = await this.memory.read(this.cue);
    if (number !== this.asked) return; // a newer cue was asked meanwhile
    this.reading = reading;
    this.showFilm();
    this.play();
  }

  showCue() {
    paint($("cue"), this.cue);
    if (!this.cursor) return;
    const context = $("cue").getContext("2d");
    const scale = $("cue").width / shape.size;
    context.strokeStyle = "orange";
    context.lineWidth = 3;
    context.strokeRect(...this.cursor.map((value) => (value - 1) * scale), 3 * scale, 3 * scale);
  }

  // Show the readings one after the other; a damaged cue is seen for a moment before them.
  play() {
    clearTimeout(this.timer);
    const { steps } = this.reading;
    const pause = Math.min(240, Math.max(60, 1800 / steps.length));
    const next = (number) => {
      this.frame(number);
      if (number < steps.length) this.timer = setTimeout(() => next(number + 1), number ? pause : CUE_MS);
    };
    const isDamaged = this.cue.some((value, index) => value !== this.original[index]);
    next(still.matches ? steps.length : isDamaged ? 0 : 1);
  }

  // Show reading `number` of 1 to N, or the cue itself for 0.
  frame(number) {
    const { steps, step_weights: weights, confidence, known } = this.reading;
    const isLast = number === steps.length;
    paint($("reading"), number ? steps[number - 1] : this.cue);
    $("reading").dataset.state = isLast ? "done" : "playing";
    $("reading").dataset.number = number;
    $("reading-number").textContent = number ? `${number} of ${steps.length}` : "the cue";
    $("film").querySelectorAll(".tile").forEach((one, index) => one.setAttribute("aria-pressed", String(index === number)));
    this.onFrame(isLast ? this.reading.weights : weights[number]);
    if (!isLast) return;
    const [kind, text] = verdict(known, confidence);
    $("verdict").textContent = text;
    $("verdict").dataset.known = kind;
    $("repaired").textContent = repaired(this.original, this.cue, steps.at(-1));
    $("confidence").value = confidence;
    $("confidence-text").textContent = `${Math.round(100 * confidence)} %`;
    $("reading").setAttribute("aria-label", `What the memory reads after ${steps.length} readings`);
    news(`${text} ${$("repaired").textContent} Confidence ${Math.round(100 * confidence)} percent after ${steps.length} readings.`);
  }

  showFilm() {
    const frames = [this.cue, ...this.reading.steps];
    $("film").replaceChildren(...frames.map((image, number) => {
      const figure = document.createElement("figure");
      const button = tile(image, number ? `Show reading ${number}` : "Show the cue");
      button.addEventListener("click", () => { clearTimeout(this.timer); this.frame(number); });
      const caption = document.createElement("div");
      caption.textContent = number || "cue";
      figure.append(button, caption);
      return figure;
    }));
  }

  addBrush(canvas) {
    let isDown = false;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((share) => Math.floor(share * shape.size));
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      isDown = true;
      canvas.setPointerCapture(event.pointerId);
      this.dab(...at(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (isDown) for (const one of event.getCoalescedEvents?.() ?? [event]) this.dab(...at(one));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, () => {
        if (!isDown) return;
        isDown = false;
        attempt(() => this.damage((cue) => cue));
      });
    }
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step && event.key !== " ") return;
      event.preventDefault();
      this.cursor ??= [shape.size >> 1, shape.size >> 1];
      if (step) this.cursor = this.cursor.map((value, axis) => Math.min(shape.size - 2, Math.max(1, value + step[axis])));
      if (event.key === " ") {
        this.dab(...this.cursor);
        attempt(() => this.damage((cue) => cue));
      } else this.showCue();
    });
    canvas.addEventListener("blur", () => { this.cursor = null; this.showCue(); });
  }

  dab(column, row) {
    const value = document.querySelector("input[name=brush]:checked").value === "ink" ? 255 : 0;
    for (let y = row - 1; y <= row + 1; y++) {
      for (let x = column - 1; x <= column + 1; x++) {
        if (x >= 0 && y >= 0 && x < shape.size && y < shape.size) this.cue[y * shape.size + x] = value;
      }
    }
    this.showCue();
  }
}

function verdict(known, confidence) {
  if (known) return ["yes", "It recognises this."];
  if (confidence >= UNSURE_FROM) return ["unsure", "Not sure. This is the closest one."];
  return ["no", "Not in memory: nothing matches this well enough."];
}

// How many pixels the memory changed: of the damaged ones, if there are any, those that came back.
function repaired(original, cue, reading) {
  const isInk = (image, index) => image[index] > 127;
  const differ = (one, other) => [...one.keys()].filter((index) => isInk(one, index) !== isInk(other, index));
  const damaged = differ(original, cue);
  if (!damaged.length) return `${plural(differ(cue, reading).length, "pixel")} changed.`;
  const right = damaged.filter((index) => isInk(reading, index) === isInk(original, index));
  return `${right.length} of ${plural(damaged.length, "damaged pixel")} put right.`;
}

// A square of ink that hides about a third of the drawing: something is lost, something is left.
export function withBlock(image) {
  const { size } = shape;
  const side = Math.round((12 * size) / 28);
  const all = image.filter((value) => value).length;
  const somewhere = () => Math.floor(Math.random() * (size - side + 1));
  const places = Array.from({ length: 40 }, () => {
    const [left, top] = [somewhere(), somewhere()];
    let hidden = 0;
    for (let row = top; row < top + side; row++) {
      hidden += image.subarray(row * size + left, row * size + left + side).filter((value) => value).length;
    }
    return { left, top, miss: isBlank(image) ? 0 : Math.abs(hidden / all - 0.35) };
  });
  const { left, top } = places.reduce((best, one) => (one.miss < best.miss ? one : best));
  const found = image.slice();
  for (let row = top; row < top + side; row++) found.fill(255, row * size + left, row * size + left + side);
  return found;
}

// One pixel in ten becomes ink or background by chance.
export function withNoise(image) {
  return image.map((value) => (Math.random() < 0.1 ? 255 * Math.round(Math.random()) : value));
}
