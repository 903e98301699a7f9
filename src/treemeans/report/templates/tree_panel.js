// The panel of the tree: cards for nodes, lines between them, and a tooltip about a node.
// A node keeps its card from size to size, so that the card moves and does not blink.

const cards = new Map(); // from shown nodes to their cards
const treeBox = byId("tree");
const treeWindow = byId("tree-window");
const lineLayer = draw("svg", { class: "lines", "aria-hidden": "true" });
const labelLayer = make("div", { class: "labels", "aria-hidden": "true" });
treeBox.append(lineLayer, labelLayer);
const BRIEF = 14; // letters of a name that is never shortened
let focused = 0; // the node whose card the tab key reaches
let rootHeight = null; // position of the root

function showTree(tree) {
  const layout = layoutOf(tree, state.printing ? PRINT_WIDTHS.tree : innerWidthOf(treeWindow));
  const groups = groupsBelow(tree);
  const most = Math.max(...tree.leaves.map((leaf) => nodes.share[leaf]));
  treeBox.className = `tree ${layout.direction}`;
  treeBox.classList.toggle("narrow", Boolean(layout.narrow));
  treeBox.classList.toggle("stacked", Boolean(layout.stacked)); // words in two lines
  setStyle(treeBox, { width: `${layout.width}px`, height: `${layout.height}px` });
  byId("legend").textContent = layout.direction === "right"
    ? "Start at the dot. The upper branch is yes, the lower one no." : "";
  if (!tree.order.includes(focused)) focused = 0;
  const before = rootHeight - treeWindow.scrollTop;
  setStyle(treeBox, { "--most": most || 1 });
  showCards(tree, layout);
  showLines(layout, groups);
  // The root keeps its position in the window; at first it is in the middle.
  const first = rootHeight === null;
  rootHeight = layout.positions.get(0).y;
  treeWindow.scrollTop = rootHeight - (first ? treeWindow.clientHeight / 2 : before);
  showChosen(tree);
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
  if (!split) setStyle(card, { "--fill": group.fill, "--text-on-fill": group.text, "--share": nodes.share[node] });
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
  return [make("span", { class: "ask" }, make("b", {}, name)), make("span", { class: "small" }, nodes.rows[node])];
}

function leafParts(node, tree, layout) {
  const name = make("span", { class: "leaf-name" }, data.groups[tree.label[node]].name);
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
    const group = data.groups[groups[node]];
    const style = group ? { "--line-color": group.line, "--fill": group.fill } : {};
    const kind = group ? "line of-group" : "line";
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
  const top = card.offsetTop - treeWindow.scrollTop;
  if (top < 0 || top + card.offsetHeight > treeWindow.clientHeight) {
    treeWindow.scrollTop = card.offsetTop - treeWindow.clientHeight / 2;
  }
  treeWindow.scrollLeft = Math.max(0, card.offsetLeft + card.offsetWidth - treeWindow.clientWidth);
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
  if (tree.inner[node]) parts.push(...columnParts(node));
  return parts;
}

function originalGroupBars(node) {
  return make("ul", { class: "origin" }, ...nodes.original_groups[node].map(([group, share, percent]) => make("li", {},
    make("span", { class: "hbar-name" }, data.groups[group].name),
    make("span", { class: "hbar-bars" }, make("span", {
      class: "hbar-some", style: { width: `${100 * share}%`, background: data.groups[group].fill },
    })),
    make("span", { class: "origin-share" }, percent))));
}

// The column of a split: its range, and its histogram with the threshold.
function columnParts(node) {
  const [name, yes] = question(node);
  const parts = [make("p", { class: "small" }, make("b", {}, name), ` ${yes}?`)];
  if (data.too_few?.[node]) return [...parts, make("p", { class: "quiet small" }, tooFew())];
  if (data.ranges?.[node]) parts.push(make("p", { class: "small" }, `Here: ${data.ranges[node]}`));
  const histogram = data.field_histograms?.[nodes.field[node]] ?? -1;
  if (histogram < 0) return parts;
  const threshold = data.threshold_positions[node];
  return [...parts, histogramOf(histogram, leafNumbersBelow(node), "var(--accent)", threshold)];
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
