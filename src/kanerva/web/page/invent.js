// New characters, and characters between two.

import { LATER_MS } from "./memory.js";
import { paint, tile } from "./pixels.js";
import { $, attempt, news, on, plural, problem } from "./words.js";

const NUM = 16;
const STEPS = 21;

export class Invent {
  constructor(memory, { write, onMade }) {
    this.memory = memory;
    this.write = write;
    this.frames = [];
    this.chosen = false; // whether somebody chose the two ends
    this.asked = 0;
    on("make", "click", async () => {
      const images = await memory.generate(NUM, Math.floor(Math.random() * 2 ** 31));
      $("samples").replaceChildren(...images.map((image, number) => {
        const button = tile(image, `New character ${number + 1}: write it into the memory`);
        const ink = image.map((value) => (value > 127 ? 255 : 0));
        button.addEventListener("click", () => attempt(async () => { $("samples-note").textContent = await write(ink, button); }));
        return button;
      }));
      $("samples-note").textContent = "Click one to write it into the memory.";
      $("samples-note").hidden = false;
      news(`${plural(images.length, "new character")} below.`);
      onMade();
    });
    for (const id of ["start", "end"]) on(id, "change", () => this.fetchFrames());
    $("slide").addEventListener("input", () => this.showFrame());
  }

  // The lists of characters to go between; the last two unless somebody chose others.
  update() {
    const { items } = this.memory;
    $("between-area").hidden = items.length < 2;
    $("between-lead").textContent = items.length < 2
      ? "Write two characters, then slide from one to the other."
      : "Slide from one character to the other.";
    if (items.length < 2) return;
    [["start", items.length - 2], ["end", items.length - 1]].forEach(([id, place]) => {
      const before = $(id).value;
      $(id).replaceChildren(...items.map((item, number) => new Option(`no. ${number + 1}`, item.id)));
      $(id).value = items.some((item) => item.id === before) && this.chosen ? before : items[place].id;
    });
    clearTimeout(this.timer); // a reading that is asked for now comes first
    this.timer = setTimeout(() => this.fetchFrames(this.chosen).catch((error) => problem(error.message)), LATER_MS);
  }

  async fetchFrames(chosen = true) {
    this.chosen = chosen;
    const ends = ["start", "end"].map((id) => this.memory.items.find((item) => item.id === $(id).value)?.image);
    if (!ends[0] || !ends[1]) return;
    paint($("start-image"), ends[0]);
    paint($("end-image"), ends[1]);
    this.asked += 1;
    const number = this.asked;
    const frames = await this.memory.between(...ends, STEPS);
    if (number !== this.asked) return;
    this.frames = frames;
    $("middle").dataset.frames = frames.length;
    this.showFrame();
  }

  showFrame() {
    const share = Number($("slide").value) / (STEPS - 1);
    $("slide").setAttribute("aria-valuetext", `${Math.round(100 * share)} percent`);
    if (this.frames.length) paint($("middle"), this.frames[Number($("slide").value)]);
  }
}
