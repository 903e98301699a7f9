// The tree of each size, as a part of the largest one. Node numbers are those of the largest tree.

const nodes = data.nodes;
const parentOf = nodes.left.map(() => -1);
for (const node of nodes.left.keys()) {
  for (const child of childrenOf(node)) parentOf[child] = node;
}
// Leaves of the largest tree in the order of their numbers: histograms count rows by them.
const placeOfLeaf = new Map([...nodes.left.keys()].filter((n) => nodes.left[n] < 0).map((n, i) => [n, i]));
const treesSeen = new Map();

// The two sides of a cut as they are shown: yes, then no. Up to a threshold is yes, and so is being
// of a category, for which rows go right.
function childrenOf(node) {
  if (nodes.left[node] < 0) return [];
  const sides = [nodes.left[node], nodes.right[node]];
  return nodes.state[node] < 0 ? sides : sides.reverse();
}

// inner: whether a node is cut; label: the group of a leaf; version: of each group;
// order: the nodes there are, each before those below it, yes before no.
function treeAt(size) {
  if (!treesSeen.has(size)) treesSeen.set(size, replayed(size));
  return treesSeen.get(size);
}

function replayed(size) {
  const inner = nodes.left.map(() => false);
  const label = nodes.left.map(() => -1);
  const version = data.groups.map(() => -1);
  for (const step of data.sizes.slice(0, size + 1)) {
    for (const node of step.flips) inner[node] = !inner[node];
    for (const [node, group] of step.labels) label[node] = group;
    for (const [group, begun] of step.groups) version[group] = begun;
  }
  const order = [];
  const open = [0];
  while (open.length) {
    const node = open.pop();
    order.push(node);
    if (inner[node]) open.push(...childrenOf(node).reverse());
  }
  return { size, inner, label, version, order, leaves: order.filter((node) => !inner[node]) };
}

// The nodes from the root to this one.
function wayTo(node) {
  const way = [];
  for (; node >= 0; node = parentOf[node]) way.unshift(node);
  return way;
}

// A row has a value for each axis: a number, or the number of a state.
function leafOf(now, row) {
  let node = 0;
  while (now.inner[node]) node = goesLeft(row, node) ? nodes.left[node] : nodes.right[node];
  return node;
}

function goesLeft(row, node) {
  const value = row[nodes.axis[node]];
  const x = nodes.state[node] < 0 ? value : Number(value === nodes.state[node]);
  return x <= nodes.threshold[node];
}

// What is asked of a row that is to come to a node: for each axis its last goal on the way.
function goalsOf(node) {
  const last = new Map();
  for (const passed of wayTo(node).slice(1)) {
    const goal = data.goals[nodes.goal[passed]];
    last.set(goal.axis, goal);
  }
  return [...last.values()].sort((one, other) => one.axis - other.axis);
}

// Words for going from a cut to one of its sides.
function sideWords(child) {
  const [, left, right] = nodes.asks[parentOf[child]];
  return nodes.left[parentOf[child]] === child ? left : right;
}

// What a cut asks: the column, and the words for yes.
function question(node) {
  return [nodes.asks[node][0], sideWords(childrenOf(node)[0])];
}

// Places of the leaves of the largest tree below a node.
function placesBelow(node) {
  if (placeOfLeaf.has(node)) return [placeOfLeaf.get(node)];
  return childrenOf(node).flatMap(placesBelow);
}

// The group that all leaves below a node have; -1 if they differ.
function groupsBelow(now) {
  const group = now.label.slice();
  for (const node of now.order.slice().reverse()) {
    if (!now.inner[node]) continue;
    const [yes, no] = childrenOf(node);
    group[node] = group[yes] === group[no] ? group[yes] : -1;
  }
  return group;
}

// Axes that the tree of this size asks about, in their order.
function axesAsked(now) {
  const asked = new Set(now.order.filter((node) => now.inner[node]).map((node) => nodes.axis[node]));
  return [...data.axes.keys()].filter((axis) => asked.has(axis));
}
