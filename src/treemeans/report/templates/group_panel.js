// The panel of the groups: their list, and the rules and differences of the chosen one.

const FEW_RULES = 3;

function showGroups(tree) {
  const most = Math.max(...tree.description.map((description) => data.descriptions[description].share)) || 1;
  byId("group-list").replaceChildren(...data.groups.map((_, group) => groupButton(group, tree, most)));
}

// most: the share of the largest group, whose bar has the full length.
function groupButton(group, tree, most) {
  const description = data.descriptions[tree.description[group]];
  const { name } = data.groups[group];
  const width = `${(100 * description.share) / most}%`;
  const button = make("button", {
    type: "button", class: "group-line", "data-group": group, "aria-pressed": String(state.group === group),
    "aria-label": `${name} ${description.percent}: ${description.rows}`,
    click: () => update({ group: state.group === group ? null : group }),
  },
  chip(group), " ",
  make("span", { class: "share" }, make("span", { class: "share-bar group-colors", style: { ...groupStyle(group), width } })),
  make("span", { class: "share-words" }, description.percent));
  return make("li", {}, button);
}

function showGroup(tree) {
  const box = byId("group");
  if (state.group === null) {
    const hint = "Choose a group, here or in the tree, to see its rules and how it differs.";
    box.replaceChildren(make("p", { class: "quiet" }, hint));
    return;
  }
  const description = data.descriptions[tree.description[state.group]];
  const copyButton = make("button", {
    type: "button", click: () => copy(groupText(state.group, tree), copyButton),
  }, "Copy");
  box.replaceChildren(
    make("div", { class: "title-line" }, make("h3", {}, chip(state.group)), copyButton),
    nameEditor(state.group),
    make("p", {}, sizeText(description)),
    ...profileParts(state.group, tree),
  );
}

function profileParts(group, tree) {
  const description = data.descriptions[tree.description[group]];
  return [
    make("h4", {}, "How to recognise it"), rulesList(description),
    ...(description.too_few ? [make("p", { class: "quiet small" }, tooFew())] : []),
    ...(description.differences.length ? [make("h4", {}, "How it differs"), differenceList(group, tree)] : []),
  ];
}

// On paper nothing can be chosen, so every group's profile is printed.
function showPrintedGroups(tree) {
  byId("printed-groups").replaceChildren(...(state.printing ? data.groups.map((_, group) => make("section", { class: "printed-group" },
    make("h3", {}, chip(group)), make("p", {}, sizeText(data.descriptions[tree.description[group]])),
    ...profileParts(group, tree))) : []));
}

function sizeText(description) {
  if (!description.agreement) return "No row of the table is in this group.";
  const size = `${description.rows}, ${description.percent} of all.`;
  return `${size} ${description.agreement} of them are together in the original grouping too.`;
}

function rulesList(description) {
  if (!description.rules.length) return make("p", {}, "No leaf of this tree leads to this group.");
  const several = description.rules.length > 1;
  const items = description.rules.map(([rows, conditions]) => make("li", {}, ...conditionParts(conditions),
    several ? make("span", { class: "quiet small" }, ` (${rows})`) : null));
  const lead = `Any one of these ${items.length} rules is enough.`;
  return make("div", {}, several ? make("p", { class: "quiet small" }, lead) : null,
    make(several ? "ol" : "ul", { class: "rule-list" }, ...firstFew(items, FEW_RULES, "rule")));
}

function conditionParts(conditions) {
  if (!conditions.length) return ["any row"];
  return conditions.flatMap((condition, i) => [
    ...(i ? [make("span", { class: "and" }, " and ")] : []),
    make("span", { class: "condition" }, data.condition_texts[condition]),
  ]);
}

function differenceList(group, tree) {
  const { fill } = data.groups[group];
  const description = data.descriptions[tree.description[group]];
  const leaves = tree.leaves.filter((leaf) => tree.label[leaf] === group).flatMap(leafNumbersBelow);
  const items = description.differences.map(([title, here, elsewhere, histogram]) => make("li", {},
    make("p", {}, make("b", {}, title)),
    make("p", { class: "small" }, make("span", { class: "dot-group", style: { background: fill } }), `${here} here, `,
      make("span", { class: "dot-all" }), `${elsewhere} elsewhere`),
    histogram >= 0 ? histogramOf(histogram, leaves, fill) : null));
  const note = data.histograms.length ? "Averages; in the pictures grey is the whole table." : "Averages.";
  return make("div", {}, make("p", { class: "quiet small" }, note), make("ul", { class: "difference-list" }, ...items));
}

// Scroll the list, which may be long, until a line is visible.
function scrollToLine(line) {
  const list = line.parentElement;
  const top = line.offsetTop - list.scrollTop;
  if (top < 0 || top + line.offsetHeight > list.clientHeight) {
    list.scrollTop = line.offsetTop - list.clientHeight / 2;
  }
}

onChange((tree, changed) => {
  if (changed.includes("size")) showGroups(tree);
  for (const button of byId("group-list").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.group) === state.group));
  }
  if (!changed.includes("size") && !changed.includes("group")) return;
  showGroup(tree);
  if (changed.includes("group") && state.group !== null) {
    openTab("groups");
    scrollToLine(byId("group-list").children[state.group]);
    const description = data.descriptions[tree.description[state.group]];
    announce(`${data.groups[state.group].name}: ${sizeText(description)}`);
  }
});
