'use strict';
// The charts.

const names = ['ink', 'soft', 'rule', 'card', 'cwnd', 'ssthresh', 'flight', 'queued', 'accepted', 'refused', 'paused'];
let ink = {};
function recolor() {
  const style = getComputedStyle(document.documentElement);
  for (const n of names) ink[n] = style.getPropertyValue('--' + n).trim();
  ink.hatch = hatch(ink.paused);
  draw();
}
function hatch(color) {
  const c = document.createElement('canvas');
  c.width = c.height = 8;
  const g = c.getContext('2d');
  g.strokeStyle = color;
  g.globalAlpha = 0.55;
  g.lineWidth = 1.5;
  g.beginPath();
  for (const k of [-8, 0, 8]) { g.moveTo(k, 8); g.lineTo(k + 8, 0); }
  g.stroke();
  return g.createPattern(c, 'repeat');
}

// paper makes a canvas ready, with its scales.
function paper(canvas, max, top, left = 46) {
  const w = canvas.clientWidth, h = canvas.clientHeight, r = devicePixelRatio || 1;
  if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) {
    canvas.width = Math.round(w * r);
    canvas.height = Math.round(h * r);
  }
  const g = canvas.getContext('2d');
  g.setTransform(r, 0, 0, r, 0, 0);
  g.clearRect(0, 0, w, h);
  g.lineJoin = 'round';
  const right = w - 8, bottom = left ? h - 20 : h - 2, t1 = end(), t0 = t1 - view.span;
  return {
    g, left, right, top, bottom, t0, t1, max,
    x: t => left + (t - t0) / (t1 - t0) * (right - left),
    y: v => bottom - Math.min(v, max * 1.2) / max * (bottom - top),
  };
}

// nice is the top of a scale with four steps in round numbers.
const nice = max => {
  const p = 10 ** Math.max(0, Math.floor(Math.log10(max / 4)));
  return 4 * p * ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find(k => k * p * 4 >= max && (k * p) % 1 === 0) || 10);
};

function grid(p) {
  const { g } = p;
  g.font = '11px system-ui, sans-serif';
  g.lineWidth = 1;
  g.strokeStyle = ink.rule;
  g.fillStyle = ink.soft;
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  const n = p.bottom - p.top > 150 ? 4 : 2;
  for (let k = 0; k <= n; k++) {
    const v = p.max * k / n, y = Math.round(p.y(v)) + .5;
    g.beginPath();
    g.moveTo(p.left, y);
    g.lineTo(p.right, y);
    g.stroke();
    g.fillText(num(v), p.left - 7, y);
  }
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300].find(s => (p.right - p.left) / view.span * s * 1000 > 70) * 1000 || 600e3;
  for (let t = Math.ceil(p.t0 / step) * step; t <= p.t1; t += step) {
    const x = p.x(t);
    if (x < p.left + 24 || x > p.right - 24) continue;
    g.fillText(clock(t), x, p.bottom + 15);
    g.fillRect(Math.round(x), p.bottom, 1, 4);
  }
}

function clip(p) {
  p.g.save();
  p.g.beginPath();
  p.g.rect(p.left, p.top - 26, p.right - p.left, p.bottom - p.top + 27);
  p.g.clip();
}

// steps draws points [t, v, of a decision] as steps. Where nobody looked there is nothing,
// or a dotted line from what is known before to what is known after.
function steps(p, points, { color, width = 2, dash = [], fill = 0, dots = false }) {
  const { g } = p;
  const runs = [];
  for (const q of points) {
    const run = runs[runs.length - 1];
    const last = run?.[run.length - 1];
    if (last && q[0] - last[0] <= (q[2] && last[2] ? BLIND : GAP)) run.push(q); else runs.push([q]);
  }
  g.strokeStyle = g.fillStyle = color;
  runs.forEach((run, i) => {
    g.beginPath();
    g.setLineDash(dash);
    g.lineWidth = width;
    run.forEach(([t, v], k) => {
      if (k) g.lineTo(p.x(t), p.y(run[k - 1][1]));
      g[k ? 'lineTo' : 'moveTo'](p.x(t), p.y(v));
    });
    g.stroke();
    if (fill) {
      g.lineTo(p.x(run[run.length - 1][0]), p.bottom);
      g.lineTo(p.x(run[0][0]), p.bottom);
      g.globalAlpha = fill;
      g.fill();
      g.globalAlpha = 1;
    }
    const next = runs[i + 1];
    if (!next || !dots) return;
    const [t, v] = run[run.length - 1];
    g.beginPath();
    g.setLineDash([2, 4]);
    g.lineWidth = 1;
    g.moveTo(p.x(t), p.y(v));
    g.lineTo(p.x(next[0][0]), p.y(next[0][1]));
    g.stroke();
  });
  g.setLineDash([]);
}

// column is a column of the samples shown, one before them included.
function column(l, c) {
  const points = [];
  for (let i = Math.max(0, find(l.s, end() - view.span)); i < l.s.length && l.s[i][T] <= end(); i++) {
    points.push([l.s[i][T], typeof c === 'function' ? c(i) : l.s[i][c]]);
  }
  const last = points[points.length - 1];
  if (last && end() - last[0] < GAP && !l.gone && !over(l)) points.push([end(), last[1]]);
  return points;
}

const moves = d => ['cut', 'kept', 'shrank', 'grew', 'reconfigured'].includes(d.k);
const shownDecisions = l => l.d.filter(d => d.t + (d.p || 0) >= end() - view.span && d.t <= end());

// curve is a column with what decisions made of it, each at its very time.
function curve(l, c, decisions) {
  const points = column(l, c), merged = [];
  let i = 0;
  for (const d of decisions) {
    if (!moves(d)) continue;
    while (i < points.length && points[i][0] < d.t) merged.push(points[i++]);
    if (c === CWND) merged.push([d.t, d.b, true]);
    merged.push([d.t, c === CWND ? d.c : d.h, true]);
  }
  return merged.concat(points.slice(i));
}

function shape(g, kind, x, y) {
  g.beginPath();
  if (kind === 'cut') { g.moveTo(x - 5, y - 10); g.lineTo(x + 5, y - 10); g.lineTo(x, y - 2); }
  if (kind === 'shrank') { g.moveTo(x, y - 12); g.lineTo(x + 5, y - 7); g.lineTo(x, y - 2); g.lineTo(x - 5, y - 7); }
  if (kind === 'grew') { g.moveTo(x - 5, y - 2); g.lineTo(x + 5, y - 2); g.lineTo(x, y - 10); }
  if (kind === 'kept') g.rect(x - 5, y - 8, 10, 3);
  if (kind === 'used up') g.arc(x, y - 7, 3, 0, 7);
  if (kind === 'reconfigured') g.rect(x - 4, y - 11, 8, 8);
  if (kind === 'closed') { g.moveTo(x - 4, y - 11); g.lineTo(x + 4, y - 3); g.moveTo(x + 4, y - 11); g.lineTo(x - 4, y - 3); }
  g.closePath();
}

// marks draws decisions on the window's chart, as many as there is room for.
function marks(p, decisions) {
  const { g } = p;
  const color = { cut: ink.refused, shrank: ink.ssthresh, grew: ink.cwnd, closed: ink.ink };
  g.font = '600 11px system-ui, sans-serif';
  g.textAlign = 'center';
  let last = -99, label = -99;
  const pauses = decisions.filter(d => d.k === 'paused'), taken = [];
  for (const d of pauses.toSorted((a, b) => b.p - a.p)) pause(p, d, taken);
  for (const d of decisions) {
    const x = p.x(d.t), y = moves(d) ? Math.max(p.y(d.b), p.top - 2) : p.top + 10;
    if (d.k === 'paused') continue;
    if (x - last < 5) continue;
    if (d.k !== 'kept') last = x; // it hides no other
    shape(g, d.k, x, y);
    g.lineWidth = 2;
    g.strokeStyle = g.fillStyle = color[d.k] || ink.soft;
    if (d.k === 'shrank' || d.k === 'closed') g.stroke(); else g.fill();
    if (x < label) continue;
    // What is drawn at one place has one label.
    const from = Math.round(d.b), to = Math.round(decisions.findLast(e => moves(e) && p.x(e.t) < x + 5)?.c);
    const text = !moves(d) ? d.k : from === to ? '' : `${num(from)} → ${num(to)}`;
    const half = g.measureText(text).width / 2;
    if (half < 8 || x - half < label + 6 || x - half < p.left || x + half > p.right) continue;
    label = x + half;
    g.fillStyle = ink.ink;
    g.lineWidth = 3;
    g.strokeStyle = ink.card;
    g.strokeText(text, x, y - 14);
    g.fillText(text, x, y - 14);
  }
}

// pause draws one, with its text where none is taken; longer ones come first.
function pause(p, d, taken) {
  const { g } = p, x = Math.max(p.x(d.t), p.left), w = Math.max(p.x(Math.min(d.t + d.p, p.t1)) - x, 2);
  g.fillStyle = ink.hatch;
  g.fillRect(x, p.top, w, p.bottom - p.top);
  const words = (d.w.startsWith('shadow') ? 'would pause ' : 'paused ') + took(d.p), half = g.measureText(words).width / 2;
  const at = Math.min(Math.max(x + w / 2, p.left + half), p.right - half);
  if (w < 12 || taken.some(other => Math.abs(other.at - at) < other.half + half + 6)) return;
  taken.push({ at, half });
  g.fillStyle = ink.paused;
  g.fillText(words, at, p.top - 8);
}

// cross shows the time pointed at, and a dot on each line.
function cross(p, dots) {
  if (!view.at || view.at < p.t0 || view.at > p.t1) return;
  const { g } = p, x = Math.round(p.x(view.at)) + .5;
  g.strokeStyle = ink.ink;
  g.lineWidth = 1;
  g.setLineDash([3, 3]);
  g.beginPath();
  g.moveTo(x, p.top - 8);
  g.lineTo(x, p.bottom);
  g.stroke();
  g.setLineDash([]);
  for (const [v, color] of dots) {
    if (v == null) continue;
    g.beginPath();
    g.arc(x, p.y(v), 4, 0, 7);
    g.fillStyle = color;
    g.fill();
    g.lineWidth = 2;
    g.strokeStyle = ink.card;
    g.stroke();
  }
}

const highest = (...lists) => lists.flat().reduce((m, q) => Math.max(m, q[1] ?? 0), 1);

function charts(l) {
  const decisions = shownDecisions(l);
  const i = find(l.s, view.at || end()), s = i >= 0 ? l.s[i] : null;
  const cwnd = curve(l, CWND, decisions), flight = column(l, FLIGHT), ssthresh = curve(l, SSTHRESH, decisions);
  const accepted = column(l, k => rate(l.s, k, ACCEPTED)).filter(q => q[1] != null);
  const refused = column(l, k => rate(l.s, k, REFUSED, TIMEOUTS)).filter(q => q[1] != null);
  const queued = column(l, QUEUED);

  let p = paper($('c-window'), nice(highest(cwnd, flight) * 1.04), 30);
  grid(p);
  clip(p);
  steps(p, flight, { color: ink.flight, width: 1, fill: .18 });
  if (bounded(l)) {
    steps(p, ssthresh, { color: ink.ssthresh, width: 2, dash: [7, 5], dots: true });
    steps(p, cwnd, { color: ink.cwnd, width: 2.5, dots: true });
    marks(p, decisions);
  }
  p.g.restore();
  if (s && s[SSTHRESH] > p.max) above(p, s[SSTHRESH]);
  cross(p, s ? [[s[FLIGHT], ink.flight], [s[CWND] || null, ink.cwnd]] : []);

  p = paper($('c-rate'), nice(highest(accepted, refused) * 1.04), 10);
  grid(p);
  clip(p);
  steps(p, accepted, { color: ink.accepted, width: 2, fill: .14 });
  steps(p, refused, { color: ink.refused, width: 2.5, dash: [2, 3], fill: .25 });
  p.g.restore();
  cross(p, s ? [[rate(l.s, i, ACCEPTED), ink.accepted], [rate(l.s, i, REFUSED, TIMEOUTS), ink.refused]] : []);

  p = paper($('c-queue'), nice(highest(queued) * 1.04), 10);
  grid(p);
  clip(p);
  steps(p, queued, { color: ink.queued, width: 2, fill: .16 });
  p.g.restore();
  cross(p, s ? [[s[QUEUED], ink.queued]] : []);
  keys(l, s, i);
}

function above(p, v) {
  const { g } = p;
  g.font = '600 11px system-ui, sans-serif';
  g.fillStyle = ink.ssthresh;
  g.textAlign = 'right';
  g.fillText(`ssthresh ${num(v)} ↑`, p.right - 2, p.top - 14);
}

function keys(l, s, i) {
  const set = (k, v) => { text(document.querySelector('.k-' + k + ' b'), v == null ? '–' : num(v)); };
  set('cwnd', s?.[CWND]);
  set('ssthresh', s?.[SSTHRESH]);
  set('flight', s?.[FLIGHT]);
  set('queued', s?.[QUEUED]);
  set('accepted', s && rate(l.s, i, ACCEPTED));
  set('refused', s && rate(l.s, i, REFUSED, TIMEOUTS));
  if (!view.at) return text($('readout'), '');
  const near = nearest(l, view.at, view.span / 80);
  text($('readout'), clock(view.at) + (near ? ' · ' + arrow(near.w) : s ? bounded(l) ? ` · window ${num(s[CWND])}, ${num(s[FLIGHT])} in flight, ${num(s[QUEUED])} queued` : ` · ${num(s[FLIGHT])} in flight` : ''));
}

const nearest = (l, t, within) => l.d.reduce((best, d) =>
  t >= d.t - within && t <= d.t + (d.p || 0) + within && (!best || Math.abs(d.t - t) < Math.abs(best.t - t)) ? d : best, null);
