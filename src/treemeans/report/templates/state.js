// What is chosen now: a size of the tree, perhaps a group, perhaps a row. Views are told of changes.

const state = { size: data.start, group: null, row: null, paper: false };
const PAPER = { tree: 670, curve: 350 }; // widths on paper, which no element tells before it is printed
const views = [];

// A view is called with the tree as it is now and the names of what has changed.
function onChange(view) {
  views.push(view);
}

function update(change) {
  Object.assign(state, change);
  const now = treeAt(state.size);
  for (const view of views) view(now, Object.keys(change));
}
