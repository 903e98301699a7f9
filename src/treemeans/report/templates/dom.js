// Elements made of names, attributes and texts. Texts are data: nothing here reads markup.

const PRINT_WIDTHS = { tree: 670, curve: 350 }; // in pixels; no element tells them before printing
const data = JSON.parse(document.getElementById("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

function make(tag, attributes, ...children) {
  return withContent(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return withContent(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function withContent(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") setStyle(element, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null)); // strings become text
  return element;
}

function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
}

// The colours of a group, for the style of an element.
function groupStyle(group) {
  const { fill, text, edge, edge_dark: dark } = data.groups[group];
  return { "--fill": fill, "--text-on-fill": text, "--edge-light": edge, "--edge-dark": dark };
}

// A small label in the colours of a group; beyond eight groups it has a pattern as well.
function chip(group, ...more) {
  const { name, pattern } = data.groups[group];
  return make("span", { class: "chip group-colors", "data-pattern": pattern, style: groupStyle(group) },
    make("span", {}, name), ...more);
}

// A short text on one line: a date is not broken at its hyphens.
function unbroken(text) {
  return make("span", { class: text.length <= 24 ? "unbroken" : null }, text);
}

function inWords(n) {
  return n.toLocaleString("en-US");
}

function counted(n, what) {
  return `${inWords(n)} ${what}${n === 1 ? "" : "s"}`;
}

// Why there is no average or histogram: it would reveal single rows.
function tooFew() {
  return `Averages and histograms of fewer than ${data.fewest_rows} rows are not shown.`;
}

// Some of many items, and a button for the rest.
function firstFew(items, most, what) {
  const more = items.slice(most);
  if (more.length < 2) return items;
  for (const item of more) item.hidden = true;
  const button = make("button", { type: "button", class: "more", click: () => {
    for (const item of more) item.hidden = false;
    (more[0].querySelector("button") ?? more[0]).focus();
    holder.remove();
  } }, `Show ${counted(more.length, what)} more`);
  const holder = make("li", { class: "more-line" }, button);
  return [...items, holder];
}

async function copy(text, button) {
  const before = button.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = copiedBySelection(text);
  }
  button.textContent = done ? "Copied" : "Select the text and copy it";
  announce(button.textContent);
  setTimeout(() => { button.textContent = before; }, 2000);
}

// For browsers that do not give pages opened from disk a clipboard.
function copiedBySelection(text) {
  const area = make("textarea", { class: "visually-hidden" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

let announcement = 0; // timer

// Tell users of screen readers, once nothing has changed for a moment.
function announce(text) {
  clearTimeout(announcement);
  announcement = setTimeout(() => { byId("live").textContent = text; }, 250);
}
