"use strict";
// Unpack the numbers that bgsub.page has packed.

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

function unpackIntegers(packed) {
  if (packed.runs) {
    const size = packed.runs.reduce((sum, run) => sum + run[2], 0);
    const values = new Float64Array(size);
    let place = 0;
    for (const [first, step, count] of packed.runs) {
      for (let i = 0; i < count; i += 1) values[place++] = first + i * step;
    }
    return values;
  }
  const steps = new Int32Array(bytesOf(packed.steps).buffer);
  const values = new Float64Array(steps.length + 1);
  values[0] = packed.first;
  for (let i = 0; i < steps.length; i += 1) values[i + 1] = values[i] + steps[i];
  return values;
}

function unpackFloats(text) {
  return new Float32Array(bytesOf(text).buffer);
}

function unpackFlags(text) {
  const bytes = bytesOf(text);
  return (place) => (bytes[place >> 3] >> (place & 7)) & 1;
}

// The place of the last of some increasing values that is not above a value; 0 if all are.
function lastUpTo(values, value) {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

function clock(seconds) {
  const milli = Math.round(seconds * 1000);
  const whole = Math.floor(milli / 1000);
  const two = (n) => String(n).padStart(2, "0");
  const rest = `${two(whole % 60)}.${String(milli % 1000).padStart(3, "0")}`;
  return `${two(Math.floor(whole / 3600))}:${two(Math.floor(whole / 60) % 60)}:${rest}`;
}
