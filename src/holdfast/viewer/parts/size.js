// Numbers as people read them.
const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count, say) {
  let value = Number(count) || 0;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toLocaleString(say.language, { maximumFractionDigits: digits })} ${UNITS[unit]}`;
}

export function number(count, say) {
  return (Number(count) || 0).toLocaleString(say.language);
}
