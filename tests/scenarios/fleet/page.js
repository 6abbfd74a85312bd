// What a reader finds on the page of `whyoom-fleet report --html`, asked in the browser.
(() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const text = (element) => element?.textContent.trim() ?? null;
  const tables = {};
  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows];
    tables[text(table.caption.querySelector(".name") ?? table.caption)] = rows.map((row) =>
      [...row.cells].map((cell) => text(cell.querySelector(".name") ?? cell)),
    );
  }

  // Contrast as WCAG 2 has it.
  const rgb = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((rgb(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  let compared = 0;
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const element = nodes.currentNode.parentElement;
    if (!nodes.currentNode.data.trim() || element.tagName === "title") continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(element.tagName === "text" ? style.fill : style.color), light(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    compared += 1;
    if (contrast < 4.5) faint.push(`${element.tagName} ${element.getAttribute("class")} ${contrast.toFixed(2)}`);
  }

  // Labels of the chart that are on each other, or outside the window.
  const labels = [...document.querySelectorAll(".chart text")].map((label) => ({ name: text(label), box: label.getBoundingClientRect() }));
  const seen = labels.filter(({ box }) => box.width > 0);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const overlaps = seen.flatMap((a, index) => seen.slice(index + 1).filter((b) => meet(a.box, b.box)).map((b) => `${a.name} ${b.name}`));
  const outside = seen.filter(({ box }) => box.left < 0 || box.right > innerWidth).map(({ name }) => name);

  return {
    heading: text(document.querySelector("h1")),
    hours: text(document.querySelector("#gpu-hours")),
    repeating: text(document.querySelector("#repeating")),
    dirty: text(document.querySelector("#dirty")),
    tables,
    columns: document.querySelectorAll(".plot rect").length,
    foreign: document.querySelectorAll("script, img, link, iframe, object, [onerror], [onload]").length,
    too_wide: document.documentElement.scrollWidth - innerWidth,
    compared,
    faint,
    labels: seen.length,
    overlaps: [...overlaps, ...outside],
  };
})();
