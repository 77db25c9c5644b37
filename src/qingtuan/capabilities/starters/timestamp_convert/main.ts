type Input = { time?: string | number; zone: string };
type Output = { iso: string; unix: number; milliseconds: number; weekday: string; zone: string; utc: string };

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export default function (input: Input): Output {
  const zone = input.zone;
  const moment = instant(input.time, zone);
  const there = inZone(moment, zone);
  return {
    iso: there.toString({ timeZoneName: "never", smallestUnit: moment.epochMilliseconds % 1000 ? "millisecond" : "second" }),
    unix: Math.floor(moment.epochMilliseconds / 1000),
    milliseconds: moment.epochMilliseconds,
    weekday: WEEKDAYS[there.dayOfWeek - 1],
    zone,
    utc: moment.toString({ smallestUnit: "second" }),
  };
}

function instant(time: string | number | undefined, zone: string): Temporal.Instant {
  if (time === undefined || time === "") return Temporal.Instant.fromEpochMilliseconds(Date.now());
  if (typeof time === "number") return ofNumber(time);
  const text = time.trim();
  if (/^-?\d+(\.\d+)?$/.test(text)) return ofNumber(Number(text));
  const iso = text.replace(/^(\d{4})[/.年](\d{1,2})[/.月](\d{1,2})日?/, (_, y, m, d) => `${y}-${two(m)}-${two(d)}`);
  try {
    if (/(Z|[+-]\d{2}(:?\d{2})?)$/i.test(iso) && /\d[T ]\d/i.test(iso)) return Temporal.Instant.from(iso.replace(" ", "T"));
    const wall = Temporal.PlainDateTime.from(iso.replace(" ", "T"), { overflow: "reject" });
    return wall.toZonedDateTime(known(zone)).toInstant();
  } catch (error) {
    if (error instanceof ZoneError) throw error;
    throw new Error(`"${text}" is no time that can be read. Write 1700000000 or 2026-12-01 08:00.`);
  }
}

// Seconds reach the year 5138 with 11 digits; what has more counts milliseconds.
function ofNumber(value: number): Temporal.Instant {
  const milliseconds = Math.round(Math.abs(value) >= 1e11 ? value : value * 1000);
  if (Math.abs(milliseconds) > 8.64e15) throw new Error("That is further away than 270,000 years.");
  return Temporal.Instant.fromEpochMilliseconds(milliseconds);
}

class ZoneError extends Error {}

function known(zone: string): string {
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;
  } catch {
    throw new ZoneError(`There is no time zone "${zone}". Write an IANA name such as Asia/Shanghai or UTC.`);
  }
}

function inZone(moment: Temporal.Instant, zone: string): Temporal.ZonedDateTime {
  return moment.toZonedDateTimeISO(known(zone));
}

function two(digits: string): string {
  return digits.padStart(2, "0");
}
