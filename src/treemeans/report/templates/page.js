// Starts the panels, and what belongs to the page as a whole: tabs, theme, printing.

const TABS = [["groups", "row"], ["words", "sql", "others"]];

function openTab(name) {
  for (const each of TABS.find((list) => list.includes(name))) {
    const open = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(open));
    byId(`tab-${each}`).tabIndex = open ? 0 : -1;
    byId(`panel-${each}`).hidden = !open;
  }
  if (name === "row" && state.row === null) answerAtOnce();
}

function startTabs() {
  for (const [list, name] of TABS.flatMap((names) => names.map((each) => [names, each]))) {
    byId(`tab-${name}`).addEventListener("click", () => openTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const shown = list.filter((each) => !byId(`tab-${each}`).hidden);
      const other = shown[(shown.indexOf(name) + step + shown.length) % shown.length];
      openTab(other);
      byId(`tab-${other}`).focus();
    });
  }
}

function startTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => byId("theme").setAttribute("aria-pressed", String(isDark()));
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  dark.addEventListener("change", show);
  show();
}

// Widths change with the window, and when the page is printed.
function startLayout() {
  const redraw = () => {
    const tree = treeAt(state.size);
    showTree(tree);
    showCurve(tree);
    showPrintedGroups(tree);
  };
  let width = treeWindow.clientWidth;
  new ResizeObserver(() => {
    if (treeWindow.clientWidth === width) return;
    width = treeWindow.clientWidth;
    redraw();
  }).observe(treeWindow);
  window.addEventListener("beforeprint", () => { state.printing = true; redraw(); });
  window.addEventListener("afterprint", () => { state.printing = false; redraw(); });
  byId("print").addEventListener("click", () => window.print());
}

byId("subtitle").textContent = data.subtitle;
const nRows = data.example_rows ? data.example_rows.names.length : 0;
byId("contains").textContent = `This report contains ${nRows ? counted(nRows, "row") : "no rows"} of the table.`;
byId("version").textContent = `Made with ${data.version}.`;
showWarnings();
showTrust();
showAlternatives();
startTabs();
startTheme();
startSlider();
startRow();
startRules();
startProfiles();
startZoomAndPan();
update({ size: state.size, group: null, row: null });
startLayout();
