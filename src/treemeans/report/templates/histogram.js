// Histograms: the shares of some rows, in color, in front of those of all rows, in grey.

// Counts of the bins, summed over leaves of the largest tree, which are given by their numbers.
function binCounts(histogram, leaves) {
  const sums = histogram.labels.map(() => 0);
  for (const leaf of leaves) histogram.counts[leaf].forEach((count, bin) => { sums[bin] += count; });
  return sums;
}

const allCounts = new Map(); // of the whole table, by histogram

function allBinCounts(histogram) {
  if (!allCounts.has(histogram)) allCounts.set(histogram, binCounts(histogram, [...leafNumber.values()]));
  return allCounts.get(histogram);
}

function sharesOf(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (total > 0 ? count / total : 0));
}

// leaves: numbers of the leaves of some rows; threshold: its position counted in bins, or null.
function histogramOf(number, leaves, color, threshold = null) {
  const histogram = data.histograms[number];
  const some = binCounts(histogram, leaves);
  const all = allBinCounts(histogram);
  const bins = histogram.labels.map((label, i) => ({ label, some: some[i], all: all[i] }));
  const shares = { some: sharesOf(some), all: sharesOf(all) };
  const most = Math.max(...shares.some, ...shares.all) || 1;
  bins.forEach((bin, i) => {
    bin.someShare = shares.some[i] / most;
    bin.allShare = shares.all[i] / most;
    bin.title = `${bin.label}: ${inWords(bin.some)} of ${counted(bin.all, "row")}`;
  });
  return histogram.ordered ? verticalBars(bins, histogram.ends, color, threshold) : horizontalBars(bins, color);
}

const BAR = { width: 12, height: 52 };

// Bars so small that they fit into a cell of a table: a group in its colour, the whole table behind it.
function smallBars(number, leaves) {
  const histogram = data.histograms[number];
  const some = sharesOf(binCounts(histogram, leaves));
  const all = sharesOf(allBinCounts(histogram));
  const most = Math.max(...some, ...all) || 1;
  // One path for all bars: a table of fifty groups has thousands of them.
  const bars = (shares) => shares.map((share, i) => (share > 0
    ? `M${i * BAR.width + 1},${BAR.height}v${((-BAR.height * share) / most).toFixed(1)}h${BAR.width - 2}V${BAR.height}z` : "")).join("");
  return draw("svg", {
    class: "bars small-bars", viewBox: `0 0 ${some.length * BAR.width} ${BAR.height}`,
    preserveAspectRatio: "none", "aria-hidden": "true",
  }, draw("path", { class: "bar-all", d: bars(all) }), draw("path", { class: "bar-group", d: bars(some) }));
}

// The rows of a split by bin and group, with the threshold: which groups the cut separates.
// parts: pairs of a group and the numbers of its leaves below the split.
function stackedBars(number, parts, threshold) {
  const histogram = data.histograms[number];
  const counts = parts.map(([group, leaves]) => [group, binCounts(histogram, leaves)]);
  const totals = histogram.labels.map((_, bin) => counts.reduce((sum, [, bins]) => sum + bins[bin], 0));
  const most = Math.max(...totals) || 1;
  const titles = histogram.labels.map((label, bin) => {
    const shares = counts.filter(([, bins]) => bins[bin]).map(([group, bins]) => `${data.groups[group].name}: ${inWords(bins[bin])}`);
    return [`${label}: ${counted(totals[bin], "row")}`, ...shares].join("\n");
  });
  if (!histogram.ordered) return stackedLines(histogram.labels, counts, totals, most, titles);
  const picture = draw("svg", {
    class: "bars", viewBox: `0 0 ${totals.length * BAR.width} ${BAR.height}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  totals.forEach((_, bin) => {
    let below = 0;
    const pieces = counts.map(([group, bins]) => {
      const height = (BAR.height * bins[bin]) / most;
      below += height;
      return draw("rect", {
        class: "bar-group", style: groupStyle(group), x: bin * BAR.width + 1, width: BAR.width - 2, y: BAR.height - below, height,
      });
    });
    picture.append(draw("g", {}, draw("title", {}, titles[bin]), ...pieces));
  });
  if (threshold !== null) {
    const x = threshold * BAR.width;
    picture.append(draw("line", { x1: x, x2: x, y1: 0, y2: BAR.height, class: "bar-mark" }));
  }
  return make("div", { class: "vbars" }, picture,
    make("div", { class: "bar-ends" }, ...histogram.ends.map((end) => make("span", {}, end))));
}

function stackedLines(labels, counts, totals, most, titles) {
  return make("ul", { class: "hbar" }, ...labels.map((label, bin) => make("li", { title: titles[bin] },
    make("span", { class: "hbar-name" }, label),
    make("span", { class: "hbar-stack" }, ...counts.filter(([, bins]) => bins[bin]).map(([group, bins]) => make("span", {
      class: "hbar-some group-colors", style: { ...groupStyle(group), width: `${(100 * bins[bin]) / most}%` },
    }))))));
}

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
