// The panel of the tree: cards for nodes, lines between them, and a tooltip about a node.
// A node keeps its card from size to size, so that the card moves and does not blink.

const cards = new Map(); // from shown nodes to their cards
const treeBox = byId("tree");
const treeWindow = byId("tree-window");
const lineLayer = draw("svg", { class: "lines", "aria-hidden": "true" });
const labelLayer = make("div", { class: "labels", "aria-hidden": "true" });
treeBox.append(lineLayer, labelLayer);
const LONG = 30; // letters of a name that is written smaller
const BRIEF = 14; // letters of a name that is never shortened
let focused = 0; // the node whose card the tab key reaches
let rootHeight = null; // position of the root
let treeSize = null; // width and height of the whole tree
let zoom = 1;
let fitted = true; // whether the zoom follows the size of the tree, as nobody has changed it
const ZOOM = { least: 0.15, most: 2, readable: 0.6, step: 1.25 };

function showTree(tree) {
  const layout = layoutOf(tree, state.printing ? PRINT_WIDTHS.tree : innerWidthOf(treeWindow));
  const groups = groupsBelow(tree);
  const most = Math.max(...tree.leaves.map((leaf) => nodes.share[leaf]));
  treeBox.className = `tree ${layout.direction}`;
  treeBox.classList.toggle("narrow", Boolean(layout.narrow));
  treeBox.classList.toggle("stacked", Boolean(layout.stacked)); // words in two lines
  setStyle(treeBox, { width: `${layout.width}px`, height: `${layout.height}px`, "--chip": `${layout.chipRoom ?? 0}px` });
  treeSize = layout;
  const before = rootHeight - treeWindow.scrollTop;
  if (fitted) zoom = state.printing ? 1 : startZoom();
  showZoom();
  byId("legend").textContent = layout.direction === "right"
    ? "Start at the dot. The upper branch is yes, the lower one no." : "";
  if (!tree.order.includes(focused)) focused = 0;
  setStyle(treeBox, { "--most": most || 1 });
  showCards(tree, layout);
  showLines(layout, groups);
  // The root keeps its position in the window; at first it is in the middle.
  const first = rootHeight === null;
  rootHeight = layout.positions.get(0).y * zoom;
  treeWindow.scrollTop = rootHeight - (first ? treeWindow.clientHeight / 2 : before);
  showChosen(tree);
}

// ---- Zoom and pan

// A large tree opens as small as can still be read; on a small screen nothing is made smaller.
function startZoom() {
  return treeWindow.clientWidth < NARROW ? 1 : Math.max(ZOOM.readable, Math.min(1, wholeZoom()));
}

// At which the whole tree is visible.
function wholeZoom() {
  const height = parseFloat(getComputedStyle(treeWindow).maxHeight) || window.innerHeight;
  return Math.min(innerWidthOf(treeWindow) / treeSize.width, (height - 16) / treeSize.height);
}

function showZoom() {
  setStyle(treeBox, { transform: zoom === 1 ? "none" : `scale(${zoom})` });
  setStyle(byId("tree-frame"), { width: `${treeSize.width * zoom}px`, height: `${treeSize.height * zoom}px` });
  byId("zoom-level").textContent = `${Math.round(100 * zoom)} %`;
  byId("zoom-out").disabled = zoom <= ZOOM.least;
  byId("zoom-in").disabled = zoom >= ZOOM.most;
}

// x, y: the point of the window that stays where it is.
function zoomTo(wanted, x = treeWindow.clientWidth / 2, y = treeWindow.clientHeight / 2) {
  const before = zoom;
  zoom = Math.max(ZOOM.least, Math.min(ZOOM.most, wanted));
  fitted = false;
  const left = ((treeWindow.scrollLeft + x) * zoom) / before - x;
  const top = ((treeWindow.scrollTop + y) * zoom) / before - y;
  hideTooltip();
  showZoom();
  treeWindow.scrollTo(left, top);
  rootHeight = (rootHeight * zoom) / before;
}

function startZoomAndPan() {
  byId("zoom-in").addEventListener("click", () => zoomTo(zoom * ZOOM.step));
  byId("zoom-out").addEventListener("click", () => zoomTo(zoom / ZOOM.step));
  byId("zoom-fit").addEventListener("click", () => zoomTo(Math.min(1, wholeZoom()), 0, 0));
  treeWindow.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // otherwise it scrolls
    event.preventDefault();
    const box = treeWindow.getBoundingClientRect();
    zoomTo(zoom * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  treeWindow.addEventListener("pointerdown", startPan);
}

// The tree is dragged by its background; cards and scroll bars keep their own meaning.
function startPan(event) {
  const onBackground = [treeWindow, treeBox, byId("tree-frame"), labelLayer].includes(event.target);
  const box = treeWindow.getBoundingClientRect();
  const onScrollBar = event.clientX > box.left + treeWindow.clientWidth || event.clientY > box.top + treeWindow.clientHeight;
  if (!onBackground || onScrollBar || event.button !== 0 || event.pointerType === "touch") return;
  const from = { x: event.clientX + treeWindow.scrollLeft, y: event.clientY + treeWindow.scrollTop };
  const move = (next) => treeWindow.scrollTo(from.x - next.clientX, from.y - next.clientY);
  treeWindow.setPointerCapture(event.pointerId);
  treeWindow.classList.add("panning");
  treeWindow.addEventListener("pointermove", move);
  treeWindow.addEventListener("pointerup", () => {
    treeWindow.removeEventListener("pointermove", move);
    treeWindow.classList.remove("panning");
  }, { once: true });
}

function showCards(tree, layout) {
  const shown = new Set(tree.order);
  for (const [node, card] of cards) {
    if (shown.has(node)) continue;
    if (tooltipNode === node) hideTooltip();
    card.remove();
    cards.delete(node);
  }
  for (const node of tree.order) {
    if (!cards.has(node)) cards.set(node, newCard(node));
    fillCard(cards.get(node), node, tree, layout);
  }
  // Cards are in reading order, for screen readers; a card in the right place is not moved.
  let last = labelLayer;
  for (const node of tree.order) {
    const card = cards.get(node);
    if (last.nextSibling !== card) last.after(card);
    last = card;
  }
}

function newCard(node) {
  return make("div", {
    role: "treeitem", "data-node": node,
    click: () => choose(node),
    keydown: (event) => moveFocus(event, node),
    focus: () => { focused = node; setTabStops(); showTooltip(node); },
    blur: hideTooltip,
    pointerenter: (event) => { if (event.pointerType !== "touch") showTooltip(node); },
    pointerleave: hideTooltip,
  });
}

function fillCard(card, node, tree, layout) {
  const position = layout.positions.get(node);
  const split = tree.inner[node];
  const siblings = node === 0 ? 1 : 2;
  card.className = `node ${split ? "split" : "leaf"}${position.middle ? " middle" : ""}`;
  setStyle(card, { left: `${position.x}px`, top: `${position.y}px`, "--width": `${position.width}px` });
  const group = data.groups[tree.label[node]];
  if (!split) setStyle(card, { ...groupStyle(tree.label[node]), "--share": nodes.share[node] });
  card.classList.toggle("group-colors", !split);
  card.dataset.pattern = split ? 0 : group.pattern;
  card.setAttribute("aria-level", pathTo(node).length);
  card.setAttribute("aria-setsize", siblings);
  card.setAttribute("aria-posinset", node !== 0 && childrenOf(parentOf[node])[1] === node ? 2 : 1);
  if (split) card.setAttribute("aria-expanded", "true");
  else card.removeAttribute("aria-expanded");
  const parts = split ? splitParts(node, layout) : leafParts(node, tree, layout);
  card.replaceChildren(...parts.flatMap((part) => [part, " "]));
  const visible = parts.map((part) => part.textContent).filter((text) => text).join(" ");
  card.setAttribute("aria-label", `${visible}${accessibleText(node, tree)}`);
}

// What a screen reader adds to the text of a card: where it is in the tree.
function accessibleText(node, tree) {
  const asks = tree.inner[node] ? `, asks: ${question(node).join(" ")}?` : "";
  const reached = node === 0 ? "" : `, if ${nodes.question[parentOf[node]][0]} ${sideText(node)}`;
  return `: ${nodes.rows[node]}, ${nodes.percent[node]} of all${asks}${reached}`;
}

function splitParts(node, layout) {
  const [name, yes] = question(node);
  if (layout.direction === "right") {
    const brief = name.length <= BRIEF; // a long name is shortened, so that the rest of the question is visible
    return [make("span", { class: "ask" }, make("b", { class: brief ? "brief" : null }, name), " ",
      make("span", { class: "asked" }, `${yes}?`))];
  }
  return [make("span", { class: fitting("ask", name) }, make("b", {}, name)), make("span", { class: "small" }, nodes.rows[node])];
}

// A long name is smaller, so that a card shows all of it.
function fitting(kind, name) {
  return name.length > LONG ? `${kind} long` : kind;
}

function leafParts(node, tree, layout) {
  const { name: text } = data.groups[tree.label[node]];
  const name = make("span", { class: layout.direction === "down" ? fitting("leaf-name", text) : "leaf-name", title: text }, text);
  if (layout.direction === "down") {
    return [name, make("span", { class: "small" }, `${nodes.rows[node]}, ${nodes.percent[node]}`)];
  }
  if (layout.narrow) return [name];
  return [name, make("span", { class: "leaf-rows" }, nodes.rows[node]), make("span", { class: "leaf-bar" })];
}

// Width without padding, whether the window scrolls or not.
function innerWidthOf(box) {
  const { paddingLeft, paddingRight } = getComputedStyle(box);
  return box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}

function showLines(layout, groups) {
  setStyle(lineLayer, { width: `${layout.width}px`, height: `${layout.height}px` });
  lineLayer.replaceChildren(...layout.lines.map(({ node, path, thick }) => {
    const style = groups[node] >= 0 ? groupStyle(groups[node]) : {};
    const kind = groups[node] >= 0 ? "line of-group group-colors" : "line";
    return draw("path", { d: path, class: kind, "stroke-width": thick, "data-node": node, style });
  }));
  if (layout.start) lineLayer.append(draw("circle", { class: "start", cx: layout.start.x, cy: layout.start.y, r: 6 }));
  labelLayer.replaceChildren(...layout.lines.filter((line) => line.label).map(({ node, label }) => make("span", {
    class: "side", style: { left: `${label.x}px`, top: `${label.y}px` }, "data-node": node,
  }, label.text)));
}

// Highlight the leaves of the chosen group and the path of the row.
function showChosen(tree) {
  const rowPath = new Set(state.row === null ? [] : pathTo(leafOf(tree, state.row)));
  const chosen = new Set(tree.leaves.filter((leaf) => tree.label[leaf] === state.group).flatMap(pathTo));
  const dim = state.group !== null && chosen.size > 0;
  treeBox.classList.toggle("dim", dim);
  for (const element of treeBox.querySelectorAll("[data-node]")) {
    const node = Number(element.dataset.node);
    element.classList.toggle("chosen", dim && chosen.has(node));
    element.classList.toggle("on-path", rowPath.has(node));
  }
  for (const [node, card] of cards) {
    if (!tree.inner[node]) card.setAttribute("aria-selected", String(tree.label[node] === state.group));
    else card.removeAttribute("aria-selected");
  }
  for (const selector of [".chosen", ".on-path", ".start"]) { // moved to the end, they are drawn on top
    lineLayer.append(...lineLayer.querySelectorAll(selector));
  }
  setTabStops();
}

function setTabStops() {
  for (const [node, card] of cards) card.tabIndex = node === focused ? 0 : -1;
}

function choose(node) {
  const tree = treeAt(state.size);
  focused = node;
  cards.get(node).focus({ preventScroll: true });
  if (tree.inner[node]) return;
  update({ group: tree.label[node] === state.group ? null : tree.label[node] });
  hideTooltip();
}

function moveFocus(event, node) {
  const tree = treeAt(state.size);
  const at = tree.order.indexOf(node);
  const targets = {
    ArrowDown: tree.order[at + 1],
    ArrowUp: tree.order[at - 1],
    ArrowRight: tree.inner[node] ? childrenOf(node)[0] : undefined,
    ArrowLeft: parentOf[node] >= 0 ? parentOf[node] : undefined,
    Home: tree.order[0],
    End: tree.order[tree.order.length - 1],
  };
  if (event.key === "Enter" || event.key === " ") choose(node);
  else if (event.key === "Escape") hideTooltip();
  else if (targets[event.key] !== undefined) cards.get(targets[event.key]).focus();
  else if (!(event.key in targets)) return;
  event.preventDefault();
}

// Scroll the window of the tree, not the page, until a leaf is visible.
function scrollToLeaf(leaf) {
  const card = cards.get(leaf);
  const top = card.offsetTop * zoom - treeWindow.scrollTop;
  if (top < 0 || top + card.offsetHeight * zoom > treeWindow.clientHeight) {
    treeWindow.scrollTop = card.offsetTop * zoom - treeWindow.clientHeight / 2;
  }
  treeWindow.scrollLeft = Math.max(0, (card.offsetLeft + card.offsetWidth) * zoom - treeWindow.clientWidth);
}

// ---- Tooltip: what is known about the node that is pointed at or has the focus

const tooltip = byId("tooltip");
let tooltipNode = null; // the node it is about

function showTooltip(node) {
  const tree = treeAt(state.size);
  tooltipNode = node;
  tooltip.replaceChildren(...tooltipParts(node, tree));
  tooltip.hidden = false;
  cards.get(node).setAttribute("aria-describedby", "tooltip");
  placeTooltip(cards.get(node).getBoundingClientRect());
}

function hideTooltip() {
  tooltip.hidden = true;
  tooltipNode = null;
  for (const card of cards.values()) card.removeAttribute("aria-describedby");
}

function tooltipParts(node, tree) {
  const conditions = conditionsOf(node);
  const parts = [make("p", { class: "tooltip-title" }, `${nodes.rows[node]}, ${nodes.percent[node]} of all`)];
  if (conditions.length) {
    const items = conditions.map((condition) => make("li", {}, condition.text));
    parts.push(make("ul", { class: "tooltip-conditions" }, ...items));
  }
  if (nodes.original_groups[node].length) {
    parts.push(make("p", { class: "small" }, "Their groups in the original grouping"), originalGroupBars(node));
  }
  if (tree.inner[node]) parts.push(...columnParts(node, tree));
  return parts;
}

function originalGroupBars(node) {
  return make("ul", { class: "origin" }, ...nodes.original_groups[node].map(([group, share, percent]) => make("li", {},
    make("span", { class: "hbar-name" }, data.groups[group].name),
    make("span", { class: "hbar-bars" }, make("span", {
      class: "hbar-some group-colors", style: { ...groupStyle(group), width: `${100 * share}%` },
    })),
    make("span", { class: "origin-share" }, percent))));
}

// The column of a split: its range, and its histogram with the threshold.
function columnParts(node, tree) {
  const [name, yes] = question(node);
  const parts = [make("p", { class: "small" }, make("b", {}, name), ` ${yes}?`)];
  if (data.too_few?.[node]) return [...parts, make("p", { class: "quiet small" }, tooFew())];
  if (data.ranges?.[node]) parts.push(make("p", { class: "small" }, `Here: ${data.ranges[node]}`));
  const histogram = data.field_histograms?.[nodes.field[node]] ?? -1;
  if (histogram < 0) return parts;
  const threshold = data.threshold_positions[node];
  return [...parts, stackedBars(histogram, groupParts(node, tree), threshold)];
}

// The groups below a node, each with the numbers of its leaves there.
function groupParts(node, tree) {
  const parts = new Map();
  const open = [node];
  while (open.length) {
    const next = open.pop();
    if (tree.inner[next]) { open.push(...childrenOf(next)); continue; }
    const group = tree.label[next];
    parts.set(group, [...(parts.get(group) ?? []), ...leafNumbersBelow(next)]);
  }
  return [...parts].sort(([one], [other]) => one - other);
}

// Beside the card if there is room, else below or above it.
function placeTooltip(card) {
  const gap = 10;
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  const { innerWidth, innerHeight } = window;
  let x = card.right + gap;
  let y = card.top + card.height / 2 - height / 2;
  if (x + width > innerWidth - gap) x = card.left - width - gap;
  if (x < gap) {
    x = card.left + card.width / 2 - width / 2;
    y = card.bottom + gap + height < innerHeight ? card.bottom + gap : card.top - height - gap;
  }
  x = Math.max(gap, Math.min(x, innerWidth - width - gap));
  y = Math.max(gap, Math.min(y, innerHeight - height - gap));
  setStyle(tooltip, { left: `${x}px`, top: `${y}px` });
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTooltip(); });
// It stays beside its card while something scrolls.
document.addEventListener("scroll", () => {
  if (tooltipNode !== null) placeTooltip(cards.get(tooltipNode).getBoundingClientRect());
}, { capture: true, passive: true });

onChange((tree, changed) => {
  if (changed.includes("size")) showTree(tree);
  else showChosen(tree);
  if (changed.includes("row") && state.row !== null) scrollToLeaf(leafOf(tree, state.row));
  else if (changed.includes("group") && state.group !== null) {
    if (document.activeElement?.getAttribute("role") === "treeitem") return; // it was chosen in the tree
    const first = tree.leaves.find((leaf) => tree.label[leaf] === state.group);
    if (first !== undefined) scrollToLeaf(first);
  }
});
