// The panel "Can the groups be trusted?" and the tab of other trees; hidden if nothing was measured.

function plainTable(caption, head, rows) {
  const cells = (tag, texts) => texts.map((text, i) => make(i ? "td" : tag, i ? {} : { scope: "row" }, text));
  return make("table", { class: "plain" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("th", row)))));
}

// A bar from 0 to 1: the interval of 90 % of the resamples, and the mean as a dot.
function stabilityBar(group, mean, [low, high]) {
  const x = (share) => 2 + 96 * share;
  return draw("svg", { viewBox: "0 0 100 12", class: "stability-bar group-colors", style: groupStyle(group), role: "img",
    "aria-label": `${mean}, in 90 % of the resamples from ${low} to ${high}` },
  draw("line", { x1: x(0), x2: x(1), y1: 6, y2: 6, class: "axis" }),
  draw("line", { x1: x(low), x2: x(high), y1: 6, y2: 6, class: "interval" }),
  draw("circle", { cx: x(mean), cy: 6, r: 4 }));
}

function showTrust() {
  byId("trust").hidden = !data.trust;
  if (!data.trust) return;
  const { sentence, groups, cuts, features } = data.trust;
  byId("trust-sentence").textContent = sentence;
  byId("trust-tables").replaceChildren(
    plainTable("Groups", ["Group", "Mean index", "From 0 to 1", "Dissolved", ""], groups.map(([group, mean, interval, dissolved, grade]) =>
      [chip(group), mean.toFixed(2), stabilityBar(group, mean, interval), dissolved, grade])),
    plainTable("Questions of the tree", ["Question", "Comes back", "Threshold in 90 %"], cuts),
    plainTable("Columns", ["Column", "Used"], features));
}

function showAlternatives() {
  byId("tab-others").hidden = !data.alternatives;
  if (!data.alternatives) return;
  const { sentence, trees } = data.alternatives;
  const titles = trees.map((_, i) => (i ? `Tree ${i}` : "This tree"));
  const row = (title, text) => [title, ...trees.map(text)];
  byId("others").replaceChildren(make("p", { class: "quiet" }, sentence), plainTable("Trees side by side", ["", ...titles], [
    row("Asks about", ({ columns }) => columns.join(", ")),
    row("Cost", ({ cost }, i) => (i ? cost : "")),
    row("Rows in the same group", ({ agreement }, i) => (i ? agreement : "")),
    ...data.groups.map((_, group) => row(chip(group), ({ rules }) => rules[group])),
  ]));
}
