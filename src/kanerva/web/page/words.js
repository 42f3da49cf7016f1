// What the page says: problems, news for screen readers, and short texts.

export const $ = (id) => document.getElementById(id);

export function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
  if (text) $("problem").scrollIntoView({ block: "nearest" });
}

export function news(text) {
  $("news").textContent = text;
}

// Run something that may fail; a failure becomes a line on the page.
export async function attempt(action) {
  try {
    problem("");
    return await action();
  } catch (error) {
    problem(error.message);
    return undefined;
  }
}

export function on(id, event, action) {
  $(id).addEventListener(event, (details) => attempt(() => action(details)));
}

export const still = matchMedia("(prefers-reduced-motion: reduce)");

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
