// Numbers for people. English, in powers of 1,000, as everywhere in sitecrawl.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const known = (format) => (value) => (value === null || value === undefined || Number.isNaN(value) ? "–" : format(value));

export const count = known((value) => whole.format(value));
/** For axes and narrow places. */
export const short = known((value) => (Number.isInteger(value) || Math.abs(value) >= 10 ? (Math.abs(value) < 10000 ? count(value) : compact.format(value)) : one.format(value)));
/** So many a second. */
export const rate = known((value) => (value >= 100 ? whole.format(value) : one.format(value)));
export const decimal = known((value) => (value >= 1000 ? whole.format(value) : value.toFixed(value < 10 ? 2 : 1)));

export const bytes = known((value) => {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000) return unit === "B" ? `${whole.format(value)} B` : `${one.format(value)} ${unit}`;
    value /= 1000;
  }
  return `${one.format(value)} TB`;
});

export const percent = known((value) => {
  const share = value * 100;
  if (share !== 0 && share < 0.01) return "< 0.01%";
  return `${share === 0 || share >= 100 ? whole.format(share) : share >= 10 ? one.format(share) : share.toFixed(2)}%`;
});

/** A short time: of a download, of a pause. */
export const seconds = known((value) => {
  if (value < 0.0005) return "0 ms";
  if (value < 1) return `${whole.format(value * 1000)} ms`;
  return value < 60 ? `${one.format(value)} s` : duration(value);
});

/** A long time: of a crawl. */
export const duration = known((value) => {
  const total = Math.floor(value);
  const pad = (number) => String(number).padStart(2, "0");
  const [days, hours, minutes] = [Math.floor(total / 86400), Math.floor(total / 3600) % 24, Math.floor(total / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  return `${hours}:${pad(minutes)}:${pad(total % 60)}`;
});

/** A moment, from Unix seconds. */
export const moment = known((value) => day.format(value * 1000));
export const time = known((value) => clock.format(value * 1000));
