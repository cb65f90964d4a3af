// Draws QR codes.
import { qrcode } from "./{{qrcode.js}}";

const QUIET = 4, SCALE = 5;

/** Draws a text on a canvas, dark on light in either color scheme, as readers expect. */
export function draw(canvas, text) {
  const code = qrcode(0, "M");
  code.addData(text);
  code.make();
  const count = code.getModuleCount(), drawing = canvas.getContext("2d");
  canvas.width = canvas.height = (count + 2 * QUIET) * SCALE;
  drawing.fillStyle = "#fff";
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.fillStyle = "#000";
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < count; column++) {
      if (code.isDark(row, column)) drawing.fillRect((column + QUIET) * SCALE, (row + QUIET) * SCALE, SCALE, SCALE);
    }
  }
}
