// The list of groups, and what the chosen one is: its rules, and how it differs from the others.

const FEW_RULES = 3;

function showGroups(now) {
  const most = Math.max(...now.version.map((version) => data.versions[version].share)) || 1;
  byId("group-list").replaceChildren(...data.groups.map((_, group) => groupLine(group, now, most)));
}

// Bars are drawn by the share in the largest group.
function groupLine(group, now, most) {
  const version = data.versions[now.version[group]];
  const { name, fill } = data.groups[group];
  const width = `${(100 * version.share) / most}%`;
  const button = make("button", {
    type: "button", class: "group-line", "data-group": group, "aria-pressed": String(state.group === group),
    "aria-label": `${name} ${version.percent}: ${version.rows}`,
    click: () => update({ group: state.group === group ? null : group }),
  },
  chip(group), " ",
  make("span", { class: "share" }, make("span", { class: "share-bar", style: { width, background: fill } })),
  make("span", { class: "share-words" }, version.percent));
  return make("li", {}, button);
}

function showGroup(now) {
  const box = byId("group");
  if (state.group === null) {
    box.replaceChildren(make("p", { class: "quiet" }, "Choose a group, here or in the tree, to see what it is."));
    return;
  }
  const version = data.versions[now.version[state.group]];
  const copyButton = make("button", {
    type: "button", click: () => copy(groupText(state.group, now), copyButton),
  }, "Copy");
  box.replaceChildren(
    make("div", { class: "title-line" }, make("h3", {}, chip(state.group)), copyButton),
    make("p", {}, figuresOf(version)),
    make("h4", {}, "How to recognise it"), rulesList(version),
    ...(version.apart.length ? [make("h4", {}, "How it differs"), apartList(version, now)] : []),
  );
}

function figuresOf(version) {
  if (!version.same) return "No row of the table is in this group.";
  const size = `${version.rows}, ${version.percent} of all.`;
  return `${size} ${version.same} of them are together in the original grouping too.`;
}

function rulesList(version) {
  if (!version.rules.length) return make("p", {}, "No leaf of this tree leads to this group.");
  const several = version.rules.length > 1;
  const items = version.rules.map(([rows, phrases]) => make("li", {}, ...conditionParts(phrases),
    several ? make("span", { class: "quiet small" }, ` (${rows})`) : null));
  const lead = `Any one of these ${items.length} rules is enough.`;
  return make("div", {}, several ? make("p", { class: "quiet small" }, lead) : null,
    make(several ? "ol" : "ul", { class: "rule-list" }, ...firstFew(items, FEW_RULES, "rule")));
}

function conditionParts(phrases) {
  if (!phrases.length) return ["any row"];
  return phrases.flatMap((phrase, i) => [
    ...(i ? [make("span", { class: "and" }, " and ")] : []),
    make("span", { class: "condition" }, data.phrases[phrase]),
  ]);
}

function apartList(version, now) {
  const { fill } = data.groups[state.group];
  const places = now.leaves.filter((leaf) => now.label[leaf] === state.group).flatMap(placesBelow);
  const items = version.apart.map(([title, here, elsewhere, histogram]) => make("li", {},
    make("p", {}, make("b", {}, title)),
    make("p", { class: "small" }, make("span", { class: "dot-here", style: { background: fill } }), `${here} here, `,
      make("span", { class: "dot-all" }), `${elsewhere} elsewhere`),
    histogram >= 0 ? histogramOf(histogram, places, fill) : null));
  const note = data.histograms.length ? "Averages; in the pictures grey is the whole table." : "Averages.";
  return make("div", {}, make("p", { class: "quiet small" }, note), make("ul", { class: "apart-list" }, ...items));
}

// Within the list, which may be long.
function revealLine(line) {
  const list = line.parentElement;
  const top = line.offsetTop - list.scrollTop;
  if (top < 0 || top + line.offsetHeight > list.clientHeight) {
    list.scrollTop = line.offsetTop - list.clientHeight / 2;
  }
}

onChange((now, changed) => {
  if (changed.includes("size")) showGroups(now);
  for (const button of byId("group-list").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.group) === state.group));
  }
  if (!changed.includes("size") && !changed.includes("group")) return;
  showGroup(now);
  if (changed.includes("group") && state.group !== null) {
    openTab("groups");
    revealLine(byId("group-list").children[state.group]);
    const version = data.versions[now.version[state.group]];
    say(`${data.groups[state.group].name}: ${figuresOf(version)}`);
  }
});
