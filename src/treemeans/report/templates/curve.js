// The slider for the number of leaves, and the curve of what each number costs.

const slider = byId("leaves");
const curveBox = byId("curve");
const CURVE = { height: 190, left: 52, right: 18, top: 22, bottom: 30 };
const curve = data.curve;

function startSlider() {
  slider.max = data.sizes.length - 1;
  slider.disabled = data.sizes.length < 2;
  slider.addEventListener("input", () => update({ size: Number(slider.value) }));
  byId("knee").addEventListener("click", () => update({ size: curve.knee }));
  curveBox.addEventListener("click", (event) => update({ size: sizeAt(event) }));
}

function leavesWords(size) {
  const { leaves } = data.sizes[size];
  return `${leaves} ${leaves === 1 ? "leaf" : "leaves"}`;
}

function showSize(now) {
  const size = data.sizes[now.size];
  const words = leavesWords(now.size);
  slider.value = now.size;
  slider.setAttribute("aria-valuetext", `${words}. ${size.verdict}`);
  byId("count").textContent = size.leaves;
  byId("verdict").textContent = size.verdict;
  byId("same").textContent = size.same;
  byId("knee").disabled = now.size === curve.knee;
  byId("knee").textContent = now.size === curve.knee ? "This is the suggested size"
    : `Go to the suggested size: ${leavesWords(curve.knee)}`;
  say(`${words}. ${size.verdict} ${size.same}`);
}

function curveScale() {
  const width = state.paper ? PAPER.curve : Math.max(240, curveBox.clientWidth);
  const last = Math.max(1, data.sizes.length - 1);
  const lowest = curve.ticks[0][0];
  const highest = curve.ticks[curve.ticks.length - 1][0];
  const inner = { width: width - CURVE.left - CURVE.right, height: CURVE.height - CURVE.top - CURVE.bottom };
  return {
    width,
    x: (size) => CURVE.left + (size / last) * inner.width,
    y: (above) => CURVE.top + (1 - (above - lowest) / (highest - lowest)) * inner.height,
    size: (x) => Math.round(Math.max(0, Math.min(1, (x - CURVE.left) / inner.width)) * last),
  };
}

function sizeAt(event) {
  const size = curveScale().size(event.clientX - curveBox.getBoundingClientRect().left);
  return Math.min(size, data.sizes.length - 1);
}

function showCurve(now) {
  const { width, x, y } = curveScale();
  const known = [...curve.above.keys()].filter((size) => curve.above[size] !== null);
  const points = known.map((size) => `${x(size).toFixed(1)},${y(curve.above[size]).toFixed(1)}`);
  const dot = (size, attributes) => curve.above[size] === null ? null
    : draw("circle", { cx: x(size), cy: y(curve.above[size]), ...attributes });
  curveBox.replaceChildren(draw("svg", {
    role: "img", width, height: CURVE.height, viewBox: `0 0 ${width} ${CURVE.height}`,
    "aria-label": `A falling curve. Now: ${leavesWords(now.size)}. ${data.sizes[now.size].verdict}`,
  },
  ...curve.ticks.flatMap(([above, words]) => [
    draw("line", { class: "grid", x1: CURVE.left, x2: width - CURVE.right, y1: y(above), y2: y(above) }),
    draw("text", { class: "tick", x: CURVE.left - 8, y: y(above) + 4, "text-anchor": "end" }, words),
  ]),
  draw("polyline", { class: "curve-line", points: points.join(" ") }),
  ...(known.length <= 60 ? known.map((size) => dot(size, { class: "dot", r: 2.5 })) : []),
  dot(curve.knee, { class: "knee", r: 8 }),
  draw("line", { class: "now-line", x1: x(now.size), x2: x(now.size), y1: CURVE.top, y2: CURVE.height - CURVE.bottom }),
  kneeWords(x, y, width),
  dot(now.size, { class: "now", r: 5.5 }),
  ...leafTicks(now).map((size) => draw("text", {
    class: size === now.size ? "tick now-tick" : "tick", x: x(size), y: CURVE.height - 8, "text-anchor": "middle",
  }, String(data.sizes[size].leaves)))));
}

// Beside the knee, on the side where there is room above the curve.
function kneeWords(x, y, width) {
  const above = curve.above[curve.knee];
  if (above === null) return null;
  const right = x(curve.knee) + 90 < width;
  return draw("text", {
    class: "tick knee-words", x: x(curve.knee) + (right ? 12 : -12), y: Math.max(14, y(above) - 10),
    "text-anchor": right ? "start" : "end",
  }, "suggested");
}

// The first, the last and the present number of leaves, unless they would touch.
function leafTicks(now) {
  const { x } = curveScale();
  const ends = [0, data.sizes.length - 1].filter((size) => size !== now.size && Math.abs(x(size) - x(now.size)) > 28);
  return [...new Set([...ends, now.size])];
}

onChange((now, changed) => {
  if (!changed.includes("size")) return;
  showSize(now);
  showCurve(now);
});
