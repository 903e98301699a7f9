// The panel "How detailed?": a slider for the number of leaves, and the curve of what each costs.

const slider = byId("leaves");
const curveBox = byId("curve");
const CURVE = { height: 190, left: 52, right: 18, top: 22, bottom: 30 };
const curve = data.curve;

function startSlider() {
  slider.max = data.sizes.length - 1;
  slider.disabled = data.sizes.length < 2;
  slider.addEventListener("input", () => update({ size: Number(slider.value) }));
  byId("suggested").addEventListener("click", () => update({ size: curve.suggested }));
  curveBox.addEventListener("click", (event) => update({ size: sizeAt(event) }));
}

function leavesText(size) {
  const { leaves } = data.sizes[size];
  return `${leaves} ${leaves === 1 ? "leaf" : "leaves"}`;
}

function showSize(tree) {
  const size = data.sizes[tree.size];
  const text = leavesText(tree.size);
  slider.value = tree.size;
  slider.setAttribute("aria-valuetext", `${text}. ${size.verdict}`);
  byId("count").textContent = size.leaves;
  byId("verdict").textContent = size.verdict;
  byId("agreement").textContent = size.agreement;
  byId("suggested").disabled = tree.size === curve.suggested;
  byId("suggested").textContent = tree.size === curve.suggested ? "This is the suggested size"
    : `Go to the suggested size: ${leavesText(curve.suggested)}`;
  announce(`${text}. ${size.verdict} ${size.agreement}`);
}

function curveScale() {
  const width = state.printing ? PRINT_WIDTHS.curve : Math.max(240, curveBox.clientWidth);
  const last = Math.max(1, data.sizes.length - 1);
  const lowest = curve.ticks[0][0];
  const highest = curve.ticks[curve.ticks.length - 1][0];
  const inner = { width: width - CURVE.left - CURVE.right, height: CURVE.height - CURVE.top - CURVE.bottom };
  return {
    width,
    x: (size) => CURVE.left + (size / last) * inner.width,
    y: (excess) => CURVE.top + (1 - (excess - lowest) / (highest - lowest)) * inner.height,
    size: (x) => Math.round(Math.max(0, Math.min(1, (x - CURVE.left) / inner.width)) * last),
  };
}

function sizeAt(event) {
  const size = curveScale().size(event.clientX - curveBox.getBoundingClientRect().left);
  return Math.min(size, data.sizes.length - 1);
}

function showCurve(tree) {
  const { width, x, y } = curveScale();
  const known = [...curve.excess.keys()].filter((size) => curve.excess[size] !== null);
  const points = known.map((size) => `${x(size).toFixed(1)},${y(curve.excess[size]).toFixed(1)}`);
  const dot = (size, attributes) => curve.excess[size] === null ? null
    : draw("circle", { cx: x(size), cy: y(curve.excess[size]), ...attributes });
  curveBox.replaceChildren(draw("svg", {
    role: "img", width, height: CURVE.height, viewBox: `0 0 ${width} ${CURVE.height}`,
    "aria-label": `A falling curve. Now: ${leavesText(tree.size)}. ${data.sizes[tree.size].verdict}`,
  },
  ...curve.ticks.flatMap(([excess, label]) => [
    draw("line", { class: "grid", x1: CURVE.left, x2: width - CURVE.right, y1: y(excess), y2: y(excess) }),
    draw("text", { class: "tick", x: CURVE.left - 8, y: y(excess) + 4, "text-anchor": "end" }, label),
  ]),
  draw("polyline", { class: "curve-line", points: points.join(" ") }),
  ...(known.length <= 60 ? known.map((size) => dot(size, { class: "dot", r: 2.5 })) : []),
  dot(curve.suggested, { class: "suggested", r: 8 }),
  draw("line", {
    class: "current-line", x1: x(tree.size), x2: x(tree.size), y1: CURVE.top, y2: CURVE.height - CURVE.bottom,
  }),
  suggestedText(x, y, width),
  dot(tree.size, { class: "current", r: 5.5 }),
  ...leafTicks(tree).map((size) => draw("text", {
    class: size === tree.size ? "tick current-tick" : "tick", x: x(size), y: CURVE.height - 8, "text-anchor": "middle",
  }, String(data.sizes[size].leaves)))));
}

// Beside the suggested size, on the side where there is room above the curve.
function suggestedText(x, y, width) {
  const excess = curve.excess[curve.suggested];
  if (excess === null) return null;
  const right = x(curve.suggested) + 90 < width;
  return draw("text", {
    class: "tick suggested-text", x: x(curve.suggested) + (right ? 12 : -12), y: Math.max(14, y(excess) - 10),
    "text-anchor": right ? "start" : "end",
  }, "suggested");
}

// The first, the last and the present number of leaves, unless they would touch.
function leafTicks(tree) {
  const { x } = curveScale();
  const ends = [0, data.sizes.length - 1].filter((size) => size !== tree.size && Math.abs(x(size) - x(tree.size)) > 28);
  return [...new Set([...ends, tree.size])];
}

onChange((tree, changed) => {
  if (!changed.includes("size")) return;
  showSize(tree);
  showCurve(tree);
});
