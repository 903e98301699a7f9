// What would have to change for a row to be in another group: fewest axes, then least distance.

const FARTHEST = 1e150; // as in Python, so that sums stay finite

// What one goal takes of a value: nothing, a change, or null if it cannot be met.
function changeFor(goal, x) {
  const axis = data.axes[goal.axis];
  if (goal.states) {
    if (goal.states.includes(x)) return { far: 0, words: "" };
    const changes = goal.states.map((to) => ({ far: axis.far[x] + axis.far[to], words: axis.say[to] }));
    return nearest(changes);
  }
  const tooLow = goal.above !== null && x <= goal.above;
  const tooHigh = goal.upto !== null && x > goal.upto;
  if (!tooLow && !tooHigh) return { far: 0, words: "" };
  const landing = tooLow ? goal.up : goal.down;
  if (landing === null) return null;
  const far = Math.min(Math.abs(landing[0] - x) / axis.scale, FARTHEST);
  return { far: far * far, words: landing[1] };
}

// All changes that bring a row to a leaf, or null.
function changesTo(leaf, row) {
  const words = [];
  let far = 0;
  for (const goal of goalsOf(leaf)) {
    const change = changeFor(goal, row[goal.axis]);
    if (change === null) return null;
    far += change.far;
    if (change.words) words.push(change.words);
  }
  return { leaf, far, words };
}

// The easiest way to each group but the row's own, the nearest group first.
function waysOut(now, row) {
  const own = now.label[leafOf(now, row)];
  const leaves = now.leaves.slice().sort((one, other) => one - other);
  const ways = [];
  for (const group of data.groups.keys()) {
    if (group === own) continue;
    const able = leaves.filter((leaf) => now.label[leaf] === group)
      .map((leaf) => changesTo(leaf, row)).filter((way) => way !== null);
    const fewest = Math.min(...able.map((way) => way.words.length));
    const way = nearest(able.filter((each) => each.words.length === fewest));
    if (way !== null) ways.push({ group, ...way });
  }
  return ways.sort((one, other) => one.far - other.far);
}

// The first of those at the least distance.
function nearest(changes) {
  let best = null;
  for (const change of changes) if (best === null || change.far < best.far) best = change;
  return best;
}
