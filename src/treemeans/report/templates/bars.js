// Histograms: some rows, in colour, before all rows, in grey. Each is drawn by its shares.

// Counts of the bins, added up over leaves of the largest tree.
function binCounts(histogram, places) {
  const sums = histogram.labels.map(() => 0);
  for (const place of places) histogram.counts[place].forEach((count, bin) => { sums[bin] += count; });
  return sums;
}

function sharesOf(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (total > 0 ? count / total : 0));
}

// colour: a CSS colour; mark: where a threshold lies, counted in bins, or null.
function histogramOf(number, places, colour, mark = null) {
  const histogram = data.histograms[number];
  const some = binCounts(histogram, places);
  const all = binCounts(histogram, [...placeOfLeaf.values()]);
  const bins = histogram.labels.map((label, i) => ({ label, some: some[i], all: all[i] }));
  const shares = { some: sharesOf(some), all: sharesOf(all) };
  const most = Math.max(...shares.some, ...shares.all) || 1;
  bins.forEach((bin, i) => {
    bin.someShare = shares.some[i] / most;
    bin.allShare = shares.all[i] / most;
    bin.title = `${bin.label}: ${bin.some} of ${counted(bin.all, "row")}`;
  });
  return histogram.ordered ? standingBars(bins, histogram.ends, colour, mark) : lyingBars(bins, colour);
}

const BAR = { width: 12, height: 52 };

function standingBars(bins, ends, colour, mark) {
  const width = bins.length * BAR.width;
  const bar = (bin, i, share, attributes) => draw("rect", {
    x: i * BAR.width + 1, y: BAR.height * (1 - share), width: BAR.width - 2, height: BAR.height * share, ...attributes,
  });
  const picture = draw("svg", {
    class: "bars", viewBox: `0 0 ${width} ${BAR.height}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  bins.forEach((bin, i) => picture.append(draw("g", {},
    draw("title", {}, bin.title),
    draw("rect", { x: i * BAR.width, y: 0, width: BAR.width, height: BAR.height, class: "bar-ground" }),
    bar(bin, i, bin.allShare, { class: "bar-all" }),
    bar(bin, i, bin.someShare, { class: "bar-some", style: { fill: colour } }),
  )));
  if (mark !== null) {
    const x = mark * BAR.width;
    picture.append(draw("line", { x1: x, x2: x, y1: 0, y2: BAR.height, class: "bar-mark" }));
  }
  return make("div", { class: "standing" }, picture,
    make("div", { class: "bar-ends" }, ...ends.map((end) => make("span", {}, end))));
}

function lyingBars(bins, colour) {
  const length = (share) => ({ width: `${100 * share}%` });
  return make("ul", { class: "lying" }, ...bins.map((bin) => make("li", { title: bin.title },
    make("span", { class: "lying-name" }, bin.label),
    make("span", { class: "lying-bars" },
      make("span", { class: "lying-all", style: length(bin.allShare) }),
      make("span", { class: "lying-some", style: { ...length(bin.someShare), background: colour } })))));
}
