// The tree of each size, and what is chosen: the model behind all panels.
//
// All sizes are parts of the largest tree, and nodes are numbered as in the largest tree. A "tree"
// below is an object made by treeAt: {size, inner, label, description, order, leaves}.

const nodes = data.nodes;
const parentOf = nodes.left.map(() => -1);
for (const node of nodes.left.keys()) {
  for (const child of childrenOf(node)) parentOf[child] = node;
}
// Histograms count rows by the leaves of the largest tree, in the order of their numbers.
const leafNumber = new Map([...nodes.left.keys()].filter((n) => nodes.left[n] < 0).map((n, i) => [n, i]));

// ---- What is chosen

const state = { size: data.start_size, group: null, row: null, printing: false };
const listeners = [];

// Listeners are called with the tree of the chosen size and the names of what has changed.
function onChange(listener) {
  listeners.push(listener);
}

function update(change) {
  Object.assign(state, change);
  const tree = treeAt(state.size);
  for (const listener of listeners) listener(tree, Object.keys(change));
}

// ---- Trees

// The two children of a split as they are shown: the side of "yes" first.
function childrenOf(node) {
  if (nodes.left[node] < 0) return [];
  const sides = [nodes.left[node], nodes.right[node]];
  return nodes.yes_left[node] ? sides : sides.reverse();
}

const treesBySize = new Map();

// inner: whether each node is split; label: the group of each leaf; description: the number of
// each group's description; order: the nodes of the tree, parents before children, yes before no.
function treeAt(size) {
  if (!treesBySize.has(size)) treesBySize.set(size, buildTree(size));
  return treesBySize.get(size);
}

// The data hold only what differs from one size to the next.
function buildTree(size) {
  const inner = nodes.left.map(() => false);
  const label = nodes.left.map(() => -1);
  const description = data.groups.map(() => -1);
  for (const step of data.sizes.slice(0, size + 1)) {
    for (const node of step.toggled) inner[node] = !inner[node];
    for (const [node, group] of step.labels) label[node] = group;
    for (const [group, number] of step.descriptions) description[group] = number;
  }
  const order = [];
  const stack = [0];
  while (stack.length) {
    const node = stack.pop();
    order.push(node);
    if (inner[node]) stack.push(...childrenOf(node).reverse());
  }
  return { size, inner, label, description, order, leaves: order.filter((node) => !inner[node]) };
}

// The nodes from the root to this one.
function pathTo(node) {
  const path = [];
  for (; node >= 0; node = parentOf[node]) path.unshift(node);
  return path;
}

// ---- Rows: a value for each field, which is a number, the number of an option, or null if missing

// Whether a value of the field that a node splits goes left. This is Split.goes_left of Python.
function goesLeft(node, value) {
  if (value === null) return nodes.missing_left[node];
  if (nodes.options_left[node] !== null) return nodes.options_left[node].includes(value);
  return value <= nodes.threshold[node];
}

function leafOf(tree, row) {
  let node = 0;
  while (tree.inner[node]) {
    node = goesLeft(node, row[nodes.field[node]]) ? nodes.left[node] : nodes.right[node];
  }
  return node;
}

// Everything that a row must meet to come to a node: of each field its last condition on the path.
function conditionsOf(node) {
  const last = new Map();
  for (const passed of pathTo(node).slice(1)) {
    const condition = data.conditions[nodes.condition[passed]];
    last.set(condition.field, condition);
  }
  return [...last.values()].sort((one, other) => one.field - other.field);
}

// Numbers of the fields that a tree splits, in their order.
function fieldsOf(tree) {
  const used = new Set(tree.order.filter((node) => tree.inner[node]).map((node) => nodes.field[node]));
  return [...data.fields.keys()].filter((field) => used.has(field));
}

// ---- Words and groups of nodes

// The condition to go from a split to one of its children.
function sideText(child) {
  const [, left, right] = nodes.question[parentOf[child]];
  return nodes.left[parentOf[child]] === child ? left : right;
}

// What a split asks: the column, and the condition for yes.
function question(node) {
  return [nodes.question[node][0], sideText(childrenOf(node)[0])];
}

// Numbers of the leaves of the largest tree below a node.
function leafNumbersBelow(node) {
  if (leafNumber.has(node)) return [leafNumber.get(node)];
  return childrenOf(node).flatMap(leafNumbersBelow);
}

// For each node the group that all leaves below it belong to; -1 if they belong to several.
function groupsBelow(tree) {
  const group = tree.label.slice();
  for (const node of tree.order.slice().reverse()) {
    if (!tree.inner[node]) continue;
    const [yes, no] = childrenOf(node);
    group[node] = group[yes] === group[no] ? group[yes] : -1;
  }
  return group;
}
