// The panel "What the groups are": one finding for each group, in words.

const FEW_FINDINGS = 12;
const FEW_DIFFERENCES = 2;

function showFindings(tree) {
  const items = data.groups.map((_, group) => make("li", { "data-group": group, style: groupStyle(group) },
    make("p", {}, chip(group), " ", ...findingParts(group, tree))));
  byId("findings").replaceChildren(...firstFew(items, FEW_FINDINGS, "group"));
}

// What is wrong with groups, and what to do; nothing if all is well.
function showWarnings() {
  const items = data.warnings.map(({ groups, what, advice }) => make("li", {},
    make("b", {}, "Careful: "), ...groups.flatMap((group) => [chip(group), " "]),
    `${what}. `, make("span", { class: "quiet" }, `${advice[0].toUpperCase()}${advice.slice(1)}.`)));
  byId("warnings").replaceChildren(...items);
  byId("warnings").hidden = !items.length;
}

function findingParts(group, tree) {
  const description = data.descriptions[tree.description[group]];
  if (!description.agreement) return ["No row of the table is in this group."];
  const apart = description.differences.slice(0, FEW_DIFFERENCES).flatMap(([title, here, elsewhere], i) => [
    i ? " and " : " It differs by ", make("b", {}, title), " ", unbroken(here), " (elsewhere ", unbroken(elsewhere), ")"]);
  return [
    `${description.rows}, ${description.percent} of all.`, ...apart, ...(apart.length ? ["."] : []),
    ...simplestRule(description),
  ];
}

// The rule that holds most rows of the group, and how many.
function simplestRule({ rules, rows: all }) {
  if (!rules.length) return [];
  const [rows, conditions] = rules[0];
  const lead = rules.length > 1 ? ` ${rows} of its ${all}: ` : " All of them: ";
  const more = rules.length > 1 ? [make("span", { class: "quiet" }, ` and ${counted(rules.length - 1, "more rule")}`)] : [];
  return [lead, ...conditionParts(conditions), ...more, "."];
}

onChange((tree, changed) => {
  if (changed.includes("size")) showFindings(tree);
});
