"use strict";
(() => {
  const PARENT = 0, STEP = 1, COUNT = 2, BYTES = 3, OWN = 4, TOKENS = 5, TYPES = 6;
  const LABEL = 18, LINE = 16, LETTER = 7.3, COLOURS = 8, ROWS = 1000, PRINTED = 60;
  // The size of the map on paper, which is scaled to the width of the page.
  const SHEET = { width: 1000, height: 560 };
  // A child with more than this part of its parent leaves the colours to its own children.
  const MOST = 0.6;
  // Control characters, and those that change the direction of text.
  const HIDDEN = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const grouped = (number) => number.toLocaleString("en-US");
  const map = element("map"), details = element("details"), rows = element("rows"), crumbs = element("crumbs");
  const sides = {};
  for (const side of ["before", "after"]) if (data[side]) sides[side] = prepare(data[side]);
  const state = { side: "before", at: 0, view: "map", sort: "tokens", up: false, focus: null, scale: true, prints: false };
  const RULES = 5, GROUPS = [];
  chooseTrunk();
  for (const side of ["after", "before"]) if (sides[side]) group(sides[side], side);
  if (sides.after && data.rules.length) judge();

  // Adds the children and the path of each node. Children follow their parent, the heaviest first.
  function prepare(tree) {
    const nodes = tree.nodes, children = nodes.map(() => []), paths = [""];
    for (let at = 1; at < nodes.length; at++) {
      const [parent] = nodes[at], step = (nodes[at][STEP] = nodes[at][STEP].replace(HIDDEN, "\ufffd"));
      children[parent].push(at);
      const joint = paths[parent] && (tree.separator !== "." || !step.startsWith("[")) ? tree.separator : "";
      paths.push(paths[parent] + joint + step);
    }
    return { nodes, children, paths, separator: tree.separator, about: tree.exact ? "" : "~" };
  }

  // Returns the node whose children have colours: the first without a child that has most of it.
  function trunkOf({ nodes, children, about }) {
    const figure = about ? BYTES : TOKENS;
    for (let at = 0; ;) {
      const heavy = children[at].find((child) => children[child].length && nodes[child][figure] > MOST * nodes[at][figure]);
      if (heavy === undefined) return at;
      at = heavy;
    }
  }

  // Chooses the node whose children have colours, on the input, and takes its path on both sides, so that the balance of the output
  // does not change the colours. If the output lacks it, both take its closest parent that the output has. If that is the document,
  // the filter moves the items, and the output has a node of its own.
  function chooseTrunk() {
    const { before, after } = sides;
    before.trunk = trunkOf(before);
    if (!after) return;
    const places = new Map(after.paths.map((path, at) => [path, at]));
    let at = before.trunk;
    while (!places.has(before.paths[at])) at = before.nodes[at][PARENT];
    const own = trunkOf(after), moves = at === 0 && before.trunk !== 0 && own !== 0;
    if (!moves) before.trunk = at;
    after.trunk = moves ? own : places.get(before.paths[at]);
  }

  // Colours the nodes by the member of the items that they belong to. A member has one colour on both sides, also if the filter
  // renames it. The heaviest members of the output come first; those without a colour of their own are grey.
  function group(tree, side) {
    const { nodes, children, trunk, separator } = tree;
    tree.groups = nodes.map(() => -1);
    const nameOf = (child) => {
      const own = nodes[child][STEP], source = side === "after" && data.sources[own];
      return separator === "." ? (source || own).split(/[.[]/)[0] || own : own;
    };
    for (const child of children[trunk]) {
      const member = nameOf(child);
      let at = GROUPS.indexOf(member);
      if (at < 0 && GROUPS.length < COLOURS) at = GROUPS.push(member) - 1;
      const waiting = [child];
      while (waiting.length) { const node = waiting.pop(); tree.groups[node] = at; waiting.push(...children[node]); }
    }
  }

  // Finds which part of each value of the input remains, and which part each rule leaves out.
  function judge() {
    const { nodes, children, paths } = sides.before, places = new Map(paths.map((path, at) => [path, at]));
    const removed = nodes.map(() => null), kept = new Map();
    // What a select moves is no loss.
    const after = sides.after, stem = paths[sides.before.trunk];
    for (const child of after.children[after.trunk]) {
      const source = data.sources[after.nodes[child][STEP]];
      const at = source && places.get(stem ? `${stem}.${source}` : source);
      if (at !== undefined) kept.set(at, after.nodes[child][BYTES]);
    }
    data.rules.forEach(([, paths], rule) => {
      for (const [path, bytes] of paths) {
        const at = places.get(path.replace(HIDDEN, "\ufffd"));
        if (at === undefined || (kept.has(at) && nodes[at][BYTES] > 0)) continue;
        (removed[at] = removed[at] || []).push([rule, bytes / Math.max(nodes[at][BYTES], 1)]);
      }
    });
    const fates = (sides.before.fates = nodes.map(() => null));
    for (let at = 0; at < nodes.length; at++) {
      const fate = at === 0 ? data.rules.map(() => 0) : fates[nodes[at][PARENT]].slice();
      for (const [rule, part] of removed[at] || []) fate[rule] += part;
      const sum = fate.reduce((sum, part) => sum + part, 0);
      // A select may remove the object around a value that it moves.
      const most = kept.has(at) ? Math.max(1 - kept.get(at) / Math.max(nodes[at][BYTES], 1), 0) : 1;
      fates[at] = sum > most ? fate.map((part) => (part * most) / sum) : fate;
    }
    // The fate of a container is that of its own bytes and of the values in it.
    const lost = nodes.map((node, at) => fates[at].map((part) => part * (children[at].length ? node[OWN] : node[BYTES])));
    for (let at = nodes.length - 1; at > 0; at--) {
      lost[at].forEach((bytes, rule) => { lost[nodes[at][PARENT]][rule] += bytes; });
    }
    // The figures of the rules are exact, also for what has no path in the map.
    data.rules.forEach(([, , bytes], rule) => { lost[0][rule] = bytes; });
    nodes.forEach((node, at) => { fates[at] = lost[at].map((bytes) => bytes / Math.max(node[BYTES], 1)); });
  }

  const keptOf = (fate) => Math.max(1 - fate.reduce((sum, part) => sum + part, 0), 0);
  const tree = () => sides[state.side];
  const name = (at) => (at === 0 ? "(document)" : tree().paths[at]);
  const share = (at) => {
    const [root] = tree().nodes, node = tree().nodes[at];
    return tree().about ? node[BYTES] / Math.max(root[BYTES], 1) : node[TOKENS] / Math.max(root[TOKENS], 1);
  };
  const percent = (part) => (Math.floor(part * 1000) / 10).toFixed(1) + " %";

  // Squarified rows: a row grows while the worst ratio of its sides improves.
  function squarify(weights, area) {
    const placed = [];
    let rest = weights.reduce((sum, weight) => sum + weight, 0);
    let { x, y, width, height } = area;
    for (let at = 0; at < weights.length;) {
      if (rest <= 0 || width <= 0 || height <= 0) { placed.push({ x, y, width: 0, height: 0 }); at++; continue; }
      const scale = (width * height) / rest, short = Math.min(width, height), begin = at;
      let sum = 0, worst = Infinity;
      while (at < weights.length) {
        const one = weights[at] * scale, next = sum + one;
        const ratio = Math.max((short * short * weights[begin] * scale) / (next * next), (next * next) / (short * short * one));
        if (ratio > worst) break;
        sum = next; worst = ratio; at++;
      }
      if (at === begin) at++;
      const thick = sum / short, lying = width >= height;
      let along = 0;
      for (let i = begin; i < at; i++) {
        const long = thick > 0 ? (weights[i] * scale) / thick : 0;
        placed.push(lying ? { x, y: y + along, width: thick, height: long } : { x: x + along, y, width: long, height: thick });
        along += long;
        rest -= weights[i];
      }
      if (lying) { x += thick; width -= thick; } else { y += thick; height -= thick; }
    }
    return placed;
  }

  function layout() {
    const box = state.prints ? SHEET : map.getBoundingClientRect(), tiles = [], side = scaled();
    const waiting = [[state.at, { x: 0, y: 0, width: box.width * side, height: box.height * side }]];
    const { nodes, children } = tree();
    while (waiting.length) {
      const [at, area] = waiting.pop();
      const outer = at === state.at;
      if (!outer || !children[at].length) tiles.push([at, area, tree().groups[at]]);
      const inside = outer && children[at].length ? area
        : { x: area.x + 3, y: area.y + LABEL, width: area.width - 6, height: area.height - LABEL - 3 };
      if (inside.width < 24 || inside.height < 14 || !children[at].length) continue;
      const figure = tree().about ? BYTES : TOKENS;
      const places = squarify(children[at].map((child) => nodes[child][figure]), inside);
      for (let i = places.length - 1; i >= 0; i--) {
        if (places[i].width * places[i].height < 6) continue;
        waiting.push([children[at][i], places[i]]);
      }
    }
    return [tiles, box];
  }

  // The side of the output's map, as a part of that of the input: areas of both have one scale.
  function scaled() {
    if (state.side === "before" || state.at !== 0 || !state.scale) return 1;
    const figure = tree().about ? BYTES : TOKENS;
    return Math.sqrt(Math.min(tree().nodes[0][figure] / Math.max(sides.before.nodes[0][figure], 1), 1));
  }

  // Returns the label of a rectangle: whole words on whole lines, or none if a word is longer than a line.
  function labelOf(at, area) {
    const words = (at === 0 ? "(document)" : tree().nodes[at][STEP]).split(/(?<=[^\p{L}\p{N}])(?=[\p{L}\p{N}])|(?<=\p{Ll})(?=\p{Lu})/u);
    const figure = tree().about + grouped(tree().nodes[at][TOKENS]);
    const columns = Math.floor((area.width - 10) / LETTER);
    const lines = tree().children[at].length ? 1 : Math.max(Math.floor((area.height - 2) / LINE), 1);
    let line = 1, column = 0;
    const fits = (word, blank) => {
      if (column > 0 && column + blank + word.length > columns) { line++; column = 0; }
      column += (column > 0 ? blank : 0) + word.length;
      return word.length <= columns && line <= lines;
    };
    if (!words.every((word) => fits(word, 0))) return null;
    const label = document.createElement("div");
    label.className = "label";
    for (const word of words) label.append(word, document.createElement("wbr"));
    if (fits(figure, 1)) {
      const small = document.createElement("small");
      small.textContent = figure;
      label.append(" ", small);
    }
    return label;
  }

  function drawMap() {
    map.textContent = "";
    // On paper the map is a sheet whose lengths and letters are parts of the width of the page.
    const all = document.createElement("div"), [tiles, box] = layout();
    all.className = state.prints ? "sheet printed" : "sheet";
    const part = (side, whole) => (100 * side) / whole + "%";
    let first = true;
    if (scaled() < 1) all.append(ghost());
    for (const [at, area, colour] of tiles) {
      const tile = document.createElement("div");
      tile.className = tree().children[at].length ? "tile" : "tile leaf";
      tile.dataset.at = at;
      tile.tabIndex = first ? 0 : -1;
      first = false;
      tile.setAttribute("role", "button");
      tile.setAttribute("aria-label", describe(at));
      Object.assign(tile.style, {
        left: part(area.x, box.width), top: part(area.y, box.height),
        width: part(area.width, box.width), height: part(area.height, box.height),
        // A padding would make a small rectangle larger.
        padding: area.width > 12 ? "" : 0, borderWidth: Math.min(area.width, area.height) > 4 ? "" : 0,
        background: remains(at) ? (colour < 0 ? "var(--own)" : `var(--c${colour})`) : "var(--gone)",
      });
      const fate = state.side === "before" && tree().fates && !tree().children[at].length ? tree().fates[at] : null;
      if (fate && keptOf(fate) < 0.995) {
        tile.style.background = "var(--gone)";
        tile.append(partsOf(fate, colour));
      }
      const label = area.width > 32 && area.height > LINE ? labelOf(at, area) : null;
      if (label) tile.append(label);
      all.append(tile);
    }
    map.append(all);
    if (state.focus !== null) {
      const tile = map.querySelector(`[data-at="${state.focus}"]`) || map.querySelector(".tile");
      state.focus = null;
      if (tile) move(tile);
    }
  }

  // Returns whether anything of a value is left after the filter, as far as that is known.
  function remains(at) {
    const { fates, children } = tree();
    if (state.side === "after" || !fates) return true;
    const waiting = [at];
    while (waiting.length) {
      const node = waiting.pop();
      if (!children[node].length && keptOf(fates[node]) >= 0.005) return true;
      waiting.push(...children[node]);
    }
    return false;
  }

  // Returns the parts of a rectangle: what remains, and what each rule leaves out.
  function partsOf(fate, colour) {
    const parts = document.createElement("div");
    parts.className = "parts";
    const part = (share, name, background) => {
      if (share < 0.005) return;
      const element = document.createElement("i");
      element.className = name;
      element.style.flexGrow = share;
      if (background) element.style.background = background;
      parts.append(element);
    };
    part(keptOf(fate), "kept", colour < 0 ? "var(--own)" : `var(--c${colour})`);
    fate.forEach((share, rule) => part(share, `gone r${Math.min(rule, RULES - 1)}`));
    return parts;
  }

  // Returns the frame of the input's map around that of the output.
  function ghost() {
    const frame = document.createElement("div"), text = document.createElement("span");
    const figure = tree().about ? BYTES : TOKENS;
    frame.id = "ghost";
    text.textContent = `left out: ${percent(1 - tree().nodes[0][figure] / sides.before.nodes[0][figure])}`;
    frame.append(text);
    return frame;
  }

  // Explains the colours: the members, and the rules that leave something out.
  function drawLegend() {
    const legend = element("legend"), { groups, nodes, fates } = tree();
    legend.textContent = "";
    const entry = (text, name, background) => {
      const item = document.createElement("li");
      if (name !== "title") {
        const box = document.createElement("i");
        box.className = name;
        if (background) box.style.background = background;
        item.append(box);
      } else item.className = name;
      item.append(text);
      legend.append(item);
    };
    const shows = new Set(groups);
    const judged = state.side === "before" && fates;
    // What nothing remains of has no colour of its own in the map.
    const isLeft = (at) => groups.some((group, node) => group === at && !tree().children[node].length && (!judged || keptOf(fates[node]) >= 0.005));
    const members = GROUPS.map((member, at) => [member, at]).filter(([, at]) => shows.has(at) && isLeft(at));
    if (members.length > 1 || judged) {
      entry(judged ? "Kept:" : "Members:", "title");
      for (const [member, at] of members) entry(member, "member", `var(--c${at})`);
      if (GROUPS.length === COLOURS && isLeft(-1)) entry("others", "member", "var(--own)");
    }
    if (!judged) return;
    entry("Left out by:", "title");
    data.rules.forEach(([rule, , bytes], at) => {
      entry(`${rule} (${percent(bytes / Math.max(nodes[0][BYTES], 1))})`, `gone r${Math.min(at, RULES - 1)}`);
    });
  }

  function describe(at) {
    const node = tree().nodes[at], about = tree().about;
    const types = node[TYPES] ? `, ${node[TYPES]}` : "";
    return `${name(at)}: ${about}${grouped(node[TOKENS])} tokens, ${percent(share(at))}, ${grouped(node[BYTES])} bytes, `
      + `×${grouped(node[COUNT])}${types}${fateOf(at)}`;
  }

  // Says in words what the colours of a rectangle show.
  function fateOf(at) {
    const words = verdict(at);
    return words && `; ${words}`;
  }

  // Returns which part of a value the filter keeps, and which part each rule leaves out, or nothing if that is not known.
  function verdict(at) {
    const fate = state.side === "before" && tree().fates ? tree().fates[at] : null;
    if (!fate) return "";
    const parts = fate.map((part, rule) => [part, data.rules[rule][0]]).filter(([part]) => part >= 0.005);
    if (parts.length === 0) return "kept";
    if (parts.length === 1 && keptOf(fate) < 0.005) return `left out by ${parts[0][1]}`;
    const words = parts.map(([part, rule]) => `${percent(part)} left out by ${rule}`);
    return (keptOf(fate) < 0.005 ? words : [`${percent(keptOf(fate))} kept`, ...words]).join(", ");
  }

  function drawCrumbs() {
    crumbs.textContent = "";
    const { nodes } = tree(), steps = [];
    for (let at = state.at; ; at = nodes[at][PARENT]) { steps.unshift(at); if (at === 0) break; }
    for (const at of steps) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = at === 0 ? "(document)" : nodes[at][STEP];
      if (at === state.at) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => {
        // The rectangle that was left has the focus, as after Escape.
        let from = state.at;
        while (from > at && nodes[from][PARENT] !== at) from = nodes[from][PARENT];
        zoom(at, from);
      });
      crumbs.append(button);
    }
  }

  function drawTable() {
    const { nodes, paths, about } = tree();
    const wanted = element("search").value.toLowerCase();
    let order = nodes.map((_, at) => at).filter((at) => !wanted || paths[at].toLowerCase().includes(wanted));
    const column = { count: COUNT, bytes: BYTES, tokens: TOKENS }[state.sort];
    const compare = column === undefined
      ? (one, other) => (paths[one] < paths[other] ? -1 : paths[one] > paths[other] ? 1 : 0)
      : (one, other) => nodes[other][column] - nodes[one][column] || one - other;
    order.sort((one, other) => (state.up ? -compare(one, other) : compare(one, other)));
    const shown = state.view === "table" ? ROWS : PRINTED, left = order.length - shown;
    order = order.slice(0, shown);
    const all = document.createDocumentFragment(), judged = state.side === "before" && tree().fates;
    element("fate").hidden = !judged;
    for (const at of order) {
      const row = document.createElement("tr");
      const cells = [name(at), grouped(nodes[at][COUNT]), grouped(nodes[at][BYTES]), about + grouped(nodes[at][TOKENS])];
      cells.forEach((text, number) => {
        const cell = document.createElement("td");
        cell.className = number ? "number" : "path";
        cell.textContent = text;
        row.append(cell);
      });
      const cell = document.createElement("td"), inside = document.createElement("div");
      const text = document.createElement("span"), bar = document.createElement("i");
      inside.className = "share";
      text.textContent = percent(share(at));
      bar.className = "bar";
      bar.style.setProperty("--share", share(at));
      if (judged) bar.append(partsOf(tree().fates[at], tree().groups[at]));
      else if (tree().groups[at] >= 0) bar.style.background = `var(--c${tree().groups[at]})`;
      inside.append(text, bar);
      cell.append(inside);
      row.append(cell);
      if (judged) {
        const fate = document.createElement("td");
        fate.className = "fate";
        fate.textContent = verdict(at);
        row.append(fate);
      }
      all.append(row);
    }
    rows.textContent = "";
    rows.append(all);
    const more = state.view === "table" ? "more paths; search to see them" : "more paths";
    element("more").textContent = left > 0 ? `${grouped(left)} ${more}` : "";
    for (const button of document.querySelectorAll("[data-sort]")) {
      const sorted = button.dataset.sort === state.sort;
      const falls = (button.dataset.sort === "path") === state.up;
      button.parentElement.setAttribute("aria-sort", sorted ? (falls ? "descending" : "ascending") : "none");
    }
  }

  function drawTotals() {
    const words = (side) => {
      const [root] = sides[side].nodes;
      return `${sides[side].about}${grouped(root[TOKENS])} tokens, ${grouped(root[BYTES])} bytes`;
    };
    let text = words("before");
    if (sides.after) {
      const [before] = sides.before.nodes, [after] = sides.after.nodes;
      const saved = Math.max(before[TOKENS] - after[TOKENS], 0) / Math.max(before[TOKENS], 1);
      text += ` → ${words("after")}, ${percent(saved)} saved`;
    }
    element("totals").textContent = text;
    element("sides").hidden = element("printed").hidden = !sides.after;
    element("filter").textContent = data.filter ? `Filter: ${data.filter}` : "";
    element("filter").hidden = !data.filter;
  }

  function press(attribute, value) {
    for (const button of document.querySelectorAll(`[data-${attribute}]`)) {
      button.setAttribute("aria-pressed", String(button.dataset[attribute] === value));
    }
  }

  function draw() {
    press("side", state.side);
    press("view", state.view);
    element("printed").textContent = state.side === "before" ? "Before the filter" : "After the filter";
    element("map-view").hidden = state.view !== "map";
    element("table-view").hidden = state.view !== "table";
    crumbs.hidden = state.view !== "map";
    element("scale").hidden = state.side === "before" || state.view !== "map" || state.at !== 0;
    element("scale").setAttribute("aria-pressed", String(state.scale));
    drawCrumbs();
    drawLegend();
    drawTable();
    if (state.view === "map") drawMap();
    details.textContent = describe(state.at);
  }

  function zoom(at, focus) {
    state.at = at;
    state.focus = focus === undefined ? null : focus;
    draw();
  }

  function into(at) {
    // A node without children is shown in its parent.
    const { nodes, children } = tree();
    const next = children[at].length ? at : nodes[at][PARENT];
    if (next !== state.at) zoom(next, children[at].length ? children[at][0] : at);
  }

  function out() {
    if (state.at !== 0) zoom(tree().nodes[state.at][PARENT], state.at);
  }

  function move(tile) {
    for (const other of map.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    tile.tabIndex = 0;
    tile.focus();
  }

  const tileOf = (event) => event.target instanceof Element && event.target.closest(".tile");
  map.addEventListener("click", (event) => { const tile = tileOf(event); if (tile) into(Number(tile.dataset.at)); });
  for (const kind of ["pointerover", "focusin"]) {
    map.addEventListener(kind, (event) => {
      const tile = tileOf(event);
      if (tile) details.textContent = describe(Number(tile.dataset.at));
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape" && state.view === "map") { out(); return; }
    const tile = tileOf(event);
    if (!tile || !map.contains(tile)) return;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const tiles = [...map.querySelectorAll(".tile")], place = tiles.indexOf(tile);
    if (event.key === "Enter" || event.key === " ") into(Number(tile.dataset.at));
    else if (event.key in steps) move(tiles[(place + steps[event.key] + tiles.length) % tiles.length]);
    else if (event.key === "Home") move(tiles[0]);
    else if (event.key === "End") move(tiles[tiles.length - 1]);
    else return;
    event.preventDefault();
  });
  for (const button of document.querySelectorAll("[data-side]")) {
    button.addEventListener("click", () => {
      // The same path, if the other document has it.
      const path = tree().paths[state.at];
      state.side = button.dataset.side;
      const at = tree().paths.indexOf(path);
      zoom(at > 0 && tree().children[at].length ? at : 0);
    });
  }
  element("scale").addEventListener("click", () => { state.scale = !state.scale; draw(); });
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => { state.view = button.dataset.view; draw(); });
  }
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      state.up = state.sort === button.dataset.sort && !state.up;
      state.sort = button.dataset.sort;
      drawTable();
    });
  }
  element("search").addEventListener("input", drawTable);
  element("theme").addEventListener("click", () => {
    const themes = ["auto", "light", "dark"], root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    element("theme").textContent = `Theme: ${next}`;
  });
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { if (state.view === "map") drawMap(); });
  });
  for (const [kind, prints] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(kind, () => { state.prints = prints; if (state.view === "map") drawMap(); });
  }
  drawTotals();
  draw();
})();
