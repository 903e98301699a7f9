// Puts the page together.

function openTab(name) {
  for (const each of ["groups", "row"]) {
    const open = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(open));
    byId(`tab-${each}`).tabIndex = open ? 0 : -1;
    byId(`panel-${each}`).hidden = !open;
  }
}

function startTabs() {
  for (const [name, other] of [["groups", "row"], ["row", "groups"]]) {
    byId(`tab-${name}`).addEventListener("click", () => openTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
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

// Widths change when the window does, and on paper.
function startLayout() {
  const again = () => { showTree(treeAt(state.size)); showCurve(treeAt(state.size)); };
  let width = treeWindow.clientWidth;
  new ResizeObserver(() => {
    if (treeWindow.clientWidth === width) return;
    width = treeWindow.clientWidth;
    again();
  }).observe(treeWindow);
  window.addEventListener("beforeprint", () => { state.paper = true; again(); });
  window.addEventListener("afterprint", () => { state.paper = false; again(); });
  byId("print").addEventListener("click", () => window.print());
}

byId("lead").textContent = data.lead;
byId("made").textContent = `Made with ${data.made}.`;
startTabs();
startTheme();
startSlider();
startRow();
startWords();
update({ size: state.size, group: null, row: null });
startLayout();
