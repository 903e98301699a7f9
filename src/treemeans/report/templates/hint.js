// What stands behind a node: shown beside it while it is pointed at or has the focus.

const hintBox = byId("hint");
let hintOf = null; // the node it is about

function showHint(node) {
  const now = treeAt(state.size);
  hintOf = node;
  hintBox.replaceChildren(...hintParts(node, now));
  hintBox.hidden = false;
  cards.get(node).setAttribute("aria-describedby", "hint");
  placeHint(cards.get(node).getBoundingClientRect());
}

function hideHint() {
  hintBox.hidden = true;
  hintOf = null;
  for (const card of cards.values()) card.removeAttribute("aria-describedby");
}

function hintParts(node, now) {
  const goals = goalsOf(node);
  const parts = [make("p", { class: "hint-title" }, `${nodes.rows[node]}, ${nodes.percent[node]} of all`)];
  if (goals.length) {
    parts.push(make("ul", { class: "hint-goals" }, ...goals.map((goal) => make("li", {}, goal.words))));
  }
  if (nodes.origin[node].length) {
    parts.push(make("p", { class: "small" }, "Their groups in the original grouping"), originBars(node));
  }
  if (now.inner[node]) parts.push(...columnParts(node));
  return parts;
}

function originBars(node) {
  return make("ul", { class: "origin" }, ...nodes.origin[node].map(([group, share, words]) => make("li", {},
    make("span", { class: "lying-name" }, data.groups[group].name),
    make("span", { class: "lying-bars" }, make("span", {
      class: "lying-some", style: { width: `${100 * share}%`, background: data.groups[group].fill },
    })),
    make("span", { class: "origin-share" }, words))));
}

// The column that a cut is about: its range, and how it is spread, with the threshold.
function columnParts(node) {
  const [name, yes] = question(node);
  const parts = [make("p", { class: "small" }, make("b", {}, name), ` ${yes}?`)];
  if (data.ranges?.[node]) parts.push(make("p", { class: "small" }, `Here: ${data.ranges[node]}`));
  const histogram = data.histogram_of?.[nodes.axis[node]] ?? -1;
  if (histogram >= 0) parts.push(histogramOf(histogram, placesBelow(node), "var(--accent)", data.marks[node]));
  return parts;
}

// Beside the card if there is room, else below or above it.
function placeHint(card) {
  const gap = 10;
  const { offsetWidth: width, offsetHeight: height } = hintBox;
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
  setStyle(hintBox, { left: `${x}px`, top: `${y}px` });
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideHint(); });
// It stays with its card while things scroll.
document.addEventListener("scroll", () => {
  if (hintOf !== null) placeHint(cards.get(hintOf).getBoundingClientRect());
}, { capture: true, passive: true });
