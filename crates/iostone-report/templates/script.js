// What the page does beyond being read: themes, files, sorted tables, plots that are zoomed and read out. It is delivered
// without comments, indentation and line ends, in under 8 kB; so every statement ends with its own mark.
(() => {
  const root = document.documentElement;
  root.className = "scripted";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties, ...parts) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...parts);
    return made;
  };
  const button = (onclick, ariaLabel, ...parts) => make("button", { onclick, ariaLabel }, ...parts);

  // The theme; a file may not be allowed to store it.
  const { dataset } = root;
  try { dataset.theme = localStorage.iostone ?? ""; } catch {}
  all("#theme")[0].onclick = () => {
    const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    dataset.theme = isDark ? "light" : "dark";
    try { localStorage.iostone = dataset.theme; } catch {}
  };

  // Files, made of what stands on the page.
  const save = (download, text) => make("a", { download, href: URL.createObjectURL(new Blob([text])) }).click();
  for (const code of all(".code")) {
    const [pre, copy] = all("pre, button", code), { file, kind } = code.dataset, say = (text) => { copy.textContent = text; };
    copy.onclick = () => {
      getSelection().selectAllChildren(pre);
      say(document.execCommand("copy") ? "Copied" : "Selected");
      setTimeout(say, 1500, "Copy");
    };
    if (file) all(".files")[0].append(button(() => save(file, pre.textContent), null, "↓ " + kind));
  }

  // A drawing takes its looks along, in the light theme.
  const saveDrawing = (svg, name) => {
    const copy = svg.cloneNode(true), copies = all("*", copy);
    svg.style.colorScheme = "light";
    all("*", svg).forEach((part, at) => {
      const looks = getComputedStyle(part);
      for (const look of looks) {
        if (/^(fill|stroke|font-[fsw]|paint|visib)/.test(look)) copies[at].style.setProperty(look, looks[look]);
      }
    });
    svg.style.colorScheme = "";
    save(name + ".svg", new XMLSerializer().serializeToString(copy));
  };

  // Figures sort by their size in whatever unit, a factor as the change that it is, words behind them, empty cells last.
  const worth = (cell) => {
    const text = cell.textContent.trim();
    const [, times, digits, unit] = /^[(~]*(×?)\[?([+-]?\d[\d.]*(?:e[+-]?\d+)?)(.*)/.exec(text.replace(/\s/g, "").replace("−", "-")) ?? [];
    if (!digits) return [text ? 1 : 2, text];
    const prefix = "nµm kMGT".indexOf(/^([nµmkMGT])i?[Bs/]/.exec(unit)?.[1] ?? " ");
    return [0, digits * (unit.includes("%") ? .01 : 1e3 ** (prefix - 3)) - !!times];
  };
  for (const table of all("table")) {
    const heads = all("thead th", table), bodies = [...table.tBodies];
    if (!bodies.some((body) => body.rows[1])) continue;
    heads.forEach((head, at) => head.append(button(() => {
      const turn = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = turn > 0 ? "ascending" : "descending";
      for (const body of bodies) {
        const rows = all("tr:not(.group)", body).map((row) => [...worth(row.cells[at]), row]);
        rows.sort(([kind, one], [other, two]) => kind - other || turn * (kind ? one.localeCompare(two, "en", { numeric: true }) : one - two));
        body.append(...rows.map((row) => row[2]));
      }
    }, null, ...head.childNodes)));
  }

  // What scrolls is reached by keys.
  const reach = () => all(".scroll, pre").forEach((box) => { box.tabIndex = -(box.scrollWidth <= box.clientWidth); });
  onresize = reach;
  addEventListener("toggle", reach, true);
  reach();

  // Plots: those of a drawing show the same share [from, to] of their horizontal axis; a place is a pixel of all of it.
  const numbers = (text) => text.split(" ").map(Number);
  const round = (figure) => (+figure.toPrecision(3)).toLocaleString("en").replaceAll(",", " ");
  const set = (part, attributes, ...words) => {
    for (const key in attributes) part.setAttribute(key, attributes[key]);
    part.append(...words);
    return part;
  };
  const explore = (svg, name, tools) => {
    const draw = (kind, ...rest) => set(document.createElementNS(svg.namespaceURI, kind), ...rest);
    const plots = all(".plot", svg);
    if (!plots[0]) return;
    const [ticks] = all(".ticks", svg), marks = [...ticks.children];
    const [left, right] = numbers(plots[0].dataset.box), width = right - left, { width: full, height } = svg.viewBox.baseVal;
    const tip = make("output", { className: "tip" }), whole = button(() => zoom(0, 1), null, "Show all");
    const band = draw("rect", { class: "selection", height }), line = draw("line", { class: "baseline", y2: height });
    let from = 0, to = 1, cursor = left, start, known;
    const share = (place) => (place - left) / width;
    const shown = (place) => left + (share(place) - from) / (to - from) * width;
    const place = (pixel) => left + (share(pixel) * (to - from) + from) * width;
    const pointed = (event) => place(event.offsetX / svg.clientWidth * full);
    const centre = (part) => {
      const box = part.getBBox();
      return part.matches("text") ? +part.getAttribute("x") : box.x + box.width / 2;
    };
    // What is read where: a mark by its own tip, a line without marks by its axes, whose figures are tens a second.
    const places = () => known ??= plots.map((plot) => {
      const { name, x, y } = plot.dataset;
      if (!name) return all(".mark > title", plot).map((title) => [centre(title.parentNode), title.textContent]);
      const [a, b] = numbers(x), [c, d] = numbers(y);
      return [...plot.firstElementChild.points].map((point) => [point.x, `${name}: ${round(10 * Math.round((c + d * point.y) / 10))} /s at ${round(a + b * point.x)} s`]);
    });
    const leave = () => {
      start = undefined;
      [tip, line, band].map((part) => part.remove());
    };
    const show = (at, y = 0) => {
      const texts = places().flatMap((all) => {
        const far = ([x]) => Math.abs(x - at), least = Math.min(...all.map(far)) + .1;
        return all.filter((place) => far(place) < least).map(([x, text]) => { cursor = x; return text; });
      });
      const x = shown(cursor);
      tip.textContent = texts.join("\n");
      tip.style = `left:${x / full * 100}%;top:${y + 16}px;translate:${x > full / 2 ? -104 : 4}%`;
      svg.before(tip);
      svg.append(set(line, { x1: x, x2: x }));
    };
    const zoom = (one, two) => {
      if (two - one < .002) return;
      [from, to] = [Math.max(0, one), Math.min(1, two)];
      const span = to - from, near = span < 1, shift = left - (left + from * width) / span, { x, step, unit } = ticks.dataset;
      ticks.replaceChildren(...marks);
      for (const group of [...plots, ticks]) {
        group.style.clipPath = near ? `url(#${name}-c)` : "";
        for (const part of group.children) {
          const rigid = part.matches(".mark, .trial, text"), at = rigid ? centre(part) : 0, there = at / span + shift;
          part.style.visibility = rigid && (there < left - 3 || there > right + 3) ? "hidden" : "";
          part.style.transform = rigid ? `translate(${there - at}px)` : `matrix(${1 / span},0,0,1,${shift},0)`;
        }
      }
      if (x && near) {
        const [a, b] = numbers(x), raw = 90 * span * b, power = 10 ** Math.floor(Math.log10(raw)), y = marks[0].getAttribute("y");
        const every = Math.max(step, [1, 2, 5, 10].find((factor) => factor * power >= raw) * power);
        ticks.replaceChildren();
        for (let tick = Math.ceil((a + b * place(left)) / every) * every; tick <= a + b * place(right); tick += every) {
          ticks.append(draw("text", { x: shown((tick - a) / b), y, class: "tick", "text-anchor": "middle" }, round(tick) + unit));
        }
      }
      whole.hidden = !near;
      leave();
    };
    const step = (by) => {
      const free = places().flat().map(([x]) => x * by).filter((x) => x > cursor * by + .6 && share(x * by) <= to && share(x * by) >= from);
      show(free.length ? by * Math.min(...free) : cursor);
    };
    const closer = (half) => zoom(share(cursor) - half, share(cursor) + half);
    const keys = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), "+": () => closer((to - from) / 4), "-": () => closer(to - from), Escape: () => zoom(0, 1) };
    const dragged = (event) => [start, pointed(event)].sort((one, two) => one - two);
    whole.hidden = true;
    Object.assign(svg, {
      tabIndex: 0,
      onkeydown(event) {
        const act = keys[event.key];
        if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        act();
      },
      onpointerdown(event) {
        start = pointed(event);
        svg.setPointerCapture(event.pointerId);
      },
      onpointermove(event) {
        show(pointed(event), event.offsetY);
        if (start === undefined) return;
        const [low, high] = dragged(event).map(shown);
        svg.append(set(band, { x: low, width: high - low }));
      },
      onpointerup(event) {
        const [low, high] = dragged(event);
        leave();
        if (shown(high) - shown(low) > 8) zoom(share(low), share(high));
      },
      onpointerleave: leave,
      onblur: leave,
      ondblclick: () => zoom(0, 1),
    });
    tools.append(whole);
  };
  for (const svg of all(".wide > svg, .narrow > svg")) {
    const name = svg.getAttribute("aria-labelledby").split("-t ")[0];
    const tools = make("p", { className: "tools" }, button(() => saveDrawing(svg, name), `Download ${all("title", svg)[0].textContent} as SVG`, "↓ SVG"));
    svg.after(tools);
    explore(svg, name, tools);
  }
})();
