type Input = { amount?: number; from: string; to: string; date?: string };
type Output = { amount: number; from: string; to: string; rate: number; result: number; date: string; source: string };

const SOURCE = "frankfurter.dev";

export default async function (input: Input): Promise<Output> {
  const [amount, from, to] = [input.amount ?? 1, input.from.toUpperCase(), input.to.toUpperCase()];
  const day = input.date ? `?date=${input.date}` : "";
  const answer = await fetch(`https://api.${SOURCE}/v2/rate/${from}/${to}${day}`);
  if (answer.status === 404 || answer.status === 422) {
    throw new Error(`There is no rate from ${from} to ${to}${input.date ? ` for ${input.date}` : ""}. Are these ISO 4217 codes?`);
  }
  if (!answer.ok) throw new Error(`The service of rates answers ${answer.status}.`);
  const { rate, date } = await answer.json() as { rate: number; date: string };
  if (typeof rate !== "number" || !(rate > 0)) throw new Error("The service of rates answers something else than a rate.");
  return { amount, from, to, rate, result: rounded(amount * rate), date: String(date).slice(0, 10), source: SOURCE };
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
