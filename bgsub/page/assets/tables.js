"use strict";
// Tables that a click on a heading sorts.

function makeSortable(table) {
  for (const heading of table.tHead.querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(table, heading));
  }
}

function sortBy(table, heading) {
  const isDown = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const column = heading.cellIndex;
  const isNumber = heading.dataset.sort === "number";
  const value = (row) => {
    const cell = row.cells[column];
    return isNumber ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const order = (a, b) => (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
  rows.sort((a, b) => (isDown ? -1 : 1) * order(a[0], b[0]));
  table.tBodies[0].append(...rows.map((pair) => pair[1]));
}

// The events that are checked as no objects, as a file to save.
function offerChecked() {
  const boxes = [...document.querySelectorAll("input.not")];
  const link = document.getElementById("save-not");
  for (const box of boxes) {
    box.addEventListener("change", () => {
      const numbers = boxes.filter((each) => each.checked).map((each) => Number(each.value));
      URL.revokeObjectURL(link.href);
      link.href = URL.createObjectURL(
        new Blob([JSON.stringify({ not: numbers }) + "\n"], { type: "application/json" }),
      );
      document.getElementById("not-saved").hidden = numbers.length === 0;
    });
  }
}

offerChecked();
for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
