"use strict";
// Zoom and pan of a step's timeline: wheel zooms at the pointer, dragging pans, a double click shows the whole step.
for (const svg of document.querySelectorAll(".step svg")) {
  const whole = 10000, height = svg.viewBox.baseVal.height, duration = Number(svg.dataset.ns);
  const axis = svg.closest(".lanes").querySelector(".axis").children;
  let x = 0, width = whole, drag = null;
  const time = (at) => {
    const ns = (at / whole) * duration;
    if (ns >= 1e9) return (ns / 1e9).toPrecision(4) + " s";
    if (ns >= 1e6) return (ns / 1e6).toPrecision(4) + " ms";
    return (ns / 1e3).toPrecision(4) + " µs";
  };
  const draw = () => {
    width = Math.min(whole, Math.max(whole / 20000, width));
    x = Math.min(whole - width, Math.max(0, x));
    svg.setAttribute("viewBox", x + " 0 " + width + " " + height);
    axis[0].textContent = time(x);
    axis[1].textContent = time(x + width);
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), part = (event.clientX - box.left) / box.width;
    const next = Math.min(whole, Math.max(whole / 20000, width * Math.pow(1.0015, event.deltaY)));
    x += (width - next) * part;
    width = next;
    draw();
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => { drag = { at: event.clientX, x }; svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointermove", (event) => {
    if (!drag) return;
    x = drag.x - ((event.clientX - drag.at) / svg.getBoundingClientRect().width) * width;
    draw();
  });
  svg.addEventListener("pointerup", () => { drag = null; });
  svg.addEventListener("dblclick", () => { x = 0; width = whole; draw(); });
}
