// Where the nodes of a tree go: down the page while there is room side by side, else to the right.

const DOWN = { slot: 132, widest: 200, card: 60, level: 124, gap: 14 };
const RIGHT = {
  pitch: 36, tight: 28, many: 40, tall: 50, // from leaf to leaf: of few, of many, on a small screen
  indent: 26, least: 9, // of a question from the one before
  room: 150, narrow: 132, // for the words of the deepest question
  chip: 104, rows: 86, bar: 110, // of the table of leaves
};
const NARROW = 560;

// width: of the window. Gives the direction, the whole size, a place for each node and lines
// between them. A place is {x, y, width}: its upper left corner, or with "middle" its middle line.
function layoutOf(now, width) {
  return laidDown(now, width) ?? laidRight(now, width);
}

function depthsIn(now) {
  const depth = new Map([[0, 0]]);
  for (const node of now.order.slice(1)) depth.set(node, depth.get(parentOf[node]) + 1);
  return depth;
}

// Leaves in even slots, each cut above the middle of its two sides.
function laidDown(now, width) {
  const slot = Math.min(DOWN.widest, width / now.leaves.length);
  if (slot < DOWN.slot && now.leaves.length > 1) return null;
  const start = (width - slot * now.leaves.length) / 2;
  const middle = new Map(now.leaves.map((leaf, i) => [leaf, start + (i + 0.5) * slot]));
  for (const node of now.order.slice().reverse()) {
    if (!now.inner[node]) continue;
    const [yes, no] = childrenOf(node);
    middle.set(node, (middle.get(yes) + middle.get(no)) / 2);
  }
  const depth = depthsIn(now);
  const wide = slot - DOWN.gap;
  const places = new Map(now.order.map((node) => [node, {
    x: middle.get(node) - wide / 2, y: depth.get(node) * DOWN.level, width: wide, height: DOWN.card,
  }]));
  const lines = now.order.slice(1).map((node) => lineDown(node, middle, depth));
  const deepest = Math.max(...depth.values());
  return { direction: "down", width, height: deepest * DOWN.level + DOWN.card, places, lines };
}

// The two lines of a cut leave it side by side.
function lineDown(node, middle, depth) {
  const sides = childrenOf(parentOf[node]);
  const [yes, no] = sides.map(thickDown);
  const from = middle.get(parentOf[node]) + (node === sides[0] ? -no : yes) / 2;
  const to = middle.get(node);
  const top = depth.get(parentOf[node]) * DOWN.level + DOWN.card;
  const bottom = depth.get(node) * DOWN.level;
  const half = top + 16;
  const bend = Math.sign(to - from) * Math.min(10, Math.abs(to - from) / 2);
  const over = `Q${from},${half} ${from + bend},${half} H${to - bend} Q${to},${half} ${to},${half + 8}`;
  return {
    node,
    path: `M${from},${top} V${half - 8} ${over} V${bottom}`,
    thick: thickDown(node),
    label: { x: to, y: (half + bottom) / 2 + 2, words: sideWords(node) },
  };
}

function thickDown(node) {
  return 2 + 8 * nodes.share[node];
}

// Each node has a height of its own: what is yes, cut, what is no. Leaves end in a table; on a small
// screen those of a very deep tree stand where their lines begin.
function laidRight(now, width) {
  const narrow = width < NARROW;
  const pitch = narrow ? RIGHT.tall : now.leaves.length > RIGHT.many ? RIGHT.tight : RIGHT.pitch;
  const depth = depthsIn(now);
  const deepest = Math.max(...depth.values(), 1);
  const table = narrow ? RIGHT.chip - 12 : RIGHT.chip + RIGHT.rows + RIGHT.bar;
  const room = narrow ? RIGHT.narrow : RIGHT.room;
  const indent = Math.max(RIGHT.least, Math.min(RIGHT.indent, (width - table - room) / deepest));
  const x = (node) => 6 + depth.get(node) * indent;
  const wanted = room + deepest * indent; // by the questions
  const ragged = narrow && wanted + table > width;
  const chips = Math.max(width - table, wanted);
  const chip = (leaf) => (ragged ? x(leaf) + 8 : chips);
  const end = ragged ? chips : chips - 12; // of the words of a question
  const middle = new Map(sidewaysOrder(now).map((node, rank) => [node, (rank + 1) * pitch / 2]));
  const places = new Map(now.order.map((node) => [node, {
    x: now.inner[node] ? x(node) + 8 : chip(node),
    y: middle.get(node),
    width: now.inner[node] ? end - x(node) - 8 : table,
    middle: true,
  }]));
  const lines = now.order.slice(1).map((node) => ({
    node,
    path: lineRight(x(parentOf[node]), middle.get(parentOf[node]),
      now.inner[node] ? x(node) : chip(node), middle.get(node)),
    thick: 1.5 + 6 * nodes.share[node],
    label: null,
  }));
  return {
    direction: "right", narrow, stacked: narrow && !ragged, places, lines,
    width: ragged ? Math.max(width, chips) : chips + table,
    height: (now.order.length + 1) * pitch / 2,
    start: { x: x(0), y: middle.get(0) },
  };
}

function lineRight(x, from, end, to) {
  const bend = 8 * Math.sign(to - from);
  return `M${x},${from} V${to - bend} Q${x},${to} ${Math.min(x + 8, end)},${to} H${end}`;
}

// What is yes, cut, what is no.
function sidewaysOrder(now) {
  const order = [];
  const open = [];
  let node = 0;
  while (open.length || node >= 0) {
    for (; node >= 0; node = now.inner[node] ? childrenOf(node)[0] : -1) open.push(node);
    node = open.pop();
    order.push(node);
    node = now.inner[node] ? childrenOf(node)[1] : -1;
  }
  return order;
}
