// The colours of lines and points, on light and on dark.

// Okabe and Ito's colours, told apart by the colour-blind (https://jfly.uni-koeln.de/color/), yellow and
// black replaced by what can be seen on white and on black; shapes say the same again, on paper too.
const palettes = {
  light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a6a00', '#555b66'],
  dark: ['#4aa8e8', '#ff8a3d', '#2cc79b', '#e79bc6', '#f2b63c', '#8fd0f7', '#c9b84a', '#aab2bf'],
};
// Viridis (van der Walt and Smith), without the ends that fade into white or black.
const scales = {
  light: ['#482576', '#414487', '#355f8d', '#2a788e', '#21918c', '#22a884', '#44bf70', '#7ad151'],
  dark: ['#5b6fd0', '#4a86c5', '#3b9dbb', '#33b3a8', '#44c78b', '#7ad95f', '#b5e04a', '#fde725'],
};

function mix(colours, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colours.length - 1),
        low = Math.min(Math.floor(at), colours.length - 2);
  const part = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
  const channel = k =>
      Math.round(part(colours[low], k) + (at - low) * (part(colours[low + 1], k) - part(colours[low], k)));
  return `rgb(${channel(0)}, ${channel(1)}, ${channel(2)})`;
}
