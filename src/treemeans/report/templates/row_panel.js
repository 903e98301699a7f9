// The panel "Where would a row go?": a form for the columns that the tree splits, and the answer.

const FEW_CHANGES = 5;
let typed = data.typical_row.slice(); // a value for each field, kept from size to size
const invalid = new Set(); // numbers of fields without a valid value

function startRow() {
  byId("row-form").addEventListener("submit", (event) => event.preventDefault());
}

function showForm(tree) {
  const fields = fieldsOf(tree);
  byId("row-form").replaceChildren(
    ...(data.example_rows ? [rowPicker(tree)] : []),
    make("p", { class: "quiet small" }, fields.length
      ? "These are the only columns that this tree uses. They start from typical values: change them and see."
      : "This tree has no questions: every row goes to the same group."),
    make("div", { class: "fields" }, ...fields.map(inputOf)),
    make("button", {
      type: "button", id: "clear-row", hidden: state.row === null, click: clearRow,
    }, "Start again"));
}

function clearRow() {
  typed = data.typical_row.slice();
  invalid.clear();
  update({ row: typed.slice() });
  showForm(treeAt(state.size));
}

// Nobody has typed anything yet: where a row of typical values goes.
function answerAtOnce() {
  update({ row: typed.slice() });
}

function rowPicker(tree) {
  const byGroup = data.groups.map(() => []);
  data.example_rows.values.forEach((row, i) => byGroup[tree.label[leafOf(tree, row)]].push(i));
  const select = make("select", { id: "pick", change: () => pick(select.value) },
    make("option", { value: "" }, "none: type the values below"),
    ...byGroup.map((rows, group) => (rows.length ? make("optgroup", { label: data.groups[group].name },
      ...rows.map((i) => make("option", { value: i }, data.example_rows.names[i]))) : null)));
  const isChosen = (row) => state.row !== null && row.every((x, field) => x === state.row[field]);
  const same = data.example_rows.values.findIndex(isChosen);
  select.value = same < 0 ? "" : same;
  const title = `Start from one of ${counted(data.example_rows.names.length, "row")} of the table`;
  return make("label", { class: "field wide" }, make("span", {}, title), select);
}

function pick(value) {
  if (value === "") return;
  typed = data.example_rows.values[Number(value)].slice();
  invalid.clear();
  update({ row: typed.slice() });
  fillInputs();
}

function inputOf(number) {
  const field = data.fields[number];
  const input = field.kind === "category" ? optionInput(field) : field.kind === "flag"
    ? make("input", { type: "checkbox" }) : make("input", inputType(field));
  input.dataset.field = number;
  input.addEventListener("input", () => readInput(input));
  showValue(input, field, typed[number]);
  const name = make("span", { class: "field-name" }, field.unit ? `${field.name} (${field.unit})` : field.name);
  const slider = field.range ? [sliderOf(number, input)] : [];
  const parts = field.kind === "flag" ? [input, name] : [name, input, ...slider];
  const width = { flag: " flag", time: " long" }[field.kind] ?? "";
  return make("label", { class: `field${width}` }, ...parts);
}

// A slider for the same value, which moves with what is typed. The number is what is read.
function sliderOf(number, input) {
  const { range: [min, max, step], name } = data.fields[number];
  const slider = make("input", {
    type: "range", min, max, step, tabindex: -1, "aria-label": `${name}, slider`, "data-slider": number,
    input: (event) => {
      event.stopPropagation();
      showValue(input, data.fields[number], Number(slider.value));
      readInput(input);
    },
  });
  slider.value = typed[number] ?? min;
  return slider;
}

function optionInput(field) {
  return make("select", {},
    ...field.options.map((name, i) => make("option", { value: i }, name)),
    ...(field.accepts_missing ? [make("option", { value: "" }, "unknown")] : []));
}

function inputType(field) {
  if (field.kind === "date") return { type: "date" };
  if (field.kind === "time") return { type: "datetime-local", step: "0.001" };
  const step = field.kind === "integer" ? "1" : "any";
  return { type: "number", step, placeholder: Number.isNaN(missingValue(field)) ? null : "unknown" };
}

function showValue(input, field, x) {
  if (field.kind === "flag") input.checked = x === 0;
  else if (x === null) input.value = "";
  else if (field.per_millisecond) input.value = dateText(x, field).slice(0, field.kind === "date" ? 10 : 23);
  else input.value = String(x);
}

// The text of a date that is counted in days, hours, ... since 1970.
function dateText(x, field) {
  const [times, per] = field.per_millisecond;
  const when = new Date(Math.round((x * per) / times));
  return Number.isNaN(when.getTime()) ? "" : when.toISOString();
}

function valueOf(input, field) {
  if (field.kind === "flag") return input.checked ? 0 : 1;
  if (field.kind === "category") return input.value === "" ? null : Number(input.value);
  if (!input.value && input.validity.valid) return missingValue(field);
  if (!input.value || !input.validity.valid) return NaN;
  if (!field.per_millisecond) return Number(input.value);
  const [times, per] = field.per_millisecond;
  return (Date.parse(field.kind === "date" ? input.value : `${input.value}Z`) * times) / per;
}

// An empty field is a missing value: the number that stands in for it, or null if the tree takes it.
function missingValue(field) {
  return field.missing ?? (field.accepts_missing ? null : NaN);
}

function readInput(input) {
  const number = Number(input.dataset.field);
  const x = valueOf(input, data.fields[number]);
  const bad = x !== null && !Number.isFinite(x);
  input.setAttribute("aria-invalid", String(bad));
  if (bad) invalid.add(number);
  else { invalid.delete(number); typed[number] = x; }
  if (byId("pick")) byId("pick").value = "";
  showSliders();
  update({ row: typed.slice() });
}

function showSliders() {
  for (const slider of byId("row-form").querySelectorAll("[data-slider]")) {
    if (slider !== document.activeElement) slider.value = typed[slider.dataset.slider] ?? slider.min;
  }
}

function fillInputs() {
  showSliders();
  for (const input of byId("row-form").querySelectorAll("[data-field]")) {
    showValue(input, data.fields[input.dataset.field], typed[input.dataset.field]);
    input.setAttribute("aria-invalid", "false");
  }
}

function showAnswer(tree) {
  const box = byId("answer");
  if (state.row === null) { box.replaceChildren(); return; }
  const bad = [...invalid].filter((field) => fieldsOf(tree).includes(field)).map((field) => data.fields[field]);
  if (bad.length) {
    const needs = bad.map((field) => `${field.name} needs ${needed(field)}.`).join(" ");
    box.replaceChildren(make("p", { class: "error" }, needs));
    announce(needs);
    return;
  }
  const leaf = leafOf(tree, state.row);
  const group = tree.label[leaf];
  const because = conditionsOf(leaf).map((condition) => condition.text);
  box.replaceChildren(
    make("h3", { "data-leaf": leaf, "data-group": group }, "It goes to ", chip(group)),
    ...(because.length ? [make("p", { class: "because" }, "because ", ...because.flatMap((text, i) => [
      i ? make("span", { class: "and" }, " and ") : null, make("span", { class: "condition" }, text)]))] : []),
    ...changeParts(tree));
  announce(`The row goes to ${data.groups[group].name}${because.length ? `, because ${because.join(" and ")}` : ""}.`);
}

function needed(field) {
  if (field.per_millisecond) return "a date";
  return field.kind === "integer" ? "a whole number" : "a number";
}

function changeParts(tree) {
  const ways = easiestChanges(tree, state.row);
  if (!ways.length) return [make("p", { class: "quiet" }, "No change of these values leads to another group.")];
  const items = ways.map(({ group, leaf, texts }) => make("li", { "data-group": group, "data-leaf": leaf },
    chip(group), make("ul", {}, ...texts.map((change) => make("li", {}, change)))));
  return [
    make("h4", {}, "What would have to change to be in"),
    make("ul", { class: "ways" }, ...firstFew(items, FEW_CHANGES, "group")),
  ];
}

// ---- What would have to change for a row to be in another group: fewest fields, then least distance

const NO_CHANGE = { distance: 0, text: "" };
const FARTHEST = 1e150; // the limit that Python has too, so that sums stay finite

// The change of a value that a condition asks for: none, one in words, or null if it cannot be met.
function changeFor(condition, x) {
  if (x === null) return condition.missing ? NO_CHANGE : null; // a missing value has no distance to others
  const field = data.fields[condition.field];
  if (condition.options) {
    if (condition.options.includes(x)) return NO_CHANGE;
    return nearest(condition.options.map((option) => (
      { distance: field.distances[x] + field.distances[option], text: field.changes[option] })));
  }
  const tooLow = condition.above !== null && x <= condition.above;
  const tooHigh = condition.upto !== null && x > condition.upto;
  if (!tooLow && !tooHigh) return NO_CHANGE;
  const nearestValue = tooLow ? condition.raise : condition.lower;
  if (nearestValue === null) return null;
  const distance = Math.min(Math.abs(nearestValue[0] - x) / field.scale, FARTHEST);
  return { distance: distance ** 2, text: nearestValue[1] };
}

// All changes that bring a row to a leaf; null if none do.
function changesTo(leaf, row) {
  const texts = [];
  let distance = 0;
  for (const condition of conditionsOf(leaf)) {
    const change = changeFor(condition, row[condition.field]);
    if (change === null) return null;
    distance += change.distance;
    if (change.text) texts.push(change.text);
  }
  return { leaf, distance, texts };
}

// The easiest changes to each other group, the nearest group first.
function easiestChanges(tree, row) {
  const own = tree.label[leafOf(tree, row)];
  const leaves = tree.leaves.slice().sort((one, other) => one - other);
  const ways = [];
  for (const group of data.groups.keys()) {
    if (group === own) continue;
    const able = leaves.filter((leaf) => tree.label[leaf] === group)
      .map((leaf) => changesTo(leaf, row)).filter((way) => way !== null);
    const fewest = Math.min(...able.map((way) => way.texts.length));
    const way = nearest(able.filter((each) => each.texts.length === fewest));
    if (way !== null) ways.push({ group, ...way });
  }
  return ways.sort((one, other) => one.distance - other.distance);
}

// The first of those at the least distance.
function nearest(changes) {
  let best = null;
  for (const change of changes) if (best === null || change.distance < best.distance) best = change;
  return best;
}

onChange((tree, changed) => {
  if (changed.includes("size")) showForm(tree);
  if (byId("clear-row")) byId("clear-row").hidden = state.row === null;
  if (changed.includes("row") || changed.includes("size")) showAnswer(tree);
});
