type Input = { value: number; from: string; to: string };
type Output = { value: number; from: string; to: string; result: number; kind: string };
type Unit = { kind: string; name: string; factor: number; offset: number };

// Each kind in its base unit. A line: the factor to the base, the name, then other ways to write it.
const KINDS: Record<string, [number, string][]> = {
  length: [
    [1, "m meter meters metre metres 米 公尺"], [1000, "km kilometer kilometers kilometre kilometres 公里 千米"],
    [0.1, "dm 分米"], [0.01, "cm centimeter centimeters 厘米 公分"], [0.001, "mm millimeter millimeters 毫米"],
    [1e-6, "µm um 微米"], [1e-9, "nm 纳米"], [0.0254, "in inch inches 英寸"], [0.3048, "ft foot feet 英尺"],
    [0.9144, "yd yard yards 码"], [1609.344, "mi mile miles 英里"], [1852, "nmi 海里"], [500, "里 华里 市里"],
    [10 / 3, "丈 市丈"], [1 / 3, "尺 市尺"], [1 / 30, "寸 市寸"], [9.4607304725808e15, "ly 光年"],
  ],
  mass: [
    [1, "kg kilogram kilograms 公斤 千克"], [0.001, "g gram grams 克"], [1e-6, "mg 毫克"], [1000, "t ton tons tonne tonnes 吨"],
    [0.45359237, "lb lbs pound pounds 磅"], [0.028349523125, "oz ounce ounces 盎司"], [6.35029318, "st stone"],
    [0.0002, "ct carat carats 克拉"], [0.5, "斤 市斤 jin"], [0.05, "两 市两 liang"], [0.005, "钱"], [50, "担 市担"],
  ],
  volume: [
    [1, "L l liter liters litre litres 升 公升"], [0.001, "mL ml milliliter milliliters cc cm3 毫升 立方厘米"],
    [1000, "m3 立方米 方"], [3.785411784, "gal gallon gallons 加仑"], [0.946352946, "qt quart quarts 夸脱"],
    [0.473176473, "pt pint pints 品脱"], [0.2365882365, "cup cups 杯"], [0.0295735295625, "floz fl_oz 液盎司"],
    [0.01478676478125, "tbsp 汤匙"], [0.00492892159375, "tsp 茶匙"], [28.316846592, "ft3 立方英尺"],
  ],
  area: [
    [1, "m2 sqm 平方米 平米 平"], [1e6, "km2 平方公里 平方千米"], [1e-4, "cm2 平方厘米"], [1e4, "ha hectare hectares 公顷"],
    [100, "are 公亩"], [4046.8564224, "acre acres 英亩"], [0.09290304, "ft2 sqft 平方英尺"], [2589988.110336, "mi2 平方英里"],
    [2000 / 3, "亩 市亩 mu"], [200000 / 3, "顷 市顷"], [400 / 121, "坪"],
  ],
  speed: [
    [1, "m/s mps 米/秒 米每秒"], [1 / 3.6, "km/h kmh kph 公里/小时 千米/小时 公里每小时 千米每小时"],
    [0.44704, "mph mi/h 英里/小时 英里每小时"], [1852 / 3600, "kn knot knots 节"], [0.3048, "ft/s 英尺/秒"],
  ],
  data: [
    [1, "B byte bytes 字节"], [1 / 8, "bit bits 比特 位"], [1e3, "KB kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [1e15, "PB"],
    [2 ** 10, "KiB"], [2 ** 20, "MiB"], [2 ** 30, "GiB"], [2 ** 40, "TiB"], [2 ** 50, "PiB"],
    [125, "Kbit kbit kb"], [125e3, "Mbit Mb"], [125e6, "Gbit Gb"],
  ],
};
const DEGREES: [number, number, string][] = [
  [1, 0, "K kelvin 开尔文 开"], [1, 273.15, "°C C celsius 摄氏度 摄氏 度"], [5 / 9, 459.67 * 5 / 9, "°F F fahrenheit 华氏度 华氏"],
];

const UNITS = new Map<string, Unit>();
for (const [kind, lines] of Object.entries(KINDS)) for (const [factor, names] of lines) add(kind, names, factor, 0);
for (const [factor, offset, names] of DEGREES) add("temperature", names, factor, offset);

function add(kind: string, names: string, factor: number, offset: number): void {
  const all = names.split(" ");
  for (const name of all) UNITS.set(name, { kind, name: all[0], factor, offset });
}

export default function (input: Input): Output {
  const [from, to] = [found(input.from), found(input.to)];
  if (from.kind !== to.kind) throw new Error(`${input.from} measures ${from.kind}, ${input.to} measures ${to.kind}.`);
  const result = (input.value * from.factor + from.offset - to.offset) / to.factor;
  if (!Number.isFinite(result)) throw new Error("That is more than a number can hold.");
  // What binary fractions add behind the twelfth digit is nobody's measure.
  return { value: input.value, from: from.name, to: to.name, result: Number(result.toPrecision(12)), kind: from.kind };
}

// As written first, for MB is not Mb; then in small letters.
function found(text: string): Unit {
  const plain = text.trim().replace(/\s*\/\s*/g, "/").replace(/²/g, "2").replace(/³/g, "3").replace(/^℃$/, "°C").replace(/^℉$/, "°F");
  const unit = UNITS.get(plain) ?? UNITS.get(plain.toLowerCase()) ?? UNITS.get(plain.toUpperCase());
  if (unit === undefined) {
    const known = Object.keys(KINDS).map((kind) => `${kind}: ${KINDS[kind].map(([, names]) => names.split(" ")[0]).join(" ")}`);
    throw new Error(`There is no unit "${text}" here. There are ${known.join("; ")}; temperature: °C °F K.`);
  }
  return unit;
}
