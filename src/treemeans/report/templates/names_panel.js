// Names that a reader gives to groups, and the file of them that the commands read with --names.

const LONGEST_NAME = 200;
const newNames = new Map(); // by group

function nameEditor(group) {
  const input = make("input", {
    type: "text", id: "new-name", maxlength: LONGEST_NAME, value: data.groups[group].plain, autocomplete: "off",
  });
  const note = make("p", { class: "quiet small", role: "status" }, newNames.size ? savedNamesHint() : "");
  const rename = (event) => {
    event.preventDefault();
    const problem = renameGroup(group, input.value);
    if (problem) note.textContent = problem;
    else byId("new-name").focus(); // the panel was drawn again
  };
  return make("details", { class: "name-editor", open: newNames.size > 0 },
    make("summary", {}, "Rename this group"),
    make("form", { class: "name-form", submit: rename },
      make("label", { for: "new-name" }, "Name"), input, make("button", { type: "submit" }, "Rename"),
      make("button", { type: "button", id: "save-names", click: saveNames, disabled: newNames.size === 0 }, "Save the names")),
    note);
}

// Give a group a name and draw the page again; or say what is wrong with it.
function renameGroup(group, text) {
  const name = text.trim().replace(/\s+/g, " ");
  if (!name) return "A name needs at least one letter.";
  if (data.groups.some((other, i) => i !== group && [other.name, other.plain].includes(name))) return "Another group has this name.";
  newNames.set(group, name);
  Object.assign(data.groups[group], { name, plain: name });
  update({ size: state.size, group, row: state.row });
  return "";
}

function savedNamesHint() {
  return "Save the names as a file, and pass it to any command: treemeans report model.json --names names.json";
}

function saveNames() {
  const names = Object.fromEntries([...newNames].sort(([one], [two]) => one - two));
  const content = `${JSON.stringify({ cluster_names: names }, null, 1)}\n`;
  const url = URL.createObjectURL(new Blob([content], { type: "application/json" }));
  make("a", { href: url, download: "names.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
