// The memory of this page: its items here and on the server, and what can be undone.

import { call } from "./api.js";
import { decode, encode } from "./pixels.js";

const AT_ONCE = 64;
export const LATER_MS = 200;
let counter = 0;

// Ids sort in the order in which they were made.
function newId() {
  counter += 1;
  return `t${Date.now().toString(36).padStart(9, "0")}-${String(counter).padStart(4, "0")}`;
}

const KEYS = "kanerva keys";
const ownKeys = () => JSON.parse(sessionStorage.getItem(KEYS) ?? "[]");

export class Memory extends EventTarget {
  constructor(name, about) {
    super();
    this.name = name;
    this.about = about;
    this.ownKey = "";
    this.items = []; // {id, image, label}
    this.past = [];
    this.details = null;
    this.work = Promise.resolve();
  }

  get key() {
    return this.ownKey;
  }

  // Keys of all memories that this tab has used: an address with one of them is its own.
  set key(key) {
    this.ownKey = key;
    sessionStorage.setItem(KEYS, JSON.stringify([...new Set([...ownKeys(), key])].slice(-20)));
  }

  isOwn(key) {
    return ownKeys().includes(key);
  }

  get path() {
    return `/memories/${this.name}`;
  }

  // Find the memory of this session, or make one.
  async open() {
    const { memories } = await call("GET", "/memories");
    const found = memories.find((one) => one.name === this.name);
    const mine = found ?? (await call("POST", "/memories", { name: this.name, stored: false }));
    this.key = mine.key;
    Object.assign(this, { stored: mine.stored, ledger: mine.ledger, numItems: mine.num_items });
    await this.fetchItems();
  }

  async fetchItems() {
    const { items, num_items } = await call("GET", `${this.path}/items?format=bytes`);
    this.items = items.map(({ id, label, image }) => ({ id, label, image: decode(image) }));
    if (this.items.every(({ id }) => /^t[0-9a-z]{9}-/.test(id))) {
      this.items.sort((one, other) => (one.id < other.id ? -1 : 1));
    }
    this.numItems = num_items;
  }

  // Change the items, one change after the other; the state before can be brought back.
  change(action, { canUndo = true } = {}) {
    const before = [...this.items];
    const done = this.work.then(async () => {
      const found = await this.again(action);
      if (canUndo) this.past = [...this.past.slice(-49), before];
      this.numItems = this.ledger ? this.items.length : this.numItems;
      this.dispatchEvent(new Event("change"));
      clearTimeout(this.timer); // a reading that is asked for now comes first
      this.timer = setTimeout(() => this.refresh(), LATER_MS);
      return found;
    });
    this.work = done.catch(() => {});
    return done;
  }

  // A server that was started again has forgotten this session: write everything once more.
  async again(action) {
    try {
      return await action();
    } catch (error) {
      if (error.status !== 404 || this.stored) throw error;
      const items = this.items;
      const mine = await call("POST", "/memories", { name: this.name, stored: false });
      this.key = mine.key;
      this.items = [];
      await this.add(items);
      return action();
    }
  }

  async add(items) {
    for (let start = 0; start < items.length; start += AT_ONCE) {
      const some = items.slice(start, start + AT_ONCE);
      await call("POST", `${this.path}/items`, {
        items: some.map(({ id, image, label }) => ({ id, image: encode(image), ...(label ? { label } : {}) })),
      });
      this.items = [...this.items, ...some];
    }
  }

  async remove(ids) {
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const some = ids.slice(start, start + AT_ONCE);
      await call("DELETE", `${this.path}/items?${some.map((id) => `id=${encodeURIComponent(id)}`).join("&")}`);
      this.items = this.items.filter(({ id }) => !some.includes(id));
    }
  }

  write(images) {
    const items = images.map((image) => ({ id: newId(), image, label: null }));
    return this.change(async () => {
      await this.add(items);
      return items.map(({ id }) => id);
    });
  }

  writePictures(urls) {
    return this.change(async () => {
      await call("POST", `${this.path}/items`, { items: urls.map((image) => ({ id: newId(), image })) });
      await this.fetchItems();
    });
  }

  forget(id) {
    return this.change(() => this.remove([id]));
  }

  replace(images, options) {
    const items = images.map((image) => ({ id: newId(), image, label: null }));
    return this.change(() => this.become(items), options);
  }

  async become(items) {
    const [have, want] = [this.items, items].map((list) => new Set(list.map(({ id }) => id)));
    await this.remove([...have].filter((id) => !want.has(id)));
    await this.add(items.filter(({ id }) => !have.has(id)));
    this.items = items;
  }

  undo() {
    const target = this.past.at(-1);
    if (!target) return Promise.resolve();
    this.past = this.past.slice(0, -1);
    return this.change(() => this.become(target), { canUndo: false });
  }

  read(image) {
    return this.work.then(() => this.again(async () => {
      const { readings } = await call("POST", `${this.path}/read`, {
        cues: [encode(image)], steps: true, format: "bytes",
      });
      const [reading] = readings;
      return { ...reading, steps: reading.steps.map(decode), image: decode(reading.image) };
    }));
  }

  async generate(num, seed) {
    const { images } = await this.again(() => call("POST", `${this.path}/generate`, { num, seed, format: "bytes" }));
    return images.map(decode);
  }

  async between(start, end, steps) {
    const body = { start: encode(start), end: encode(end), steps, format: "bytes" };
    const { images } = await this.again(() => call("POST", `${this.path}/interpolate`, body));
    return images.map(decode);
  }

  // How full it is and what it does not know; told as an event when it arrives.
  async refresh() {
    try {
      this.details = await call("GET", `${this.path}/state`);
      this.dispatchEvent(new Event("details"));
    } catch {
      // The next action says what is wrong.
    }
  }
}
