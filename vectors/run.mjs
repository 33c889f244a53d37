// Run vectors against code of your own: node run.mjs metrics/ndcg.json ./example.mjs
// The module exports measure(metric, ranking, truth, k, options), which returns the value of a
// user, null where the metric is undefined, or undefined: then the vector is skipped.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [path, module] = process.argv.slice(2);
const { measure } = await import(pathToFileURL(resolve(module)));
const file = JSON.parse(readFileSync(path, "utf8"));
let [same, different, skipped] = [0, 0, 0];
for (const vector of file.vectors) {
  const data = file.inputs[vector.input];
  const metric = vector.metric ?? file.metric;
  const near = vector.tolerance ?? file.tolerance;
  const options = { ...data, ...vector };
  if (!vector.per_user) skipped++; // it has a mean alone
  for (const [user, wanted] of Object.entries(vector.per_user ?? {})) {
    const [ranking, truth] = [data.rankings[user] ?? [], data.truth[user] ?? {}];
    const found = measure(metric, ranking, truth, vector.k ?? null, options);
    if (found === undefined) {
      skipped++;
    } else if (found === wanted || (found !== null && wanted !== null
        && Math.abs(found - wanted) <= near * Math.max(1, Math.abs(wanted)))) {
      same++;
    } else {
      different++;
      console.log(`${metric} ${vector.input} ${user}: ${found}, not ${wanted}`);
    }
  }
}
console.log(`${same} same, ${different} different, ${skipped} skipped`);
process.exitCode = different ? 1 : 0;
