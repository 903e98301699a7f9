// Where would a row go? Fields for what the tree asks, and the answer in words.

const FEW_WAYS = 5;
let typed = data.middle.slice(); // a value for each axis; kept from size to size
const wrong = new Set(); // axes whose fields hold no value

function startRow() {
  byId("row-form").addEventListener("submit", (event) => event.preventDefault());
}

function showForm(now) {
  const axes = axesAsked(now);
  byId("row-form").replaceChildren(
    ...(data.rows ? [rowPicker(now)] : []),
    make("p", { class: "quiet small" }, axes.length
      ? "These are the only columns that this tree asks about."
      : "This tree asks nothing: every row goes to the same group."),
    make("div", { class: "fields" }, ...axes.map(field)),
    make("button", {
      type: "button", id: "clear-row", hidden: state.row === null, click: clearRow,
    }, "Forget this row"));
}

function clearRow() {
  typed = data.middle.slice();
  wrong.clear();
  update({ row: null });
  showForm(treeAt(state.size));
}

function rowPicker(now) {
  const byGroup = data.groups.map(() => []);
  data.rows.values.forEach((row, i) => byGroup[now.label[leafOf(now, row)]].push(i));
  const select = make("select", { id: "pick", change: () => pick(select.value) },
    make("option", { value: "" }, "none: type the values below"),
    ...byGroup.map((rows, group) => (rows.length ? make("optgroup", { label: data.groups[group].name },
      ...rows.map((i) => make("option", { value: i }, data.rows.names[i]))) : null)));
  const same = data.rows.values.findIndex((row) => state.row !== null && row.every((x, axis) => x === state.row[axis]));
  select.value = same < 0 ? "" : same;
  return make("label", { class: "field wide" }, make("span", {}, "Start from a row of the table"), select);
}

function pick(value) {
  if (value === "") return;
  typed = data.rows.values[Number(value)].slice();
  wrong.clear();
  update({ row: typed.slice() });
  fillFields();
}

function field(number) {
  const axis = data.axes[number];
  const input = axis.kind === "category" ? choiceField(axis) : axis.kind === "flag"
    ? make("input", { type: "checkbox" }) : make("input", fieldType(axis));
  input.dataset.axis = number;
  input.addEventListener("input", () => readField(input));
  putValue(input, axis, typed[number]);
  const name = make("span", { class: "field-name" }, axis.unit ? `${axis.name} (${axis.unit})` : axis.name);
  const parts = axis.kind === "flag" ? [input, name] : [name, input];
  const width = { flag: " flag", time: " long" }[axis.kind] ?? "";
  return make("label", { class: `field${width}` }, ...parts);
}

function choiceField(axis) {
  return make("select", {}, ...axis.states.map((name, i) => make("option", { value: i }, name)));
}

function fieldType(axis) {
  if (axis.kind === "date") return { type: "date" };
  if (axis.kind === "time") return { type: "datetime-local", step: "0.001" };
  const step = axis.kind === "integer" ? "1" : "any";
  return { type: "number", step, placeholder: axis.missing === undefined ? null : "unknown" };
}

function putValue(input, axis, x) {
  if (axis.kind === "flag") input.checked = x === 0;
  else if (axis.clock) input.value = moment(x, axis).slice(0, axis.kind === "date" ? 10 : 23);
  else input.value = String(x);
}

// Counts of days, hours, ... since 1970 to a date, and back.
function moment(x, axis) {
  const [times, per] = axis.clock;
  const when = new Date(Math.round((x * per) / times));
  return Number.isNaN(when.getTime()) ? "" : when.toISOString();
}

function valueIn(input, axis) {
  if (axis.kind === "flag") return input.checked ? 0 : 1;
  if (axis.kind === "category") return Number(input.value);
  if (!input.value && input.validity.valid) return axis.missing ?? NaN; // what stands in for none
  if (!input.value || !input.validity.valid) return NaN;
  if (!axis.clock) return Number(input.value);
  const [times, per] = axis.clock;
  return (Date.parse(axis.kind === "date" ? input.value : `${input.value}Z`) * times) / per;
}

function readField(input) {
  const number = Number(input.dataset.axis);
  const x = valueIn(input, data.axes[number]);
  const bad = !Number.isFinite(x);
  input.setAttribute("aria-invalid", String(bad));
  if (bad) wrong.add(number);
  else { wrong.delete(number); typed[number] = x; }
  if (byId("pick")) byId("pick").value = "";
  update({ row: typed.slice() });
}

function fillFields() {
  for (const input of byId("row-form").querySelectorAll("[data-axis]")) {
    putValue(input, data.axes[input.dataset.axis], typed[input.dataset.axis]);
    input.setAttribute("aria-invalid", "false");
  }
}

function showAnswer(now) {
  const box = byId("answer");
  if (state.row === null) { box.replaceChildren(); return; }
  const bad = [...wrong].filter((axis) => axesAsked(now).includes(axis)).map((axis) => data.axes[axis]);
  if (bad.length) {
    const needs = bad.map((axis) => `${axis.name} needs ${needed(axis)}.`).join(" ");
    box.replaceChildren(make("p", { class: "wrong" }, needs));
    say(needs);
    return;
  }
  const leaf = leafOf(now, state.row);
  const group = now.label[leaf];
  const because = goalsOf(leaf).map((goal) => goal.words);
  box.replaceChildren(
    make("h3", { "data-leaf": leaf, "data-group": group }, "It goes to ", chip(group)),
    ...(because.length ? [make("p", { class: "because" }, "because ", ...because.flatMap((words, i) => [
      i ? make("span", { class: "and" }, " and ") : null, make("span", { class: "condition" }, words)]))] : []),
    ...wayParts(now));
  say(`The row goes to ${data.groups[group].name}${because.length ? `, because ${because.join(" and ")}` : ""}.`);
}

function needed(axis) {
  if (axis.clock) return "a date";
  return axis.kind === "integer" ? "a whole number" : "a number";
}

function wayParts(now) {
  const ways = waysOut(now, state.row);
  if (!ways.length) return [make("p", { class: "quiet" }, "It cannot come to another group.")];
  const items = ways.map(({ group, leaf, words }) => make("li", { "data-group": group, "data-leaf": leaf },
    chip(group), make("ul", {}, ...words.map((change) => make("li", {}, change)))));
  return [
    make("h4", {}, "What would have to change to be in"),
    make("ul", { class: "ways" }, ...firstFew(items, FEW_WAYS, "group")),
  ];
}

onChange((now, changed) => {
  if (changed.includes("size")) showForm(now);
  if (byId("clear-row")) byId("clear-row").hidden = state.row === null;
  if (changed.includes("row") || changed.includes("size")) showAnswer(now);
});
