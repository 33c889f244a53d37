"use strict";
// The desk: finds users, shows what changed for them and why. All data are those of the page; they
// become text and never markup. Without this script the page is complete but for the desk.
(async () => {
  const packed = document.getElementById("rankmeter-desk");
  if (!packed || !("DecompressionStream" in window)) return;
  const bytes = Uint8Array.from(atob(packed.textContent), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = await new Response(unpacked).json();
  const { words, systems, metrics, users, groups } = data;
  const single = systems.length === 1;
  const many = new Intl.NumberFormat("en-US");
  const FIRST = 10, MORE = 50;

  // ---- What the reader looks at, and its address

  const start = {
    metric: metrics[0].label, a: data.pair[0], b: data.pair[1],
    segment: "", change: "", find: "", area: "", sort: "change", user: "",
  };
  let now = { ...start };
  let limit = FIRST;

  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const known = Object.keys(start).filter((name) => given.has(name));
    if (!known.length) return false;
    now = { ...start, ...Object.fromEntries(known.map((name) => [name, given.get(name)])) };
    if (!metrics.some((one) => one.label === now.metric)) now.metric = start.metric;
    for (const side of ["a", "b"]) if (!systems.includes(now[side])) now[side] = start[side];
    return true;
  }

  function writeAddress() {
    const place = Object.entries(now).filter(([name, value]) => value !== start[name]);
    const hash = place.length ? new URLSearchParams(place) : "desk-part";
    try {
      history.replaceState(null, "", `#${hash}`);
    } catch { /* Browsers limit how often an address changes; the desk needs none. */ }
  }

  // ---- Values

  const metric = () => metrics.find((one) => one.label === now.metric);
  const columns = new Map();
  function valuesOf(one, system) {
    const key = `${one.label}\n${system}`;
    if (!columns.has(key)) {
      const { distinct, codes } = one.values[systems.indexOf(system)];
      columns.set(key, Float64Array.from(codes, (code) => (code < 0 ? NaN : Number(distinct[code]))));
    }
    return columns.get(key);
  }

  const evenly = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
  // The users of a mark of a chart, by the value in each system.
  const AREAS = {
    difference: ([sign, low, high]) => (x, y) => sign * (x - y) > 0 && Math.abs(x - y) >= low && Math.abs(x - y) < high,
    cell: ([i, j, low, step]) => (x, y) => evenly((y - low) / step) === i && evenly((x - low) / step) === j,
    value: ([low, high]) => (x) => x >= low && x < high,
  };

  function areaTest() {
    const [kind, ...numbers] = now.area.split(" ");
    return AREAS[kind] ? AREAS[kind](numbers.map(Number)) : () => true;
  }

  // ---- Lists

  const starts = (lengths) => {
    let sum = 0;
    return [0, ...lengths.map((n) => (sum += n))];
  };
  for (const { relevant, systems: lists } of data.lists) {
    for (const one of [relevant, ...lists]) one.starts = starts(one.lengths);
  }
  const placeOf = new Map(data.listed.map((user, place) => [user, place]));
  const cut = (one, place, name) => one[name].slice(one.starts[place], one.starts[place + 1]);

  // The relevant items of a user, by code, and the list in a system: codes and ranks.
  function relevantOf(user, one) {
    const { relevant } = data.lists[one.lists], place = placeOf.get(user);
    const gains = cut(relevant, place, "gains");
    return new Map(cut(relevant, place, "items").map((code, i) => [code, gains[i]]));
  }
  function listOf(user, one, system) {
    const list = data.lists[one.lists].systems[systems.indexOf(system)], place = placeOf.get(user);
    const ranks = cut(list, place, "ranks");
    return cut(list, place, "items").map((code, i) => ({ code, rank: ranks[i] }));
  }

  const titleOf = (code) => data.titles[code] || data.items[code];

  // ---- Search

  const lower = (texts) => texts.map((text) => text.toLowerCase());
  const known = { users: lower(users), texts: lower(data.texts), items: lower(data.items), titles: lower(data.titles) };

  // The users found by id or text, and those with an item that is found, in any list or relevant.
  function search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    const fits = (ids, texts) => {
      const same = ids.flatMap((id, i) => (id === wanted ? [i] : []));
      if (same.length) return same;
      return ids.flatMap((id, i) => (id.includes(wanted) || texts[i]?.includes(wanted) ? [i] : []));
    };
    const byId = new Set(fits(known.users, known.texts));
    const items = new Set(fits(known.items, known.titles));
    const byItem = new Set();
    if (items.size) {
      for (const { relevant, systems: lists } of data.lists) {
        for (const one of [relevant, ...lists]) {
          for (let place = 0; place < one.lengths.length; place += 1) {
            for (let i = one.starts[place]; i < one.starts[place + 1]; i += 1) {
              if (items.has(one.items[i])) { byItem.add(data.listed[place]); break; }
            }
          }
        }
      }
    }
    return { byId, byItem };
  }

  // ---- Which users are shown

  const CHANGES = single
    ? { zero: ["value 0", (x) => x === 0], above: ["value above 0", (x) => x > 0] }
    : {
        lost: ["lost", (x, y, gain) => gain < 0],
        gained: ["gained", (x, y, gain) => gain > 0],
        equal: ["equal", (x, y, gain) => gain === 0],
        "only-a": ["only the first hits", (x, y) => x !== 0 && y === 0],
        "only-b": ["only the second hits", (x, y) => x === 0 && y !== 0],
      };
  const changeName = (name) => ({
    "only-a": `only ${now.a} is above 0`, "only-b": `only ${now.b} is above 0`,
  }[name] ?? CHANGES[name][0]);

  function selected() {
    const one = metric(), sign = one.increasing ? 1 : -1;
    const [x, y] = [valuesOf(one, now.a), valuesOf(one, now.b)];
    const gain = (user) => (single ? sign * x[user] : sign * (x[user] - y[user]));
    const found = search(now.find), inArea = areaTest();
    const [group, label] = segmentOf(now.segment);
    const all = [];
    for (let user = 0; user < users.length; user += 1) {
      if (Number.isNaN(x[user]) || Number.isNaN(y[user])) continue;
      if (group && group.codes[user] !== label) continue;
      if (found && !found.byId.has(user) && !found.byItem.has(user)) continue;
      if (inArea(x[user], y[user])) all.push(user);
    }
    const counts = Object.fromEntries(Object.entries(CHANGES).map(([name, [, test]]) =>
      [name, all.filter((user) => test(x[user], y[user], gain(user))).length]));
    const test = CHANGES[now.change]?.[1] ?? (() => true);
    const rows = all.filter((user) => test(x[user], y[user], gain(user)));
    const keys = { change: gain, a: (user) => x[user], b: (user) => y[user], user: (user) => user };
    const [by, order] = now.sort.startsWith("-") ? [now.sort.slice(1), -1] : [now.sort, 1];
    const key = keys[by] ?? gain;
    rows.sort((one, other) => order * (key(one) - key(other)) || one - other);
    return { x, y, gain, rows, counts, found, all: all.length };
  }

  // A segment is written as its label, with its grouping in front if there are several.
  const segmentName = (group, label) => (groups.length > 1 ? `${group.name}: ${label}` : label);
  function segmentOf(text) {
    for (const group of groups) {
      const label = group.labels.findIndex((one) => segmentName(group, one) === text);
      if (label >= 0) return [group, label];
    }
    return [null, -1];
  }

  // ---- The section

  const { made } = page;
  const section = document.createElement("section");
  section.id = "desk-part";
  section.className = "desk";
  section.setAttribute("aria-labelledby", "desk-heading");
  made("h2", `${words.users[0].toUpperCase()}${words.users.slice(1)}, one by one`, section).id = "desk-heading";
  made("p", single
    ? `Those with the worst value come first. Open one to see its list.`
    : `Those that lost most come first. Open one to see both lists side by side. A click on a point or a bar of a chart selects its ${words.users}.`, section);
  const form = section.appendChild(document.createElement("form"));
  form.setAttribute("role", "search");
  form.addEventListener("submit", (event) => event.preventDefault());

  function labelled(text, tag) {
    const label = form.appendChild(document.createElement("label"));
    made("span", text, label);
    return label.appendChild(document.createElement(tag));
  }
  function choice(text, act) {
    const select = labelled(text, "select");
    select.addEventListener("change", () => { act(select.value); change({}); });
    return select;
  }
  function fill(select, options, value) {
    select.replaceChildren(...options.map(([name, text]) => new Option(text, name, false, name === value)));
    select.closest("label").classList.toggle("only", options.length < 2);
  }

  const find = labelled(`Find a ${words.user} or ${words.item}`, "input");
  find.type = "search";
  find.placeholder = data.titles.length ? "id or title" : data.texts.length ? "id or text" : "id";
  find.autocomplete = "off";
  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ find: find.value }), 150);
  });
  const same = (family) => metrics.filter((one) => one.family === family);
  const ofMetric = choice("Metric", (family) => {
    const k = metric().k;
    now.metric = (same(family).find((one) => one.k === k) ?? same(family)[0]).label;
    now.area = "";
  });
  const ofK = choice("k", (label) => { now.metric = label; now.area = ""; });
  const ofA = choice("System", (name) => { if (name === now.b) now.b = now.a; now.a = name; now.area = ""; });
  const ofB = choice("against", (name) => { if (name === now.a) now.a = now.b; now.b = name; now.area = ""; });
  const ofSegment = choice(groups.length === 1 ? groups[0].name[0].toUpperCase() + groups[0].name.slice(1) : "Segment",
    (label) => { now.segment = label; });
  const ofChange = choice(single ? "Value" : "Change", (name) => { now.change = name; });

  const status = section.appendChild(document.createElement("div"));
  status.className = "desk-status";
  const count = made("p", "", status);
  count.setAttribute("role", "status");
  function tool(text, act) {
    const button = made("button", text, status);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }
  const clear = tool("Show all", () => change({ segment: "", change: "", find: "", area: "", user: "" }));
  tool("CSV", saveAll);
  tool("Copy the address", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      page.say("The address is copied.");
    } catch {
      page.say("The address is in the address bar.");
    }
  });

  const scroll = section.appendChild(document.createElement("div"));
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `${words.users}, scrollable`);
  const table = scroll.appendChild(document.createElement("table"));
  const more = made("button", "", section);
  more.type = "button";
  more.className = "more";
  more.addEventListener("click", () => { limit += MORE; draw(); });
  const n = data.n_users;
  if (users.length < n || data.listed.length < users.length) {
    made("p", (users.length < n
      ? `This page has the values of ${many.format(users.length)} of ${many.format(n)} ${words.users}: the worst, the best and a sample. It cannot be read back whole; per_user has all values. `
      : `Values are those of all ${many.format(n)} ${words.users}. `)
      + (data.lists.length ? `Lists are here for ${many.format(data.listed.length)} ${words.users}: those that lost most, those that gained most, and a sample.` : "The lists are not in this page: the rankings cannot be read again."),
      section).className = "note";
  }

  // ---- Drawing

  const number = (value) => value.toFixed(4).replace("-", "−").replace("Infinity", "∞");
  const signed = (value) => (value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(4)}`);

  function change(next, look = false) {
    now = { ...now, ...next };
    limit = FIRST;
    draw();
    writeAddress();
    if (look) section.scrollIntoView();
  }

  function drawChoices(counts, all) {
    const families = [...new Set(metrics.map((one) => one.family))];
    fill(ofMetric, families.map((name) => [name, same(name).length > 1 ? name : same(name)[0].label]), metric().family);
    fill(ofK, same(metric().family).map((one) => [one.label, `${one.k ?? "all"}`]), now.metric);
    fill(ofA, systems.map((name) => [name, name]), now.a);
    fill(ofB, systems.map((name) => [name, name]), now.b);
    const segments = groups.flatMap((group) => group.labels.map((label) => segmentName(group, label)));
    fill(ofSegment, [["", "all"], ...segments.map((name) => [name, name])], now.segment);
    ofSegment.closest("label").classList.toggle("only", !groups.length);
    const some = Object.keys(CHANGES).map((name) => [name, `${changeName(name)} (${many.format(counts[name])})`]);
    fill(ofChange, [["", `all (${many.format(all)})`], ...some], now.change);
    if (find.value !== now.find) find.value = now.find;
  }

  function statusText({ rows, gain, found }) {
    const parts = [`${many.format(rows.length)} of ${many.format(users.length)} ${words.users}`];
    if (now.area) parts.push("behind the mark of the chart");
    if (found) {
      const byId = rows.filter((user) => found.byId.has(user)).length;
      parts.push(`${many.format(byId)} found by name, ${many.format(rows.length - byId)} by ${/^[aeiou]/.test(words.item) ? "an" : "a"} ${words.item}`);
    }
    if (rows.length && !single) {
      const sign = metric().increasing ? 1 : -1;
      parts.push(`mean change ${signed((sign * rows.reduce((sum, user) => sum + gain(user), 0)) / rows.length)}`);
    }
    return parts.join(", ");
  }

  function drawHead() {
    table.replaceChildren();
    made("caption", `${now.metric} by ${words.user}`, table);
    const row = table.createTHead().insertRow();
    const heads = single
      ? [["user", words.user], ["change", now.metric]]
      : [["user", words.user], ["b", now.b], ["a", now.a], ["change", "change"]];
    for (const [name, text] of heads) {
      const head = row.appendChild(document.createElement("th"));
      head.scope = "col";
      const button = made("button", text, head);
      button.type = "button";
      if (now.sort.replace("-", "") === name) {
        head.setAttribute("aria-sort", now.sort.startsWith("-") ? "descending" : "ascending");
      }
      button.addEventListener("click", () => change({ sort: now.sort === name ? `-${name}` : name }));
    }
    return heads.length;
  }

  function draw() {
    const found = selected();
    drawChoices(found.counts, found.all);
    count.textContent = statusText(found);
    clear.disabled = !(now.segment || now.change || now.find || now.area || now.user);
    const width = drawHead();
    const body = table.createTBody();
    const opened = users.indexOf(now.user);
    const shown = found.rows.slice(0, limit);
    if (opened >= 0 && found.rows.includes(opened) && !shown.includes(opened)) shown.unshift(opened);
    const reach = found.rows.reduce((most, user) => Math.max(most, Math.abs(found.x[user] - found.y[user])), 0);
    for (const user of shown) drawRow(body, user, found, reach, width);
    const left = found.rows.length - Math.min(limit, found.rows.length);
    more.hidden = left === 0;
    more.textContent = `Show ${many.format(Math.min(MORE, left))} more of ${many.format(left)}`;
  }

  function drawRow(body, user, { x, y, gain }, reach, width) {
    const row = body.insertRow();
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    const button = made("button", users[user], head);
    button.type = "button";
    button.className = "open";
    button.setAttribute("aria-expanded", `${users[user] === now.user}`);
    if (data.texts[user]) made("span", data.texts[user], head).className = "query";
    const cell = (text) => { const one = row.insertCell(); one.textContent = text; return one; };
    if (!single) cell(number(y[user]));
    cell(number(x[user]));
    if (!single) {
      const change = cell("");
      change.className = gain(user) > 0 ? "gained" : gain(user) < 0 ? "lost" : "";
      made("span", signed(x[user] - y[user]), change);
      const bar = change.appendChild(document.createElement("span"));
      bar.className = "size";
      bar.style.width = `${reach ? (3.5 * Math.abs(x[user] - y[user])) / reach : 0}rem`;
    }
    const toggle = () => {
      const isOpen = now.user === users[user];
      now.user = isOpen ? "" : users[user];
      for (const other of body.querySelectorAll(".why")) other.remove();
      for (const other of body.querySelectorAll(".open")) other.setAttribute("aria-expanded", "false");
      button.setAttribute("aria-expanded", `${!isOpen}`);
      if (!isOpen) row.after(explained(user, width));
      writeAddress();
    };
    row.addEventListener("click", toggle);
    if (users[user] === now.user) body.append(explained(user, width));
  }

  function explained(user, width) {
    const row = document.createElement("tr");
    row.className = "why";
    const cell = row.insertCell();
    cell.colSpan = width;
    const box = cell.appendChild(document.createElement("div"));
    const one = metric();
    if (metrics.length > 1) {
      const all = made("p", "", box);
      all.className = "all-metrics";
      for (const other of metrics) {
        const [x, y] = [now.a, now.b].map((name) => valuesOf(other, name)[user]);
        if (Number.isNaN(x) || Number.isNaN(y)) continue;
        made("span", single ? `${other.label} ${number(x)}` : `${other.label} ${number(y)} → ${number(x)}`, all);
      }
    }
    if (!placeOf.has(user) || !data.lists.length) {
      made("p", data.lists.length
        ? `The lists of this ${words.user} are not in this page; show("${users[user]}") prints them.`
        : "The lists are not in this page.", box);
      return row;
    }
    const relevant = relevantOf(user, one);
    const lists = (single ? [now.a] : [now.b, now.a]).map((name) => ({ name, places: listOf(user, one, name) }));
    for (const list of lists) made("p", reason(list, relevant, one), box);
    sideBySide(box, lists, relevant, one);
    return row;
  }

  function reason({ name, places }, relevant, { k }) {
    const ranks = places.filter(({ code }) => relevant.has(code)).map(({ rank }) => rank);
    const top = k ? `${ranks.filter((rank) => rank <= k).length} of ${relevant.size} relevant in the top ${k}` : `${relevant.size} relevant`;
    return `${name}: ${top}, ${ranks.length ? `the first at rank ${ranks[0]}` : "none in the list"}`;
  }

  // Two lists with lines between equal items. Each item is as high as the others.
  function sideBySide(box, lists, relevant, one) {
    const pair = box.appendChild(document.createElement("div"));
    pair.className = lists.length > 1 ? "pair" : "pair alone";
    const rankOf = lists.map(({ places }) => new Map(places.map(({ code, rank }) => [code, rank])));
    const rows = lists.map(({ places }, side) => {
      const missing = [...relevant.keys()].filter((code) => !rankOf[side].has(code));
      return [...places, ...missing.map((code) => ({ code, rank: null }))];
    });
    const drawn = rows.map((places, side) => {
      const column = document.createElement("div");
      made("p", lists[side].name, column).className = "whose";
      const list = column.appendChild(document.createElement("ol"));
      list.setAttribute("aria-label", `List of ${lists[side].name}`);
      places.forEach((place, i) => {
        const entry = list.appendChild(document.createElement("li"));
        if (relevant.has(place.code)) entry.classList.add("hit");
        if (one.k && place.rank !== null && place.rank <= one.k && !(places[i + 1]?.rank <= one.k && places[i + 1].rank !== null)) entry.classList.add("cut");
        made("span", `${place.rank ?? "–"}`, entry).className = "rank";
        const title = made("span", titleOf(place.code), entry);
        title.className = "title";
        title.title = data.titles[place.code] ? `${data.items[place.code]} ${data.titles[place.code]}` : data.items[place.code];
        const gain = relevant.get(place.code);
        if (gain !== undefined) made("span", place.rank === null ? "relevant, not ranked" : gain === 1 ? "relevant" : `relevant, gain ${gain}`, entry).className = "gain";
        if (side === 1 && place.rank !== null) move(entry, rankOf[0].get(place.code) - place.rank);
      });
      return column;
    });
    pair.append(drawn[0]);
    if (drawn.length > 1) pair.append(joints(rows, relevant), drawn[1]);
  }

  function move(entry, up) {
    const text = Number.isNaN(up) ? "new" : up > 0 ? `▲ ${up}` : up < 0 ? `▼ ${-up}` : "=";
    const mark = made("span", text, entry);
    mark.className = up > 0 ? "moved up" : up < 0 ? "moved down" : "moved";
    const said = Number.isNaN(up) ? "not near the top of the other list" : up ? `moved ${up > 0 ? "up" : "down"} by ${Math.abs(up)}` : "same rank";
    mark.title = said;
  }

  const HEIGHT = 30, WIDTH = 64;
  function joints(rows, relevant) {
    const NS = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("width", WIDTH);
    svg.setAttribute("height", HEIGHT * Math.max(...rows.map((places) => places.length)));
    svg.setAttribute("aria-hidden", "true");
    const placed = new Map(rows[0].map(({ code, rank }, i) => [code, [i, rank]]));
    rows[1].forEach(({ code, rank }, j) => {
      const [i, before] = placed.get(code) ?? [];
      if (i === undefined || rank === null || before === null) return;
      const line = svg.appendChild(document.createElementNS(NS, "path"));
      const [from, to] = [i, j].map((place) => HEIGHT * (place + 0.5));
      line.setAttribute("d", `M4 ${from}C${WIDTH / 2} ${from} ${WIDTH / 2} ${to} ${WIDTH - 4} ${to}`);
      if (relevant.has(code)) line.setAttribute("class", rank < before ? "up" : rank > before ? "down" : "level");
    });
    return svg;
  }

  function saveAll() {
    const { x, y, rows } = selected();
    const text = data.texts.length ? ["text"] : [];
    const heads = single ? [words.user, ...text, now.metric] : [words.user, ...text, `${now.metric} ${now.b}`, `${now.metric} ${now.a}`, "change"];
    page.saveRows(`${now.metric} by ${words.user}`, [heads, ...rows.map((user) => [
      users[user], ...text.map(() => data.texts[user]), ...(single ? [x[user]] : [y[user], x[user], x[user] - y[user]])])]);
  }

  // ---- From a chart to its users

  function pickMark(pick, at) {
    const pair = pick.a === undefined ? {} : { a: pick.a, b: pick.b };
    const next = { metric: pick.metric, ...pair, segment: "", change: "", find: "", area: "", user: "", sort: start.sort };
    if (pick.kind === "segment") {
      const [label, name] = at;
      const group = groups.find((one) => one.labels.includes(label));
      if (group) next.segment = segmentName(group, label);
      if (systems.includes(name) && name !== now.b) next.a = name;
    } else if (pick.kind === "cell") {
      const [i, j] = at.map((value) => Math.round((value - pick.low) / pick.step));
      next.area = `cell ${i} ${j} ${pick.low} ${pick.step}`;
    } else if (pick.kind === "difference") {
      const size = Math.abs(at[0] + at[1]) / 2;
      const i = pick.edges.findIndex((edge) => edge > size) - 1;
      const high = i + 2 === pick.edges.length ? Infinity : pick.edges[i + 1];
      next.area = `difference ${Math.sign(at[0] + at[1])} ${pick.edges[i]} ${high}`;
    } else {
      next.area = `value ${at[0]} ${at[1] === pick.last ? Infinity : at[1]}`;
    }
    change(next, true);
  }

  // ---- Into the page

  (document.getElementById("users-part") ?? document.getElementById("plan-part")).before(section);
  const link = document.createElement("a");
  link.href = "#desk-part";
  link.textContent = "One by one";
  const before = document.querySelector('nav a[href="#users-part"], nav a[href="#plan-part"]');
  before.before(link, " ");
  page.follow(section, link);
  const looking = readAddress();
  marks(pickMark);
  draw();
  if (looking || location.hash === "#desk-part") section.scrollIntoView();
  addEventListener("hashchange", () => {
    if (readAddress()) { draw(); section.scrollIntoView(); }
  });
})();
