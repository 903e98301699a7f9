// The tree as cards and lines. Cards stay the same elements from size to size, so that they move.

const cards = new Map(); // of the nodes that are shown
const treeBox = byId("tree");
const treeWindow = byId("tree-window");
const lineLayer = draw("svg", { class: "lines", "aria-hidden": "true" });
const labelLayer = make("div", { class: "labels", "aria-hidden": "true" });
treeBox.append(lineLayer, labelLayer);
const BRIEF = 14; // letters of a name that is written out
let focused = 0; // the card that the tab key comes to
let rootHeight = null; // where the first question is

function showTree(now) {
  const layout = layoutOf(now, state.paper ? PAPER.tree : innerWidthOf(treeWindow));
  const groups = groupsBelow(now);
  const most = Math.max(...now.leaves.map((leaf) => nodes.share[leaf]));
  treeBox.className = `tree ${layout.direction}`;
  treeBox.classList.toggle("narrow", Boolean(layout.narrow));
  treeBox.classList.toggle("stacked", Boolean(layout.stacked)); // words in two lines
  setStyle(treeBox, { width: `${layout.width}px`, height: `${layout.height}px` });
  byId("legend").textContent = layout.direction === "right"
    ? "Start at the dot. The upper branch is yes, the lower one no." : "";
  if (!now.order.includes(focused)) focused = 0;
  const before = rootHeight - treeWindow.scrollTop;
  setStyle(treeBox, { "--most": most || 1 });
  showCards(now, layout);
  showLines(layout, groups);
  // The first question stays where it is in the window, or is in its middle at first.
  const first = rootHeight === null;
  rootHeight = layout.places.get(0).y;
  treeWindow.scrollTop = rootHeight - (first ? treeWindow.clientHeight / 2 : before);
  showChosen(now);
}

function showCards(now, layout) {
  const shown = new Set(now.order);
  for (const [node, card] of cards) {
    if (shown.has(node)) continue;
    if (hintOf === node) hideHint();
    card.remove();
    cards.delete(node);
  }
  for (const node of now.order) {
    if (!cards.has(node)) cards.set(node, newCard(node));
    fillCard(cards.get(node), node, now, layout);
  }
  // In order, for those who read one after the other; a card that is there already never moves.
  let last = labelLayer;
  for (const node of now.order) {
    const card = cards.get(node);
    if (last.nextSibling !== card) last.after(card);
    last = card;
  }
}

function newCard(node) {
  return make("div", {
    role: "treeitem", "data-node": node,
    click: () => choose(node),
    keydown: (event) => steer(event, node),
    focus: () => { focused = node; setStops(); showHint(node); },
    blur: hideHint,
    pointerenter: (event) => { if (event.pointerType !== "touch") showHint(node); },
    pointerleave: hideHint,
  });
}

function fillCard(card, node, now, layout) {
  const place = layout.places.get(node);
  const cut = now.inner[node];
  const siblings = node === 0 ? 1 : 2;
  card.className = `node ${cut ? "cut" : "leaf"}${place.middle ? " middle" : ""}`;
  setStyle(card, { left: `${place.x}px`, top: `${place.y}px`, "--width": `${place.width}px` });
  const group = data.groups[now.label[node]];
  if (!cut) setStyle(card, { "--fill": group.fill, "--words": group.words, "--share": nodes.share[node] });
  card.setAttribute("aria-level", wayTo(node).length);
  card.setAttribute("aria-setsize", siblings);
  card.setAttribute("aria-posinset", node !== 0 && childrenOf(parentOf[node])[1] === node ? 2 : 1);
  if (cut) card.setAttribute("aria-expanded", "true");
  else card.removeAttribute("aria-expanded");
  const parts = cut ? cutParts(node, layout) : leafParts(node, now, layout);
  card.replaceChildren(...parts.flatMap((part) => [part, " "]));
  const said = parts.map((part) => part.textContent).filter((words) => words).join(" ");
  card.setAttribute("aria-label", `${said}${moreWords(node, now)}`);
}

// What a card says to those who do not see where it is, after what it says to all.
function moreWords(node, now) {
  const asks = now.inner[node] ? `, asks: ${question(node).join(" ")}?` : "";
  const reached = node === 0 ? "" : `, if ${nodes.asks[parentOf[node]][0]} ${sideWords(node)}`;
  return `: ${nodes.rows[node]}, ${nodes.percent[node]} of all${asks}${reached}`;
}

function cutParts(node, layout) {
  const [name, yes] = question(node);
  if (layout.direction === "right") {
    const brief = name.length <= BRIEF; // of a long name some is left out, so that the rest is seen
    return [make("span", { class: "ask" }, make("b", { class: brief ? "brief" : null }, name), " ",
      make("span", { class: "asked" }, `${yes}?`))];
  }
  return [make("span", { class: "ask" }, make("b", {}, name)), make("span", { class: "small" }, nodes.rows[node])];
}

function leafParts(node, now, layout) {
  const name = make("span", { class: "leaf-name" }, data.groups[now.label[node]].name);
  if (layout.direction === "down") {
    return [name, make("span", { class: "small" }, `${nodes.rows[node]}, ${nodes.percent[node]}`)];
  }
  if (layout.narrow) return [name];
  return [name, make("span", { class: "leaf-rows" }, nodes.rows[node]), make("span", { class: "leaf-bar" })];
}

// Without padding, whether the window scrolls or not.
function innerWidthOf(box) {
  const { paddingLeft, paddingRight } = getComputedStyle(box);
  return box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}

function showLines(layout, groups) {
  setStyle(lineLayer, { width: `${layout.width}px`, height: `${layout.height}px` });
  lineLayer.replaceChildren(...layout.lines.map(({ node, path, thick }) => {
    const group = data.groups[groups[node]];
    const style = group ? { "--ink": group.ink, "--fill": group.fill } : {};
    const kind = group ? "line of-group" : "line";
    return draw("path", { d: path, class: kind, "stroke-width": thick, "data-node": node, style });
  }));
  if (layout.start) lineLayer.append(draw("circle", { class: "start", cx: layout.start.x, cy: layout.start.y, r: 6 }));
  labelLayer.replaceChildren(...layout.lines.filter((line) => line.label).map(({ node, label }) => make("span", {
    class: "side", style: { left: `${label.x}px`, top: `${label.y}px` }, "data-node": node,
  }, label.words)));
}

// Mark the leaves of the chosen group and the way of the row.
function showChosen(now) {
  const way = new Set(state.row === null ? [] : wayTo(leafOf(now, state.row)));
  const chosen = new Set(now.leaves.filter((leaf) => now.label[leaf] === state.group).flatMap(wayTo));
  const dim = state.group !== null && chosen.size > 0;
  treeBox.classList.toggle("dim", dim);
  for (const element of treeBox.querySelectorAll("[data-node]")) {
    const node = Number(element.dataset.node);
    element.classList.toggle("chosen", dim && chosen.has(node));
    element.classList.toggle("on-way", way.has(node));
  }
  for (const [node, card] of cards) {
    if (!now.inner[node]) card.setAttribute("aria-selected", String(now.label[node] === state.group));
    else card.removeAttribute("aria-selected");
  }
  for (const mark of [".chosen", ".on-way", ".start"]) lineLayer.append(...lineLayer.querySelectorAll(mark)); // on top
  setStops();
}

function setStops() {
  for (const [node, card] of cards) card.tabIndex = node === focused ? 0 : -1;
}

function choose(node) {
  const now = treeAt(state.size);
  focused = node;
  cards.get(node).focus({ preventScroll: true });
  if (now.inner[node]) return;
  update({ group: now.label[node] === state.group ? null : now.label[node] });
  hideHint();
}

function steer(event, node) {
  const now = treeAt(state.size);
  const at = now.order.indexOf(node);
  const targets = {
    ArrowDown: now.order[at + 1],
    ArrowUp: now.order[at - 1],
    ArrowRight: now.inner[node] ? childrenOf(node)[0] : undefined,
    ArrowLeft: parentOf[node] >= 0 ? parentOf[node] : undefined,
    Home: now.order[0],
    End: now.order[now.order.length - 1],
  };
  if (event.key === "Enter" || event.key === " ") choose(node);
  else if (event.key === "Escape") hideHint();
  else if (targets[event.key] !== undefined) cards.get(targets[event.key]).focus();
  else if (!(event.key in targets)) return;
  event.preventDefault();
}

// Bring a leaf into the window of the tree, without moving the page.
function reveal(leaf) {
  const card = cards.get(leaf);
  const top = card.offsetTop - treeWindow.scrollTop;
  if (top < 0 || top + card.offsetHeight > treeWindow.clientHeight) {
    treeWindow.scrollTop = card.offsetTop - treeWindow.clientHeight / 2;
  }
  treeWindow.scrollLeft = Math.max(0, card.offsetLeft + card.offsetWidth - treeWindow.clientWidth);
}

onChange((now, changed) => {
  if (changed.includes("size")) showTree(now);
  else showChosen(now);
  if (changed.includes("row") && state.row !== null) reveal(leafOf(now, state.row));
  else if (changed.includes("group") && state.group !== null && document.activeElement?.getAttribute("role") !== "treeitem") {
    const first = now.leaves.find((leaf) => now.label[leaf] === state.group);
    if (first !== undefined) reveal(first);
  }
});
