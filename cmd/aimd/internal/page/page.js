// Tells the values of the curves under the pointer. What it needs to know of a
// figure stands in its data-pointer; see figure.Reading.
"use strict";
for (const svg of document.querySelectorAll("svg[data-pointer]")) {
  const about = JSON.parse(svg.dataset.pointer), box = svg.parentElement;
  if (!about.curves.length) continue;
  const make = (name) => { const e = document.createElement("div"); e.className = name; e.hidden = true; box.append(e); return e; };
  const text = make("reading"), hair = make("hair");
  const show = (v) => Math.abs(v) >= 100 ? Math.round(v) + "" : v.toPrecision(3);

  // value is what the axis says at a place, or the other way round.
  const value = (a, at) => {
    const share = (at - a.from) / (a.to - a.from);
    return a.log ? a.min * Math.pow(a.max / a.min, share) : a.min + share * (a.max - a.min);
  };
  const lines = [];
  for (const path of svg.querySelectorAll("path")) {
    const curve = about.curves.findIndex((c) => c.style === path.getAttribute("style"));
    if (curve < 0) continue;
    const d = path.getAttribute("d"), points = (d.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
    if (/[AQCZ]/.test(d)) continue;
    const xy = [];
    for (let i = 0; i + 1 < points.length; i += 2) xy.push([points[i], points[i + 1]]);
    lines.push({ curve, xy });
  }
  // height is where a line is at x, as far as it lies in the panel.
  const height = (xy, x) => {
    for (let i = xy.length - 1; i > 0; i--) {
      const [a, b] = [xy[i - 1], xy[i]];
      if (a[0] !== b[0] && a[0] <= x && x <= b[0]) return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]);
    }
    return null;
  };
  const hide = () => { text.hidden = hair.hidden = true; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (e) => {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const x = p.x, y = about.h - p.y;
    const panel = about.panels.find((q) => q.x.from <= x && x <= q.x.to && q.y.from <= y && y <= q.y.to);
    if (!panel) return hide();
    const at = value(panel.x, x);
    const rows = [panel.x.labels ? panel.x.labels[Math.round(at)] : about.x + ": " + show(at)];
    about.curves.forEach((c, i) => {
      for (const l of lines) {
        if (l.curve !== i) continue;
        const h = height(l.xy, x);
        if (h === null || h < panel.y.from - 1 || h > panel.y.to + 1) continue;
        rows.push(c.text + ": " + show(value(panel.y, h)));
        break;
      }
    });
    text.textContent = "";
    for (const r of rows) { const line = document.createElement("div"); line.textContent = r; text.append(line); }
    text.hidden = hair.hidden = false;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    hair.style.left = x * scale + "px";
    hair.style.top = (about.h - panel.y.to) * scale + "px";
    hair.style.height = (panel.y.to - panel.y.from) * scale + "px";
    const right = x * scale + 12 + text.offsetWidth > box.scrollLeft + box.clientWidth;
    text.style.left = Math.max(0, right ? x * scale - 12 - text.offsetWidth : x * scale + 12) + "px";
    text.style.top = (about.h - panel.y.to) * scale + 4 + "px";
  });
}
