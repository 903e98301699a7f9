// All rules in words, and the tree as SQL, to read and to copy.

function showRules(now) {
  byId("rules").replaceChildren(...data.groups.map((_, group) => {
    const version = data.versions[now.version[group]];
    return make("div", { class: "rules-group" }, make("p", { class: "rules-title" }, chip(group),
      make("span", { class: "quiet small" }, version.same ? `${version.rows}, ${version.percent}` : "no rows")),
    rulesList(version));
  }));
}

function rulesText(now) {
  return data.groups.map((_, group) => groupText(group, now)).join("\n\n") + "\n";
}

function groupText(group, now) {
  const version = data.versions[now.version[group]];
  const title = `${data.groups[group].name}: ${version.rows}${version.same ? `, ${version.percent} of all` : ""}`;
  const rules = version.rules.map(([, phrases], i) => {
    const conditions = phrases.map((phrase) => data.phrases[phrase]).join(" and ") || "any row";
    return `  ${i ? "or " : ""}if ${conditions}`;
  });
  return [title, ...rules].join("\n");
}

// Python gives the conditions; of each cut the smaller side is nested, the other goes on.
function caseOf(now, pieces, node, margin, first = "") {
  let lines = first;
  while (now.inner[node]) {
    const sides = [nodes.left[node], nodes.right[node]];
    const nested = nodes.nested[node];
    const then = caseOf(now, pieces, sides[nested], `${margin}    `);
    lines += `${margin}  WHEN ${pieces.asked[node]} THEN ${then}\n`;
    node = sides[1 - nested];
  }
  const outcome = pieces.outcomes[now.label[node]];
  return lines ? `CASE\n${lines}${margin}  ELSE ${outcome}\n${margin}END` : outcome;
}

function sqlText(now, pieces) {
  const missing = axesAsked(now).map((axis) => pieces.missing[axis]).join(" OR ");
  const first = missing ? `    WHEN ${missing} THEN NULL\n` : "";
  return `SELECT\n  *,\n  ${caseOf(now, pieces, 0, "  ", first)} AS ${pieces.alias}\nFROM ${pieces.table}\n`;
}

function piecesChosen() {
  return data.sql.dialects[Number(byId("dialect").value)];
}

function showSql(now) {
  if (data.sql.dialects.length) byId("sql").textContent = sqlText(now, piecesChosen());
}

function startWords() {
  const { dialects, why, categories } = data.sql;
  byId("dialect").append(...dialects.map((pieces, i) => make("option", { value: i }, pieces.title)));
  byId("dialect").addEventListener("change", () => showSql(treeAt(state.size)));
  byId("copy-rules").addEventListener("click", (event) => copy(rulesText(treeAt(state.size)), event.target));
  byId("copy-sql").addEventListener("click", (event) => copy(byId("sql").textContent, event.target));
  const note = "Categories are compared as text, in the column they come from.";
  byId("sql-note").textContent = why || (categories ? note : "");
  if (!dialects.length) for (const id of ["dialect", "copy-sql", "sql"]) byId(id).hidden = true;
}

onChange((now, changed) => {
  if (!changed.includes("size")) return;
  showRules(now);
  showSql(now);
});
