// Histograms: the shares of some rows, in color, in front of those of all rows, in grey.

// Counts of the bins, summed over leaves of the largest tree, which are given by their numbers.
function binCounts(histogram, leaves) {
  const sums = histogram.labels.map(() => 0);
  for (const leaf of leaves) histogram.counts[leaf].forEach((count, bin) => { sums[bin] += count; });
  return sums;
}

function sharesOf(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (total > 0 ? count / total : 0));
}

// leaves: numbers of the leaves of some rows; threshold: its position counted in bins, or null.
function histogramOf(number, leaves, color, threshold = null) {
  const histogram = data.histograms[number];
  const some = binCounts(histogram, leaves);
  const all = binCounts(histogram, [...leafNumber.values()]);
  const bins = histogram.labels.map((label, i) => ({ label, some: some[i], all: all[i] }));
  const shares = { some: sharesOf(some), all: sharesOf(all) };
  const most = Math.max(...shares.some, ...shares.all) || 1;
  bins.forEach((bin, i) => {
    bin.someShare = shares.some[i] / most;
    bin.allShare = shares.all[i] / most;
    bin.title = `${bin.label}: ${bin.some} of ${counted(bin.all, "row")}`;
  });
  return histogram.ordered ? verticalBars(bins, histogram.ends, color, threshold) : horizontalBars(bins, color);
}

const BAR = { width: 12, height: 52 };

function verticalBars(bins, ends, color, threshold) {
  const width = bins.length * BAR.width;
  const bar = (bin, i, share, attributes) => draw("rect", {
    x: i * BAR.width + 1, y: BAR.height * (1 - share), width: BAR.width - 2, height: BAR.height * share, ...attributes,
  });
  const picture = draw("svg", {
    class: "bars", viewBox: `0 0 ${width} ${BAR.height}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  bins.forEach((bin, i) => picture.append(draw("g", {},
    draw("title", {}, bin.title),
    draw("rect", { x: i * BAR.width, y: 0, width: BAR.width, height: BAR.height, class: "bar-hover" }),
    bar(bin, i, bin.allShare, { class: "bar-all" }),
    bar(bin, i, bin.someShare, { class: "bar-some", style: { fill: color } }),
  )));
  if (threshold !== null) {
    const x = threshold * BAR.width;
    picture.append(draw("line", { x1: x, x2: x, y1: 0, y2: BAR.height, class: "bar-mark" }));
  }
  return make("div", { class: "vbars" }, picture,
    make("div", { class: "bar-ends" }, ...ends.map((end) => make("span", {}, end))));
}

function horizontalBars(bins, color) {
  const length = (share) => ({ width: `${100 * share}%` });
  return make("ul", { class: "hbar" }, ...bins.map((bin) => make("li", { title: bin.title },
    make("span", { class: "hbar-name" }, bin.label),
    make("span", { class: "hbar-bars" },
      make("span", { class: "hbar-all", style: length(bin.allShare) }),
      make("span", { class: "hbar-some", style: { ...length(bin.someShare), background: color } })))));
}
