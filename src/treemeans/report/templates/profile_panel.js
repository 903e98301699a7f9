// The panel "The groups side by side": a table of means with small histograms, to sort and to download.

const HEAD = [
  { name: "Group", text: (group) => data.groups[group].name, key: (group) => group },
  { name: "Rows", text: (_, about) => about.rows.replace(/ rows?$/, ""), key: (_, about) => about.share },
  { name: "Share", text: (_, about) => about.percent, key: (_, about) => about.share },
  { name: "As in the original", text: (_, about) => about.agreement, key: (_, about) => parseFloat(about.agreement) || 0 },
];
const COLUMNS = [...HEAD, ...data.profiles.map(({ name, histogram }, i) => ({
  name, histogram,
  text: (_, about) => about.profile[i]?.[0] ?? "",
  key: (_, about) => about.profile[i]?.[1] ?? about.profile[i]?.[0] ?? null,
}))];
let sortedBy = { column: 0, up: true };

function descriptionOf(group, tree) {
  return data.descriptions[tree.description[group]];
}

function sortedGroups(tree) {
  const { key } = COLUMNS[sortedBy.column];
  const keys = data.groups.map((_, group) => key(group, descriptionOf(group, tree)));
  const order = [...data.groups.keys()].sort((one, other) => compare(keys[one], keys[other]) || one - other);
  return sortedBy.up ? order : order.reverse();
}

// Numbers by size, texts by the alphabet, what is missing last.
function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  return typeof one === "string" ? one.localeCompare(other) : one - other;
}

function showProfiles(tree) {
  byId("profiles").replaceChildren(
    make("thead", {}, make("tr", {}, ...COLUMNS.map(headCell))),
    make("tbody", {}, ...sortedGroups(tree).map((group) => profileRow(group, tree))));
}

function headCell({ name }, i) {
  const sorted = i === sortedBy.column;
  const direction = sorted ? (sortedBy.up ? "ascending" : "descending") : "none";
  const sort = () => {
    sortedBy = { column: i, up: sorted ? !sortedBy.up : i === 0 };
    showProfiles(treeAt(state.size));
    byId("profiles").querySelectorAll("thead button")[i].focus();
    announce(`Sorted by ${name}, ${sortedBy.up ? "ascending" : "descending"}.`);
  };
  return make("th", { scope: "col", "aria-sort": direction },
    make("button", { type: "button", click: sort, title: `Sort by ${name}` }, name,
      make("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (sortedBy.up ? "\u2191" : "\u2193") : "\u2195")));
}

function profileRow(group, tree) {
  const about = descriptionOf(group, tree);
  const leaves = tree.leaves.filter((leaf) => tree.label[leaf] === group).flatMap(leafNumbersBelow);
  const cells = COLUMNS.slice(1).map(({ text, histogram }) => {
    const drawn = histogram >= 0 && !about.too_few && about.agreement;
    return make("td", {}, make("span", {}, text(group, about)), drawn ? smallBars(histogram, leaves) : null);
  });
  return make("tr", { "data-group": group, style: groupStyle(group) }, make("th", { scope: "row" }, chip(group)), ...cells);
}

// ---- CSV

// A cell in quotation marks where it needs them; an apostrophe keeps spreadsheets from running it.
function csvCell(text) {
  const number = /^[+-]?[\d.,]+%?$/.test(text.replace(/\s/g, ""));
  const safe = /^[=+\-@\t\r]./.test(text) && !number ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function profilesCsv(tree) {
  const rows = sortedGroups(tree).map((group) => COLUMNS.map(({ text }) => text(group, descriptionOf(group, tree))));
  return [COLUMNS.map(({ name }) => name), ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

function startProfiles() {
  byId("download").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([profilesCsv(treeAt(state.size))], { type: "text/csv" }));
    make("a", { href: url, download: "groups.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  byId("profiles-note").textContent = data.histograms.length
    ? "Averages, and how the values are spread: the group in colour, the whole table in grey." : "Averages.";
}

onChange((tree, changed) => {
  if (changed.includes("size")) showProfiles(tree);
});
