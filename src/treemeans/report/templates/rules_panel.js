// The panel of all rules, in words and as SQL, to read and to copy.

function showRules(tree) {
  byId("rules").replaceChildren(...data.groups.map((_, group) => {
    const description = data.descriptions[tree.description[group]];
    const size = description.agreement ? `${description.rows}, ${description.percent}` : "no rows";
    const title = make("p", { class: "rules-title" }, chip(group), make("span", { class: "quiet small" }, size));
    return make("div", { class: "rules-group" }, title, rulesList(description));
  }));
}

function rulesText(tree) {
  return data.groups.map((_, group) => groupText(group, tree)).join("\n\n") + "\n";
}

function groupText(group, tree) {
  const description = data.descriptions[tree.description[group]];
  const share = description.agreement ? `, ${description.percent} of all` : "";
  const title = `${data.groups[group].name}: ${description.rows}${share}`;
  const rules = description.rules.map(([, conditions], i) => {
    const text = conditions.map((condition) => data.condition_texts[condition]).join(" and ") || "any row";
    return `  ${i ? "or " : ""}if ${text}`;
  });
  return [title, ...rules].join("\n");
}

// Of each split the side with fewer leaves is nested, and the other continues the same CASE: so the
// nesting stays shallow. The conditions are those of the nested sides.
function caseText(tree, parts, node, indent, lines = "") {
  while (tree.inner[node]) {
    const sides = [nodes.left[node], nodes.right[node]];
    const nested = nodes.smaller_side[node];
    const then = caseText(tree, parts, sides[nested], `${indent}    `);
    lines += `${indent}  WHEN ${parts.conditions[node]} THEN ${then}\n`;
    node = sides[1 - nested];
  }
  const outcome = parts.outcomes[tree.label[node]];
  return lines ? `CASE\n${lines}${indent}  ELSE ${outcome}\n${indent}END` : outcome;
}

function sqlText(tree, parts) {
  const refusing = fieldsOf(tree).filter((field) => !data.fields[field].accepts_missing);
  const missing = refusing.map((field) => parts.missing[field]).join(" OR ");
  const first = missing ? `    WHEN ${missing} THEN NULL\n` : "";
  return `SELECT\n  *,\n  ${caseText(tree, parts, 0, "  ", first)} AS ${parts.alias}\nFROM ${parts.table}\n`;
}

function chosenParts() {
  return data.sql.dialects[Number(byId("dialect").value)];
}

function showSql(tree) {
  if (!data.sql.dialects.length) return;
  byId("sql").textContent = sqlText(tree, chosenParts());
  byId("sql-groups").replaceChildren(...data.groups.flatMap((_, group) => [chip(group), " "]));
}

function startRules() {
  const { dialects, unavailable, categories } = data.sql;
  byId("dialect").append(...dialects.map((parts, i) => make("option", { value: i }, parts.title)));
  byId("dialect").addEventListener("change", () => showSql(treeAt(state.size)));
  byId("copy-rules").addEventListener("click", (event) => copy(rulesText(treeAt(state.size)), event.target));
  byId("copy-sql").addEventListener("click", (event) => copy(byId("sql").textContent, event.target));
  const note = "Categories are compared as text, in the column they come from.";
  byId("sql-note").textContent = unavailable || (categories ? note : "");
  if (!dialects.length) for (const id of ["dialect-line", "copy-sql", "sql"]) byId(id).hidden = true;
}

onChange((tree, changed) => {
  if (!changed.includes("size")) return;
  showRules(tree);
  showSql(tree);
});
