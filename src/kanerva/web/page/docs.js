// The API's own page, made from /openapi.json; nothing comes from another host.

import { $, attempt } from "./words.js";

const make = (tag, text, className) => Object.assign(document.createElement(tag), { textContent: text ?? "", className: className ?? "" });

function named(schema, all) {
  const name = schema?.$ref?.split("/").at(-1);
  return name ? { name, ...all[name] } : schema ?? {};
}

// The type of a value in a few words.
function inWords(schema, all) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map((one) => inWords(one, all)))].join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.type === "array") return `list of ${inWords(schema.items ?? {}, all)}`;
  const limits = [["minimum", "from"], ["maximum", "to"], ["maxLength", "at most"]].filter(([key]) => key in schema && Math.abs(schema[key]) < 1e9);
  return [schema.type ?? "value", ...limits.map(([key, word]) => `${word} ${schema[key]}`)].join(" ");
}

function fields(schema, all) {
  const list = document.createElement("dl");
  for (const [name, value] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name);
    const fallback = value.default !== undefined && value.default !== null ? ` Default: ${JSON.stringify(value.default)}.` : "";
    list.append(make("dt", name), make("dd", `${inWords(value, all)}${isRequired ? ", required" : ""}. ${value.description ?? ""}${fallback}`));
  }
  return list;
}

function operation(path, method, details, all) {
  const section = make("section", "", "card");
  const title = document.createElement("h2");
  title.append(make("span", method.toUpperCase(), "method"), make("span", path, "path"));
  section.append(title, make("p", `${details.summary}. ${details.description ?? ""}`));
  const parameters = document.createElement("dl");
  for (const one of details.parameters ?? []) {
    parameters.append(make("dt", one.name), make("dd", `${one.in}, ${inWords(one.schema, all)}${one.required ? ", required" : ""}. ${one.description ?? ""}`));
  }
  if (parameters.children.length) section.append(make("h3", "Parameters"), parameters);
  const body = details.requestBody?.content?.["application/json"]?.schema;
  if (body) {
    const schema = named(body, all);
    section.append(make("h3", `Body: ${schema.name ?? ""}`), fields(schema, all));
  }
  const answers = document.createElement("details");
  answers.append(make("summary", "Answers"));
  for (const [status, answer] of Object.entries(details.responses)) {
    const schema = named(answer.content?.["application/json"]?.schema, all);
    answers.append(make("h3", `${status}: ${answer.description}`));
    if (Number(status) < 300 && schema.properties) answers.append(fields(schema, all));
  }
  section.append(answers);
  return section;
}

await attempt(async () => {
  const schema = await (await fetch("/openapi.json")).json();
  const all = schema.components.schemas;
  $("lead").textContent = schema.info.description;
  const client = make("section", "", "card");
  client.append(make("h2", "From Python"), make("pre", [
    "import kanerva",
    `client = kanerva.Client("${location.origin}")`,
    'client.create("notes")',
    'ids = client.write("notes", images).ids',
    'client.read("notes", cues).known',
  ].join("\n")));
  $("operations").append(client);
  for (const [path, methods] of Object.entries(schema.paths)) {
    for (const [method, details] of Object.entries(methods)) $("operations").append(operation(path, method, details, all));
  }
  const images = make("section", "", "card");
  images.append(make("h2", "Images"));
  for (const name of ["Png", "Pixels", "PixelBytes"]) images.append(make("h3", name), make("p", all[name].description));
  $("operations").append(images);
});
