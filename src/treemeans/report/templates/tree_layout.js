// Positions of the nodes of a tree: from top to bottom while leaves fit side by side, else from left to right.

const DOWN = { slot: 132, widest: 200, card: 60, leaf: 104, level: 124, gap: 14 };
const RIGHT = {
  pitch: 36, tight: 28, many: 40, tall: 50, // from leaf to leaf: of few leaves, of many, on a small screen
  indent: 26, least: 9, // of a split from its parent
  room: 150, narrow: 132, // for the question of the deepest split
  chip: 104, longChip: 280, letter: 7.6, rows: 86, bar: 110, // of the table of leaves
};
const NARROW = 560;

// width: of the window. Returns the direction, the size, a position for each node and the lines
// between them. A position is {x, y, width}: the upper left corner, or if `middle` is true, the left
// end of the middle line.
function layoutOf(tree, width) {
  return topDown(tree, width) ?? leftToRight(tree, width);
}

function depths(tree) {
  const depth = new Map([[0, 0]]);
  for (const node of tree.order.slice(1)) depth.set(node, depth.get(parentOf[node]) + 1);
  return depth;
}

// Leaves stand in slots of equal width, each split above the middle of its two sides.
function topDown(tree, width) {
  const slot = Math.min(DOWN.widest, width / tree.leaves.length);
  if (slot < DOWN.slot && tree.leaves.length > 1) return null;
  const start = (width - slot * tree.leaves.length) / 2;
  const middle = new Map(tree.leaves.map((leaf, i) => [leaf, start + (i + 0.5) * slot]));
  for (const node of tree.order.slice().reverse()) {
    if (!tree.inner[node]) continue;
    const [yes, no] = childrenOf(node);
    middle.set(node, (middle.get(yes) + middle.get(no)) / 2);
  }
  const depth = depths(tree);
  const wide = slot - DOWN.gap;
  const positions = new Map(tree.order.map((node) => [node, {
    x: middle.get(node) - wide / 2, y: depth.get(node) * DOWN.level, width: wide, height: DOWN.card,
  }]));
  const lines = tree.order.slice(1).map((node) => topDownLine(node, middle, depth));
  const deepest = Math.max(...depth.values());
  return { direction: "down", width, height: deepest * DOWN.level + DOWN.leaf, positions, lines };
}

// The two lines below a split start side by side.
function topDownLine(node, middle, depth) {
  const sides = childrenOf(parentOf[node]);
  const [yes, no] = sides.map(topDownThickness);
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
    thick: topDownThickness(node),
    label: { x: to, y: (half + bottom) / 2 + 2, text: sideText(node) },
  };
}

function topDownThickness(node) {
  return 2 + 8 * nodes.share[node];
}

// Width of the name of a leaf: of the longest name, within limits.
function chipWidth(narrow) {
  const longest = Math.max(...data.groups.map(({ name }) => name.length));
  const most = narrow ? RIGHT.narrow - 12 : RIGHT.longChip;
  return Math.max(RIGHT.chip, Math.min(most, RIGHT.letter * longest + 24));
}

// Every node has a row of its own, in the order yes side, split, no side. Leaves end in a table; on a
// small screen the leaves of a very deep tree stand where their lines begin.
function leftToRight(tree, width) {
  const narrow = width < NARROW;
  const pitch = narrow ? RIGHT.tall : tree.leaves.length > RIGHT.many ? RIGHT.tight : RIGHT.pitch;
  const depth = depths(tree);
  const deepest = Math.max(...depth.values(), 1);
  const chipRoom = chipWidth(narrow);
  const table = narrow ? chipRoom - 12 : chipRoom + RIGHT.rows + RIGHT.bar;
  const room = narrow ? RIGHT.narrow : RIGHT.room;
  const indent = Math.max(RIGHT.least, Math.min(RIGHT.indent, (width - table - room) / deepest));
  const x = (node) => 6 + depth.get(node) * indent;
  const wanted = room + deepest * indent; // width of the questions
  const ragged = narrow && wanted + table > width;
  const chips = Math.max(width - table, wanted);
  const chip = (leaf) => (ragged ? x(leaf) + 8 : chips);
  const end = ragged ? chips : chips - 12; // of the text of a question
  const middle = new Map(inOrder(tree).map((node, rank) => [node, (rank + 1) * pitch / 2]));
  const positions = new Map(tree.order.map((node) => [node, {
    x: tree.inner[node] ? x(node) + 8 : chip(node),
    y: middle.get(node),
    width: tree.inner[node] ? end - x(node) - 8 : table,
    middle: true,
  }]));
  const lines = tree.order.slice(1).map((node) => ({
    node,
    path: leftToRightLine(x(parentOf[node]), middle.get(parentOf[node]),
      tree.inner[node] ? x(node) : chip(node), middle.get(node)),
    thick: 1.5 + 6 * nodes.share[node],
    label: null,
  }));
  return {
    direction: "right", narrow, chipRoom, stacked: narrow && !ragged, positions, lines,
    width: ragged ? Math.max(width, chips) : chips + table,
    height: (tree.order.length + 1) * pitch / 2,
    start: { x: x(0), y: middle.get(0) },
  };
}

function leftToRightLine(x, from, end, to) {
  const bend = 8 * Math.sign(to - from);
  return `M${x},${from} V${to - bend} Q${x},${to} ${Math.min(x + 8, end)},${to} H${end}`;
}

// Nodes in the order yes side, split, no side.
function inOrder(tree) {
  const order = [];
  const open = [];
  let node = 0;
  while (open.length || node >= 0) {
    for (; node >= 0; node = tree.inner[node] ? childrenOf(node)[0] : -1) open.push(node);
    node = open.pop();
    order.push(node);
    node = tree.inner[node] ? childrenOf(node)[1] : -1;
  }
  return order;
}
