// Puts the page together: what happens when somebody clicks.

import { call } from "./api.js";
import { Pad } from "./drawing.js";
import { load, save } from "./files.js";
import { fromFragment, toFragment } from "./fragment.js";
import { Invent } from "./invent.js";
import { Memory } from "./memory.js";
import { decode, fromBase64, paint, paintSigned, shape, tile } from "./pixels.js";
import { Repair } from "./repair.js";
import { $, attempt, news, on, plural, still } from "./words.js";

const NUM_CHARACTERS = 18;
const done = { damaged: false, made: false };
let seed = 1;
let selected = null;

async function start() {
  const about = await call("GET", "/about");
  shape.size = about.image_shape[1];
  $("version").textContent = about.version;
  $("model").textContent = about.models.recall;
  $("samples-model").textContent = about.models.samples;
  const memory = new Memory(about.page_memory ?? "playground", about);
  const repair = new Repair(memory, {
    onFrame: (weights) => paintSigned($("weights"), weights, Math.ceil(Math.sqrt(weights.length))),
    onDamage: () => { done.damaged = true; guide(memory); },
  });
  const write = async (image, button) => {
    const [id] = await memory.write([image]);
    button?.classList.add("flash");
    setTimeout(() => button?.classList.remove("flash"), 700);
    const text = `Written. In memory: ${memory.items.length}.`;
    news(text);
    await select(id);
    return text;
  };
  const select = async (id) => {
    selected = id;
    showItems(memory, select);
    const item = memory.items.find((one) => one.id === id);
    if (item) await repair.show(item.image);
  };
  const selectLast = async () => { // after a change that brought characters back
    if ($("repair-area").hidden && memory.items.length) await select(memory.items.at(-1).id);
  };
  const invent = new Invent(memory, { write, onMade: () => { done.made = true; guide(memory); } });

  memory.addEventListener("change", () => {
    if (memory.ledger && !memory.items.length) repair.reset();
    showItems(memory, select);
    invent.update();
    guide(memory);
    keepInAddress(memory);
  });
  memory.addEventListener("details", () => showDetails(memory));

  addPad(memory, repair, write);
  addMemoryButtons(memory, about, selectLast);
  on("others", "click", () => { seed += 1; return showCharacters(write); });
  $("symbols").addEventListener("change", (event) => document.documentElement.classList.toggle("with-symbols", event.target.checked));
  await memory.open();
  await restore(memory, about);
  $("where").textContent = memory.stored ? `The memory “${memory.name}” is stored on disk.` : "";
  memory.dispatchEvent(new Event("change"));
  addEventListener("hashchange", () => attempt(async () => { await restore(memory, about); await selectLast(); }));
  memory.refresh();
  document.documentElement.dataset.ready = "yes";
  if (memory.items.length) attempt(() => select(memory.items.at(-1).id));
  await showCharacters(write);
}

// An address from elsewhere wins. One that this tab wrote itself may be older than the server.
async function restore(memory, about) {
  const found = await fromFragment(location.hash, about.max_items);
  if (!found || memory.stored || (memory.isOwn(found.key) && memory.items.length)) return;
  await memory.replace(found.images, { canUndo: memory.items.length > 0 });
}

let newest = 0;

// Packing takes a moment: only the newest of several calls may write the address.
async function keepInAddress(memory) {
  if (memory.stored) return;
  const number = newest += 1;
  const images = memory.items.map(({ image }) => image);
  const fragment = await toFragment(memory.key, images);
  if (number !== newest) return;
  history.replaceState(null, "", fragment || location.pathname);
  document.documentElement.dataset.inAddress = images.length;
}

async function showCharacters(write) {
  const { items } = await call("GET", `/characters?num=${NUM_CHARACTERS}&seed=${seed}&format=bytes`);
  $("characters").replaceChildren(...items.map(({ image }, number) => {
    const picture = decode(image);
    const button = tile(picture, `Ready-made character ${number + 1}: write it`);
    button.addEventListener("click", () => attempt(() => write(picture, button)));
    return button;
  }));
}

function addPad(memory, repair, write) {
  const ids = ["write-drawing", "ask-drawing", "wipe"];
  const pad = new Pad($("pad"), () => {
    $("pad-hint").hidden = !pad.isEmpty;
    for (const id of ids) $(id).disabled = pad.isEmpty;
  });
  on("write-drawing", "click", async () => {
    const image = pad.image();
    await write(image);
    pad.clear();
  });
  on("ask-drawing", "click", async () => {
    selected = null;
    showItems(memory, () => {});
    await repair.show(pad.image());
    $("repair").scrollIntoView({ block: "nearest" });
  });
  on("wipe", "click", () => pad.clear());
}

function showItems(memory, select) {
  const focused = document.activeElement?.dataset?.id;
  const kind = document.activeElement?.className;
  $("items").replaceChildren(...memory.items.map(({ id, image, label }, number) => {
    const name = label ?? `Character ${number + 1}`;
    const item = document.createElement("li");
    const button = tile(image, `${name}: damage and repair it`);
    button.dataset.id = id;
    button.setAttribute("aria-pressed", String(id === selected));
    button.addEventListener("click", () => attempt(() => select(id)));
    const forget = () => attempt(async () => {
      await memory.forget(id);
      news(`${name} is forgotten. ${plural(memory.items.length, "character")} in memory.`);
    });
    button.addEventListener("keydown", (event) => { if (event.key === "Delete") forget(); });
    const cross = document.createElement("button");
    Object.assign(cross, { type: "button", className: "forget", textContent: "×", title: "Forget it, as if it had never been written" });
    cross.dataset.id = id;
    cross.setAttribute("aria-label", `Forget ${name}`);
    cross.addEventListener("click", forget);
    item.append(button, cross);
    return item;
  }));
  if (focused) $("items").querySelector(`.${kind.split(" ")[0]}[data-id="${CSS.escape(focused)}"]`)?.focus();
  $("count").textContent = memory.numItems;
}

function addMemoryButtons(memory, about, selectLast) {
  on("undo", "click", async () => {
    await memory.undo();
    news(`Undone. ${plural(memory.items.length, "character")} in memory.`);
    await selectLast();
  });
  on("clear", "click", async () => {
    if (memory.stored && !confirm(`Forget all characters of the stored memory “${memory.name}”?`)) return;
    await memory.replace([]);
    news("The memory is empty.");
  });
  on("save", "click", () => save(memory.items, about.models.recall));
  $("load").addEventListener("click", () => $("file").click());
  on("file", "change", async () => {
    const files = [...$("file").files];
    $("file").value = "";
    if (!files.length) return;
    const found = await load(files, { maxImages: about.max_images, maxItems: about.max_items });
    if (found.images) await memory.replace(found.images);
    else await memory.writePictures(found.pictures);
    news(`Loaded. ${plural(memory.items.length, "character")} in memory.`);
    await selectLast();
  });
}

// One obvious next action: which card is next, and what it says.
function guide(memory) {
  const count = memory.items.length;
  $("undo").disabled = !memory.past.length;
  $("clear").disabled = $("save").disabled = count === 0;
  $("make").disabled = count === 0;
  $("memory-lead").textContent = count === 0 ? "Nothing yet."
    : "Click one to damage it. × forgets it, as if it had never been written.";
  if (!memory.ledger) $("memory-lead").textContent = "This memory keeps no list of its items.";
  $("repair-lead").textContent = count === 0 ? "Write a character first. Then damage it here."
    : "Cover a part of it, or rub something out. The memory repairs it from what it knows.";
  const next = count < 3 ? "write" : !done.damaged ? "repair" : !done.made ? "new" : "";
  for (const card of document.querySelectorAll(".card")) card.classList.toggle("next", card.id === next);
  const [strong, ...rest] = count === 0 ? ["Click a character", " to write it into the memory, or draw your own."]
    : count < 3 ? [`Good. ${3 - count} more`, ", then damage one."]
      : !done.damaged ? ["Now damage one", ": ", toRepair(), ". Or write more."]
        : ["", "Click a character to write it, or draw your own."];
  $("write-lead").replaceChildren(Object.assign(document.createElement("strong"), { textContent: strong }), ...rest);
}

// The address holds the characters, so this is a button and not a link.
function toRepair() {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: "step 2" });
  button.addEventListener("click", () => {
    $("repair").focus({ preventScroll: true });
    $("repair").scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
  });
  return button;
}

// One decimal below 10 %: a single character is little, and not nothing.
function fillText(fill, isEmpty) {
  if (isEmpty) return "empty";
  return fill < 0.0005 ? "under 0.1 %" : `${(100 * fill).toFixed(fill < 0.0995 ? 1 : 0)} %`;
}

function showDetails({ details, numItems, items }) {
  const { fill, full, num_rows: rows, code_size: size, covariance } = details;
  $("fill").value = Math.min(fill, 1);
  $("fill-text").textContent = full ? "full: items mix" : fillText(fill, !numItems && !items.length);
  for (const place of document.querySelectorAll(".rows")) place.textContent = rows;
  $("code-size").textContent = size;
  paint($("covariance"), fromBase64(covariance), { to: "--heat", columns: rows, gamma: 0.6 });
}

attempt(start);
